"""The page and the Markdown tables made of run records."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from stored_records import (
    MNIST,
    gallery_content,
    phase_1_only,
    record,
    several,
    stored_records,
    write_gallery,
)

from twofold.experiments import RunRecord
from twofold.report import paper_page, paper_tables, read_galleries
from twofold.report._contents import contents
from twofold.report._gallery import shown_galleries
from twofold.report._paper_page import curve_figures
from twofold.report._summaries import summarise
from twofold.report._table import Cell, Table
from twofold.report._tables import result_table

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Balanced(HTMLParser):
    """Follows the open tags of a page, and collects its ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href"):
                self.links.append(value or "")


@pytest.fixture(scope="module")
def records() -> list[RunRecord]:
    return stored_records()


@pytest.fixture(scope="module")
def page(records: list[RunRecord]) -> str:
    return paper_page(records)


def text_of(page: str) -> str:
    """Return what a reader of the page reads, figures left out."""
    visible = re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", visible)).replace("&#39;", "'")


def cells(table: Table, method: str, data_set: str = "") -> dict[str, Cell]:
    """Return the figures of a method by column."""
    (row,) = (
        row
        for group in table.groups
        for row in group.rows
        if row.method == method and group.title == data_set
    )
    return dict(zip(table.columns, row.cells, strict=True))


def mnist_results(records: list[RunRecord]) -> Table:
    return result_table(next(g for g in summarise(records) if g.scored))


def test_the_same_records_give_the_same_bytes_in_whatever_order(
    records: list[RunRecord], page: str
) -> None:
    assert paper_page(records) == page
    assert paper_page(records[::-1]) == page
    assert paper_tables(records[::-1]) == paper_tables(records)


