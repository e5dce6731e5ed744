"""Answering at the page, in a real browser: keys, buttons, undo, and a server that goes away."""

import re

from asked_page import wait_until


def names(page):
    return page.eval_on_selector_all(".question .name", "all => all.map((one) => one.textContent)")


def n_answers(page):
    return int(re.match(r"\d+", page.inner_text("#counts").replace(",", "")).group())


def statements(page):
    """Return how many pairs were called the same, and how many different."""
    said = re.search(r"(\d+) same, (\d+) different", page.get_attribute("#counts", "title"))
    return int(said[1]), int(said[2])


def question(page):
    return page.get_attribute(".question", "data-id")


def act(page, key):
    """Press a key and wait for another question."""
    before = question(page)
    page.keyboard.press(key)
    wait_until(page, "(id) => document.querySelector('.question')?.dataset.id !== id", arg=before)


def wait_saved(page, n):
    wait_until(
        page,
        "(n) => parseInt(document.querySelector('#counts').textContent.replace(/,/g, '')) === n "
        "&& document.querySelector('#saved').textContent === 'saved'",
        arg=n,
    )


def find_kind(page, kind):
    """Pass over questions, unsure, until one of a kind comes."""
    for _ in range(40):
        if page.query_selector(f".question.{kind}"):
            return
        act(page, "u")
    raise AssertionError(f"no {kind} in 40 questions")


def saved_counts(page):
    wait_until(page, "() => document.querySelector('#saved').textContent === 'saved'")
    page.wait_for_timeout(100)
    return n_answers(page)


def test_each_key_of_a_pair_is_an_answer_that_is_saved(page):
    for key in ("y", "n", "u", " "):
        find_kind(page, "pair")
        before = saved_counts(page)
        act(page, key)
        wait_saved(page, before + 1)


def test_the_buttons_say_what_the_keys_do(page):
    find_kind(page, "pair")
    before = saved_counts(page)
    first = question(page)
    page.get_by_role("button", name="Different").click()
    wait_saved(page, before + 1)
    assert question(page) != first
    assert page.evaluate("document.activeElement.className") == "stage"  # so that space is unsure


def test_undo_shows_the_same_items_again_any_number_of_times(page):
    find_kind(page, "pair")
    start, seen = saved_counts(page), []
    for _ in range(3):
        find_kind(page, "pair")
        seen.append(names(page))
        act(page, "n")
    before = saved_counts(page)
    assert before >= start + 3
    for expected in seen[::-1]:
        for _ in range(40):
            act(page, "z")
            if names(page) == expected:
                break
        else:
            raise AssertionError("the question did not come back")
    assert saved_counts(page) <= before - 3


def test_of_nine_the_chosen_are_the_same_and_the_others_different(page):
    find_kind(page, "nine")
    n_looks, (n_same, n_different) = saved_counts(page), statements(page)
    tiles = page.locator(".tile")
    page.keyboard.press("1")
    tiles.nth(2).click()
    page.keyboard.press("2")
    page.keyboard.press("2")
    checked = [tile.get_attribute("aria-checked") for tile in tiles.all()]
    assert checked == ["true", "false", "true", *["false"] * 6]
    assert page.get_by_role("button", name="2 are the same").is_visible()
    act(page, "Enter")
    wait_saved(page, n_looks + 1)
    assert statements(page) == (n_same + 2, n_different + 7)


def test_without_nines_only_pairs_come(page):
    page.locator("label.switch", has_text="One against nine").first.click()
    for _ in range(6):
        page.wait_for_selector(".question.pair")
        act(page, "u")


def test_the_guess_is_hidden_until_it_is_asked_for_and_that_is_remembered(page):
    find_kind(page, "pair")
    assert not page.locator(".question .guess").is_visible()
    page.locator("label.switch", has_text="guess").first.click()
    assert re.fullmatch(
        r"Guess: \d+ % same|No guess", page.locator(".question .guess").inner_text()
    )
    page.reload()
    find_kind(page, "pair")
    assert page.locator(".question .guess").is_visible()


def test_differences_of_fields_are_marked_by_more_than_colour(page):
    find_kind(page, "pair")
    rows = page.locator(".fields tbody tr")
    assert rows.count() >= 2
    for row in rows.all():
        left, right = row.locator("td").all_inner_texts()
        sign = row.locator(".sign")
        assert sign.get_attribute("aria-label") == ("the same" if left == right else "differs")
        assert (row.locator("mark").count() > 0) == (left != right)


def test_an_image_is_enlarged_and_esc_closes_it(page):
    page.keyboard.press("+")
    assert page.locator("#zoom img").is_visible()
    name = page.locator("#zoom p").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#zoom p").inner_text() != name
    page.keyboard.press("y")  # no answer while it is open
    first = question(page)
    page.keyboard.press("Escape")
    assert not page.locator("#zoom").is_visible()
    assert question(page) == first


def test_answers_outlive_a_killed_server_and_a_reload(window, page_server):
    window.goto(page_server.link)
    window.wait_for_selector(".question")
    before = saved_counts(window)
    page_server.kill()
    wait_until(window, "() => document.body.dataset.state === 'away'")
    find_kind(window, "pair")
    n_passed = window.evaluate(
        "Object.keys(localStorage).filter((k) => k.includes('outbox')).length"
    )
    act(window, "y")
    act(window, "u") if window.query_selector(".question.pair") else act(window, "Enter")
    assert "to be saved" in window.inner_text("#saved")
    act(window, "z")  # the last one never left the page, so it is taken back here
    page_server.start()
    wait_until(window, "() => document.body.dataset.state === 'refused'")
    assert "open the link that it prints" in window.inner_text("#view-refused")
    window.goto(page_server.link)
    window.wait_for_selector(".question")
    assert saved_counts(window) > before + n_passed
    assert not window.evaluate("Object.keys(localStorage).some((name) => name.includes('outbox'))")
