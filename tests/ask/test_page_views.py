"""The other views of the page, in a real browser, and what holds for all of them."""

import pytest
from asked_page import wait_until

VIEWS = ("pairs", "search", "search/3", "quality", "off", "map")


def go(page, view):
    page.evaluate("view => (location.hash = view)", view)
    page.wait_for_selector(f"#view-{view.split('/')[0]}")
    if view == "search/3":
        page.wait_for_selector(".card")
    if view == "map":
        wait_until(page, "() => document.querySelector('.map-state').textContent === ''")


def test_marks_in_a_search_are_saved_and_shown(page):
    go(page, "search/3")
    assert page.locator(".card").count() == 24
    page.locator(".face").first.focus()
    page.keyboard.press("y")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("n")
    marked = page.locator(".card[data-said='true'] .right[aria-pressed='true']")
    assert marked.count() >= 1
    assert page.locator(".card[data-said='false']").count() >= 1
    wait_until(page, "() => document.querySelector('#saved').textContent === 'saved'")
    page.reload()
    page.wait_for_selector(".card")
    assert page.locator(".card[data-said='true']").count() >= 1


def test_an_item_is_found_by_its_text(page):
    go(page, "search")
    page.keyboard.press("/")
    page.keyboard.type("d07")
    page.wait_for_selector(".found button")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card")
    assert page.evaluate("location.hash") == "#search/7"


def test_a_file_dropped_on_the_page_finds_its_like(page, page_server, tmp_path):
    image = page.request.get(f"{page_server.origin}/image/5?side=64").body()
    (tmp_path / "dropped.png").write_bytes(image)
    go(page, "search")
    page.set_input_files("#drop-file", tmp_path / "dropped.png")
    page.wait_for_selector(".card")
    assert page.locator(".card").count() == 24
    assert page.locator(".face").first.get_attribute("aria-label").startswith("d05")
    assert not page.locator(".marks").first.is_visible()  # there is no item to say it of


def test_a_file_that_is_no_image_is_refused_in_a_sentence(window, page_server, tmp_path):
    page = window  # the browser itself logs a refused request
    page.goto(page_server.link)
    page.wait_for_selector(".question")
    (tmp_path / "words.png").write_text("words")
    go(page, "search")
    with page.expect_response("**/drop?k=24") as answer:
        page.set_input_files("#drop-file", tmp_path / "words.png")
    assert answer.value.status == 422
    wait_until(page, "() => document.querySelector('#notice').textContent.includes('drop a')")


def test_the_quality_is_said_in_a_sentence_with_its_reasons(page):
    go(page, "quality")
    page.wait_for_selector(".fact")
    assert len(page.inner_text(".advice")) > 20
    facts = page.inner_text(".facts")
    assert "never learnt from" in facts
    assert "20 %" in facts
    assert page.locator(".curve svg").is_visible()


def test_a_pair_said_both_ways_is_off_and_can_be_answered_again(page):
    go(page, "search/9")
    page.locator(".face").last.focus()
    page.keyboard.press("y")
    page.keyboard.press("n")
    wait_until(page, "() => document.querySelector('#saved').textContent === 'saved'")
    go(page, "off")
    entry = page.locator(".off", has_text="Said both ways").first
    entry.wait_for()
    assert entry.locator(".link-item").count() == 2
    entry.get_by_role("button", name="different").click()
    assert "Answered: different" in entry.inner_text()


def test_the_map_is_drawn_and_shows_neighbours_of_what_is_chosen(page):
    go(page, "map")
    drawn = """() => {
      const { width, height } = document.querySelector("canvas");
      // Of a copy, since the browser warns when the same canvas is read several times.
      const copy = new OffscreenCanvas(width, height).getContext("2d");
      copy.drawImage(document.querySelector("canvas"), 0, 0);
      const data = copy.getImageData(0, 0, width, height).data;
      return data.some((value, i) => i % 4 === 3 && value > 0);
    }"""
    wait_until(page, drawn)
    page.focus("canvas")
    page.keyboard.press("Enter")
    page.wait_for_selector(".nearest button")
    assert page.locator(".nearest li").count() == 12
    page.locator("#view-map summary").click()
    page.wait_for_selector(".sight button")
    page.keyboard.press("+")
    page.get_by_role("link", name="More like this").last.click()
    page.wait_for_selector(".card")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 400, "height": 800})
    for view in VIEWS:
        go(page, view)
        wide = page.evaluate(
            "[document.documentElement, document.querySelector('main')]"
            ".some((one) => one.scrollWidth > one.clientWidth)"
        )
        assert not wide, view


def test_every_control_has_a_name_and_every_image_a_text(page):
    nameless = """() => [...document.querySelectorAll("button, a, input, canvas, summary, dialog")]
      .filter((one) => one.checkVisibility() && !(one.ariaLabel || one.innerText?.trim()
        || one.title || one.labels?.length || one.getAttribute("aria-labelledby")))
      .map((one) => one.outerHTML)"""
    for view in VIEWS:
        go(page, view)
        assert page.evaluate(nameless) == [], view
        assert (
            page.eval_on_selector_all("main img", "all => all.filter((one) => !one.alt).length")
            == 0
        )


def test_the_keyboard_alone_reaches_every_view_and_the_focus_is_seen(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the question"
    for _ in range(2):
        page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert page.evaluate("document.activeElement.hash") == "#search"
    assert outline == "3px"
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-search")
    for key, view in zip("qomp", ("quality", "off", "map", "pairs"), strict=True):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_selector(f"#view-{view}")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


def test_a_name_is_remembered_and_sent(page):
    page.get_by_role("button", name="Settings").click()
    page.fill("#who", "Anna")
    page.keyboard.press("Enter")
    page.reload()
    page.wait_for_selector(".question")
    page.get_by_role("button", name="Settings").click()
    assert page.input_value("#who") == "Anna"
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    wait_until(page, "() => document.querySelector('#notice').textContent.includes('nothing')")


def test_words_that_only_one_text_has_are_told_apart(page):
    difference = """async ([left, right]) => {
      const { difference } = await import("/page/compare.js");
      return difference(left, right).map((runs) => runs.map(({ text, own }) => [text, own]));
    }"""
    left, right = page.evaluate(difference, ["Canon EOS 400d, black", "canon eos 40d black kit"])
    assert left == [["Canon EOS ", False], ["400d,", True], [" black", False]]
    assert right == [["canon eos ", False], ["40d", True], [" black ", False], ["kit", True]]


def test_a_long_evening_leaves_nothing_behind(page):
    page.evaluate("() => (location.hash = 'search/1')")
    page.wait_for_selector(".card")
    count = "() => [document.querySelectorAll('*').length, localStorage.length]"
    before = page.evaluate(count)
    for item in range(2, 8):
        page.evaluate("item => (location.hash = `search/${item}`)", item)
        wait_until(
            page,
            "item => document.querySelector('.subject img')?.src.includes(`/${item}?`)",
            arg=item,
        )
    assert page.evaluate(count) == before


def test_a_server_with_nothing_to_ask_is_not_asked_again_at_once(page):
    asking = """async () => {
      const { Queue } = await import("/page/queue.js");
      let asked = 0;
      const ask = () => ++asked;
      const queue = new Queue({ build: () => null, ask, onArrival: () => queue.take(null) });
      queue.refill(null);
      for (let i = 0; i < 50; i++) queue.receive({ list: [], items: {} }, []);
      const whileDry = asked;
      queue.refill(null, { now: true }); // the model has learnt
      return [whileDry, asked];
    }"""
    assert page.evaluate(asking) == [1, 2]