def test_the_page_is_sound_html_that_needs_nothing_else(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert parser.links
    assert all(link[0] == "#" and link[1:] in parser.ids for link in parser.links)
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert not re.search(r"<(link|script|iframe)|@import|url\((?!#)", page)
    assert len(page.encode()) < 3_000_000
    assert "None" not in text_of(page)


def test_every_table_has_a_caption_scopes_and_what_it_was_measured_on(page: str) -> None:
    tables = re.findall(r"<table>.*?</table>", page, flags=re.DOTALL)
    assert len(tables) == len(re.findall(r'<section class="card[^>]*>\s*<div class="scroll"', page))
    for table in tables:
        assert table.count("<caption>") == 1
        assert all("scope=" in heading for heading in re.findall(r"<th\b[^>]*>", table))
    assert all(
        "aria-label" in svg or "aria-hidden" in svg for svg in re.findall(r"<svg[^>]*>", page)
    )
    assert "commit abc1234; 2026-11-16. Items: MNIST 58,000 training (1,160,000 pairs)" in page


def test_phase_1_stands_beside_the_paper(records: list[RunRecord]) -> None:
    section = contents(records).phase_1
    assert section is not None
    cpu, cuda = section.tables
    assert cpu.title == "Seconds of phase 1, Xeon, 2 cores (CPU)"
    seconds, times, paper, ours = cells(cpu, "fml-c", "MNIST").values()
    # t(0.975, 2) · 0.1 / √3 = 0.248.
    assert (seconds.text, seconds.spread) == ("0.300", "0.248")
    assert [times.text, paper.text, ours.text] == ["3", "6.90", "23× faster"]
    assert cells(cuda, "twofold", "MNIST")["ours"].text == "–"
    alone = cells(cpu, "twofold", "NUS-WIDE")["seconds, mean ± 95 % interval"]
    assert (alone.text, alone.spread, alone.note) == ("2.50", "", "no interval")


def test_scores_are_marked_better_or_worse_than_the_paper_s(records: list[RunRecord]) -> None:
    table = mnist_results(records)
    better = cells(table, "fml-c")["the paper's"]
    assert (better.text, better.verdict, better.mark) == ("0.976", "better", "▲ +0.005")
    worse = cells(table, "fml-dp")["the paper's"]
    assert (worse.text, worse.verdict, worse.mark) == ("0.978", "worse", "▼ −0.002")
    assert cells(table, "twofold")["the paper's"] == Cell()
    assert cells(table, "fml-c")["5-NN accuracy"] == Cell("0.9810", "0.0010")
    same = mnist_results([record("mnist", "fml-dp", neighbours=0.9783)])
    assert cells(same, "fml-dp")["the paper's"].mark == "="


def test_the_marks_are_words_for_those_who_cannot_see_them(page: str) -> None:
    assert '<span class="mark better">▲ +0.005<span class="unseen"> ours is better</span>' in page
    assert '<span class="mark worse">▼ −0.002<span class="unseen"> ours is worse</span>' in page


def test_the_best_of_each_column_is_bold_and_so_are_its_equals(
    records: list[RunRecord], page: str
) -> None:
    table = mnist_results(records)
    best = {
        column: [row.method for row in table.groups[0].rows if row.cells[number].is_best]
        for number, column in enumerate(table.columns)
    }
    assert best == {
        "AUROC": ["twofold"],
        "5-NN accuracy": ["twofold"],
        "the paper's": [],
        "MAP@R": ["twofold"],
        "epoch": [],
        "seconds": ["twofold"],
    }
    assert '<td><strong>0.9850</strong> <span class="spread">± 0.0010</span></td>' in page
    equal = mnist_results([record("mnist", "fml-c"), record("mnist", "fml-dp")])
    assert all(row.cells[0].is_best for row in equal.groups[0].rows)


def test_twofold_is_bold_only_where_nothing_shown_is_better() -> None:
    runs = [
        record("mnist", "twofold", auroc=(0.9, 0.95, 0.96), seconds=(2.0, 20.0, 100.0)),
        record("mnist", "raw", seconds=(0.0,), auroc=(0.8,), targets=0.0),
        record("mnist", "one-hot", auroc=(0.9, 0.95, 0.97)),
    ]
    table = mnist_results(runs)
    assert not cells(table, "twofold")["AUROC"].is_best
    assert cells(table, "one-hot")["AUROC"].is_best
    # What trains nothing shows no seconds that a bold figure would have to be less than.
    assert cells(table, "raw")["seconds"] == Cell("none")
    assert cells(table, "twofold")["seconds"].is_best
    assert "tr.ours th { font-weight" not in paper_page(runs)


def test_nearness_is_named_only_where_it_is_not_always_euclidean(records: list[RunRecord]) -> None:
    assert "nearness" not in mnist_results(records).columns
    dot = result_table(summarise([record("yeast", "twofold", score="jaccard", metric="dot")])[0])
    assert cells(dot, "twofold")["nearness"].text == "dot"


def test_arrivals_are_shares_of_both_times_or_not_reached(records: list[RunRecord]) -> None:
    section = contents(records).arrivals
    assert section is not None
    (table,) = section.tables
    assert [c.text for c in cells(table, "fml-c", "MNIST").values()] == ["50.0", *["1/12"] * 3]
    missed = cells(table, "fml-dp", "MNIST")
    assert missed["seconds"] == Cell("not reached", note="best 0.9950")
    assert [c.text for c in missed.values()] == ["not reached", "–", "–", "0 of 3 seeds"]
    assert all(cell.is_best for cell in cells(table, "twofold", "MNIST").values())
    assert not any(
        cell.is_best
        for name in ("fml-c", "fml-dp", "siamese")
        for cell in cells(table, name, "MNIST").values()
    )


def test_the_conclusion_says_in_four_sentences_what_was_reached_and_where_not(
    records: list[RunRecord], page: str
) -> None:
    run, paper, siamese, exceptions = contents(records).conclusion
    assert run.endswith(
        "was run again on MNIST, PubFig83 and 2 sets that the paper does not have; "
        "on NUS-WIDE only its first phase."
    )
    assert paper.endswith(
        "on none of 2 sets; it falls short on MNIST (FML-DP 0.976 against 0.978) and PubFig83 "
        "(FML-C 0.700 against 0.777; our images are fewer and smaller)."
    )
    # On MNIST FML-C takes 50 s of the Siamese network's 600, Twofold 40; on scene 0.7 of 2.4.
    assert siamese == (
        "FML-C tells pairs apart as well as a Siamese network, the usual method, does at the end "
        "of its training in 1/12 of that time on 1 of 3 sets; "
        "Twofold, our default, takes 1/15 to 1/3.4 on all 3 sets."
    )
    assert exceptions == (
        "What falls short: FML-C never gets as good as the Siamese network on scene and yeast; "
        "FML-DP never on MNIST; where items have several labels, some other method "
        "does as well as Twofold or better on scene."
    )
    lead = text_of(page[page.index("<h1>") : page.index('<div class="facts">')])
    assert lead.split(" ", 1)[1].endswith(exceptions + " ")
    assert paper_tables(records).split("\n\n")[1] == " ".join([run, paper, siamese, exceptions])


def test_the_conclusion_names_no_set_twice_and_no_exception_without_one() -> None:
    runs = [record("mnist", "fml-c"), record("mnist", "siamese", auroc=(0.5, 0.6, 0.7))]
    _, paper, siamese = contents(runs).conclusion
    assert paper.endswith("as high as in the paper or higher on the one set there is.")
    assert siamese.endswith("in 1/60 of that time on the one set there is.")


def test_a_conclusion_of_nothing_but_phase_1_claims_no_more() -> None:
    (only,) = contents([phase_1_only("fml-c", (1.0,))]).conclusion
    assert only.startswith("Of FML, ")
    assert only.endswith("the first phase was run again on NUS-WIDE.")
    raw = record("mnist", "raw", seconds=(0.0,), auroc=(0.8,), targets=0.0)
    assert contents([raw]).conclusion == ("These records hold no figures to sum up.",)


def test_the_findings_have_the_records_figures(records: list[RunRecord]) -> None:
    whole = contents(records)
    phase_1, mnist, pubfig83 = whole.findings
    assert phase_1 == (
        "Phase 1 of FML is, beside the paper's seconds, 23 to 38 times as fast on Xeon, 2 cores "
        "(CPU) (MNIST and NUS-WIDE); 6.5 to 54 times as fast on NVIDIA H200 (CUDA) (MNIST and "
        "PubFig83)."
    )
    assert mnist == (
        "On MNIST FML-C reaches the Siamese network's final AUROC in 1/12 of its training time; "
        "5-NN accuracy 0.981 (the paper: 0.976)."
    )
    assert pubfig83 == "On PubFig83 FML-C has 5-NN accuracy 0.700 (the paper: 0.777)."
    # 1.94 s in the paper over our 0.3 s, and 21.77 s over 0.4 s.
    assert [fact.figure for fact in whole.facts] == ["6.5–54×", "1/12", "0.981"]


def test_the_findings_do_not_hide_what_was_not_reached() -> None:
    runs = [record("mnist", "fml-c", auroc=(0.5, 0.6, 0.7)), record("mnist", "siamese")]
    whole = contents(runs)
    assert (
        "FML-C does not reach the Siamese network's final AUROC (0.7000 against 0.9980)"
        in (whole.findings[-1])
    )
    assert whole.facts[1].figure == "not reached"
    assert whole.conclusion[-1] == (
        "What falls short: FML-C never gets as good as the Siamese network on MNIST."
    )


def test_multi_label_sentences_say_where_twofold_is_ahead_and_where_not(
    records: list[RunRecord],
) -> None:
    section = contents(records).multilabel
    assert section is not None
    by_auroc, by_jaccard = section.paragraphs[1:]
    assert by_auroc == (
        "By AUROC Twofold is ahead of every rival on scene (0.8820, Siamese 0.8450) and "
        "yeast (0.5770, Siamese 0.5420)."
    )
    assert by_jaccard == (
        "By 5-NN Jaccard index Twofold is ahead of every rival on yeast (0.5550, FML-C 0.4850); "
        "behind on scene (0.7510, FML-C 0.7620)."
    )
    assert [table.columns for table in section.tables] == [("scene", "yeast")] * 2
    assert cells(section.tables[1], "fml-c")["scene"].is_best
    assert not cells(section.tables[1], "fml-c")["yeast"].is_best


def test_nus_wide_without_images_is_said_plainly(records: list[RunRecord], page: str) -> None:
    section = contents(records).nus_wide
    assert section is not None
    assert "cannot be redistributed and were not at hand" in section.paragraphs[0]
    assert "FML-DP 4.00 ± 0.00 s (the paper: 152.30 s)" in section.paragraphs[1]
    assert section.tables == ()
    assert "<code>twofold reproduce nuswide</code>" in page


def test_nus_wide_with_images_shows_its_scores_instead() -> None:
    whole = contents([record("nuswide", "fml-c", score="jaccard", neighbours=0.45)])
    assert whole.nus_wide is not None
    assert "redistributed" not in " ".join(whole.nus_wide.paragraphs)
    figures = cells(whole.nus_wide.tables[0], "fml-c")
    assert figures["the paper's"].mark == "▲ +0.023"
    assert whole.results is None


def test_pubfig83_carries_its_note_under_its_tables_only(records: list[RunRecord]) -> None:
    section = contents(records).results
    assert section is not None
    noted = {t.title: any("64×64" in note for note in t.notes) for t in section.tables}
    assert [title.split(",")[0] for title, has_note in noted.items() if has_note] == ["PubFig83"]


def test_one_seed_has_no_spread_and_says_so(records: list[RunRecord]) -> None:
    table = mnist_results([record("pubfig83", "fml-c")])
    assert cells(table, "fml-c")["AUROC"].spread == ""
    assert table.notes[-1] == "One seed only, so no spread: PubFig83."
    assert mnist_results(records).notes == ()


def test_seeds_that_differ_between_methods_are_named() -> None:
    runs = [*several("mnist", {"fml-c": MNIST["fml-c"]}), record("mnist", "siamese")]
    assert [row.note for row in mnist_results(runs).groups[0].rows] == ["", "seeds 0"]


@pytest.mark.parametrize(
    ("make", "absent"),
    [
        (lambda: several("mnist", {"fml-c": MNIST["fml-c"]}), "of its training time"),
        (lambda: [record("mnist", "siamese", targets=0.0)], "Seconds of phase 1"),
        (lambda: [phase_1_only("fml-c", (1.0,))], "Five nearest neighbours"),
        (lambda: [record("mnist", "a-new-one")], "The paper's seconds"),
        (lambda: [record("mnist", "raw", seconds=(0.0,), auroc=(0.8,), targets=0.0)], "curves"),
    ],
)
def test_what_was_not_run_is_left_out(make: Callable[[], list[RunRecord]], absent: str) -> None:
    records = make()
    page = paper_page(records)
    Balanced().feed(page)
    assert absent not in text_of(page)
    assert 'id="gallery"' not in page
    assert paper_tables(records).startswith("# ")


def test_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match="no run record to report on"):
        paper_page([])


def test_what_a_record_says_is_not_taken_for_html() -> None:
    strange = record("mnist", "fml-c", commit="<b>x</b>", machine={"gpu": "<script>"})
    page = paper_page([strange])
    assert "<script" not in page
    assert "<b>x</b>" not in page


def test_a_method_has_the_same_line_in_every_figure(records: list[RunRecord]) -> None:
    figures = curve_figures(summarise(records))
    assert [figure.title for figure in figures] == ["MNIST", "PubFig83", "scene", "yeast"]
    lines: dict[str, set[Any]] = {}
    for figure in figures:
        for entry in figure.legend:
            lines.setdefault(entry.title, set()).add(entry.line)
            assert entry.line.colour in figure.svg
    assert all(len(those) == 1 for those in lines.values())
    assert len({line for those in lines.values() for line in those}) == len(lines)


def test_high_auroc_is_drawn_by_what_is_missing_and_low_auroc_as_it_is(
    records: list[RunRecord],
) -> None:
    mnist, _, _, yeast = curve_figures(summarise(records))
    assert re.search(r">0\.995<", mnist.svg)
    assert re.search(r">0\.5[0-9]+<", yeast.svg)


def test_markdown_tables_have_equal_columns_and_the_page_s_figures(
    records: list[RunRecord],
) -> None:
    text = paper_tables(records)
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    assert len(blocks) == sum(len(section.tables) for section in contents(records).sections)
    for block in blocks:
        assert len({line.count("|") for line in block.splitlines()}) == 1
    assert "| FML-C | 0.9990 ± 0.0010 | 0.9810 ± 0.0010 | 0.976 ▲ +0.005 |" in text
    assert "| **0.9850** ± 0.0010 |" in text
    assert "| FML-DP | not reached (best 0.9950) | – | – | 0 of 3 seeds |" in text
    assert "| FML-C | 0.300 ± 0.248 | 3 | 6.90 | 23× faster |" in text


def test_a_gallery_marks_exactly_the_wrong_neighbours(
    tmp_path: Path, records: list[RunRecord]
) -> None:
    write_gallery(tmp_path, gallery_content(3))
    page = paper_page(records, read_galleries(tmp_path))
    assert page.count('class="wrong" alt="not alike: eight"') == 3
    assert page.count("<img") == 18
    assert page.count('class="asked" alt="test image: three"') == 3
    assert not re.search(r'src="(?!data:image/png;base64,)', page)
    Balanced().feed(page)


def test_a_set_shows_one_gallery_and_never_more_than_a_page_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_gallery(tmp_path, gallery_content(20))
    write_gallery(tmp_path, gallery_content(2) | {"method": "siamese"})
    write_gallery(tmp_path, gallery_content(2) | {"seed": 1})
    galleries = read_galleries(tmp_path)
    (shown,) = shown_galleries(galleries)
    assert (shown.method, shown.seed, len(shown.items)) == ("twofold", 0, 12)
    assert shown_galleries(galleries[::-1]) == (shown,)
    monkeypatch.setattr("twofold.report._gallery.MOST_CHARACTERS", 1500)
    assert 1 <= len(shown_galleries(galleries)[0].items) < 12
    monkeypatch.setattr("twofold.report._gallery.MOST_CHARACTERS", 10)
    assert shown_galleries(galleries) == ()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"format": "something"}, "is not a readable gallery"),
        ({"items": [{"image": "x"}]}, "is not a readable gallery"),
        (
            {"items": [{"image": "https://x.org/a.png", "label": "a", "neighbours": []}]},
            "item 0 holds 'https://x.org/a.png' instead of PNG or JPEG data",
        ),
        (
            {"items": [gallery_content(1)["items"][0] | {"label": 3}]},
            "a label of item 0 is 3, not text",
        ),
    ],
)
def test_a_damaged_gallery_is_refused_by_name(
    tmp_path: Path, damage: dict[str, Any], message: str
) -> None:
    path = write_gallery(tmp_path, gallery_content(1))
    write_gallery(tmp_path, gallery_content(1) | damage)
    with pytest.raises(ValueError, match=re.escape(str(path))) as refusal:
        read_galleries(tmp_path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
