"""The part of a page on kinds never seen, from records whose figures are known."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from stored_records import gallery_content, image, record, stored_records, write_gallery

from twofold.experiments import Gallery, KindScores, RunRecord, UnseenScores
from twofold.report import paper_page, paper_tables, read_galleries
from twofold.report._contents import Section, contents
from twofold.report._gallery import shown_galleries
from twofold.report._table import Cell, Table
from twofold.report._unseen_gallery import side_by_side
from twofold.report._unseen_section import unseen_conclusion
from twofold.report._unseen_summaries import summarise_unseen, unseen_standings

MNIST, DIGITS, OMNIGLOT = "unseen-mnist-0-4", "unseen-digits", "unseen-omniglot-1"


def kinds(metric: str, auroc: float, **changes: Any) -> KindScores:
    scores = KindScores(
        metric,  # type: ignore[arg-type]
        auroc,
        {"recall_at_1": auroc - 0.1, "map_at_r": auroc - 0.4},
        None,
        {"map_at_r": (auroc - 0.5, auroc - 0.3)},
        "classes",
    )
    return replace(scores, **changes)


def unseen(
    method: str,
    auroc: float,
    seed: int = 0,
    *,
    data_set: str = MNIST,
    seconds: float = 10.0,
    device: str = "cpu",
    **changes: Any,
) -> RunRecord:
    """Return one run; each seed is 0.01 better than the one before, and 1 s slower."""
    scores = UnseenScores("0 to 4", "5 to 9", (kinds("cosine", auroc + 0.01 * seed),))
    made = record("mnist", method, seed, device=device)
    items = {"n_train": 300, "n_validation": 0, "n_test": 200, "n_labels": 5, "n_test_labels": 6}
    timed = {"targets": 1.0, "training": seconds - 3 + seed, "metric": 1.5, "rest": 0.5}
    fields = {
        "data_set": data_set,
        "data": items | {"n_pairs": 0},
        "seconds": timed,
        "targets_seconds": (),
        "curve": (),
        "scores": None,
        "unseen": scores,
    }
    return replace(made, **fields | changes)


def several(figures: dict[str, float], seeds: int = 3, **options: Any) -> list[RunRecord]:
    return [
        unseen(method, auroc, seed, **options)
        for method, auroc in figures.items()
        for seed in range(seeds)
    ]


FIGURES = {"raw": 0.6, "twofold-auto": 0.85, "supcon": 0.8, "twofold-unseen": 0.9}


def section(records: list[RunRecord]) -> Section:
    found = contents(records).unseen
    assert found is not None
    return found


def cells(table: Table, method: str, number: int = 0) -> dict[str, Cell]:
    (row,) = (row for row in table.groups[number].rows if row.method == method)
    return dict(zip(table.columns, row.cells, strict=True))


def test_the_table_has_means_and_standard_errors_over_seeds_ours_first() -> None:
    (table,) = section(several(FIGURES)).tables
    assert table.columns == ("AUROC", "recall@1", "MAP@R", "seconds")
    (group,) = table.groups
    assert [row.method for row in group.rows] == ["twofold-unseen", "twofold-auto", "raw", "supcon"]
    assert [row.is_ours for row in group.rows] == [True, True, False, False]
    figures = cells(table, "twofold-unseen")
    # Mean of 0.90, 0.91 and 0.92; deviation 0.01, over √3.
    error = f"{0.01 / math.sqrt(3):.4f}"
    assert (figures["AUROC"].text, figures["AUROC"].spread) == ("0.9100", error)
    assert (figures["MAP@R"].text, figures["MAP@R"].spread) == ("0.5100", error)
    # 10, 11 and 12 s, all phases; deviation 1, over √3.
    assert (figures["seconds"].text, figures["seconds"].spread) == ("11.0", "0.6")
    assert cells(table, "raw")["seconds"].text == "none"
    assert group.title == "MNIST 0–4 → 5–9"
    assert group.note == (
        "Trained on 0 to 4: 5 kinds, 300 items. Scored on 5 to 9: 6 kinds, 200 items."
    )
    assert "Items: MNIST 0–4 → 5–9 300 training, 200 test." in table.measured


def test_the_table_says_how_many_epochs_there_were() -> None:
    short, long = ({"protocol": {"n_epochs": number}} for number in (4, 40))
    records = [unseen("raw", 0.6, configuration=long), unseen("supcon", 0.7, configuration=long)]
    assert "300 items, 40 epochs. Scored" in section(records).tables[0].groups[0].note
    records.append(unseen("siamese", 0.7, configuration=short))
    assert "300 items, 4/40 epochs. Scored" in section(records).tables[0].groups[0].note


def test_the_best_of_each_column_is_marked_within_a_set_and_features_have_no_time() -> None:
    records = several(FIGURES) + several({"twofold-unseen": 0.7, "raw": 0.8}, data_set=DIGITS)
    (table,) = section(records).tables
    assert [group.title for group in table.groups] == [
        "MNIST 0–4 → 5–9",
        "scikit-learn's digits 0–4 → 5–9",
    ]
    for number, best in ((0, "twofold-unseen"), (1, "raw")):
        for row in table.groups[number].rows:
            assert cells(table, row.method, number)["MAP@R"].is_best == (row.method == best)
    assert not cells(table, "raw", 1)["seconds"].is_best
    assert cells(table, "twofold-unseen", 1)["seconds"].is_best


def test_each_score_is_by_the_metric_that_is_best_for_it() -> None:
    by_cosine = kinds("cosine", 0.7)
    by_distance = kinds("euclidean", 0.6, retrieval={"recall_at_1": 0.9, "map_at_r": 0.1})
    scores = UnseenScores("a", "b", (by_cosine, by_distance))
    figures = cells(section([unseen("supcon", 0.5, unseen=scores)]).tables[0], "supcon")
    assert [figures[name].text for name in ("AUROC", "recall@1", "MAP@R")] == [
        "0.7000",
        "0.9000",
        "0.3000",
    ]


def test_one_seed_has_the_bootstrap_s_interval_in_place_of_an_error() -> None:
    (table,) = section([unseen("twofold-unseen", 0.9)]).tables
    figures = cells(table, "twofold-unseen")
    assert (figures["MAP@R"].spread, figures["MAP@R"].note) == ("", "0.400–0.600")
    assert figures["AUROC"].note == ""
    assert table.notes == ("One seed only, so no spread: MNIST 0–4 → 5–9.",)
    several_seeds = cells(section(several({"raw": 0.5})).tables[0], "raw")
    assert several_seeds["MAP@R"].note == ""


def test_columns_of_one_shot_and_of_kinds_seen_stand_where_there_are_such() -> None:
    scores = UnseenScores(
        "a", "b", (kinds("cosine", 0.7, one_shot=0.65),), (kinds("cosine", 0.95),)
    )
    records = [unseen("twofold-auto", 0.7, unseen=scores), unseen("raw", 0.6)]
    (table,) = section(records).tables
    assert table.columns[3:5] == ("one-shot, 20-way", "recall@1, kinds seen")
    ours, raw = (list(cells(table, name).values()) for name in ("twofold-auto", "raw"))
    assert [cell.text for cell in ours[3:5]] == ["0.6500", "0.8500"]
    assert [cell.text for cell in raw[3:5]] == ["–", "–"]


def test_many_spreads_stand_below_their_figures() -> None:
    scores = UnseenScores(
        "a", "b", (kinds("cosine", 0.7, one_shot=0.65),), (kinds("cosine", 0.95),)
    )
    few, many = several(FIGURES), [unseen("raw", 0.6, seed, unseen=scores) for seed in range(2)]
    assert not section(few).tables[0].is_crowded
    assert section(many).tables[0].is_crowded
    assert not any(
        table.is_crowded for part in contents(stored_records()).sections for table in part.tables
    )
    assert '<section class="card crowded">' in paper_page(many)


def test_the_sentences_say_where_twofold_is_ahead_level_and_behind() -> None:
    records = [
        *several({"twofold-unseen": 0.9, "twofold-auto": 0.99, "raw": 0.6, "supcon": 0.8}),
        *several({"twofold-unseen": 0.7, "raw": 0.705}, data_set=OMNIGLOT),
        *several({"twofold-unseen": 0.7, "raw": 0.8}, data_set=DIGITS),
    ]
    auroc, recall, map_at_r = section(records).paragraphs[2:]
    assert auroc == (
        "By AUROC Twofold is ahead of every rival on MNIST 0–4 → 5–9 (0.9100, SupCon 0.8100); "
        "level with the best rival on Omniglot small 1 → three new alphabets (0.7100, Raw features "
        "0.7150); behind on scikit-learn's digits 0–4 → 5–9 (0.7100, Raw features 0.8100)."
    )
    assert recall.startswith("By recall@1 Twofold is ahead of every rival on MNIST")
    assert map_at_r.startswith("By MAP@R Twofold is ahead of every rival on MNIST")
    assert contents(records).conclusion == (
        "Among things of kinds that were not in the training, Twofold finds the alike as well as "
        "its best rival or better, by MAP@R within two standard errors, on 2 of 3 splits; it falls "
        "short on scikit-learn's digits 0–4 → 5–9 (0.3100, Raw features 0.4100).",
    )


@pytest.mark.parametrize(("rival", "lead"), [(0.8, 0.1), (0.889, 0.0), (0.911, 0.0), (0.93, -0.03)])
def test_a_lead_is_more_than_two_standard_errors(rival: float, lead: float) -> None:
    # Both errors are 0.01 / √3, together 0.0082, so that twice that is 0.0163.
    groups = summarise_unseen(several({"twofold-unseen": 0.9, "raw": rival}))
    (standing,) = unseen_standings(groups, "auroc")
    assert standing.lead == pytest.approx(lead)


def test_with_one_seed_every_difference_counts() -> None:
    (standing,) = unseen_standings(
        summarise_unseen([unseen("twofold-auto", 0.9), unseen("raw", 0.901)]), "auroc"
    )
    assert standing.lead == pytest.approx(-0.001)


def test_without_a_rival_or_without_ours_nothing_is_claimed() -> None:
    for alone in ("twofold-unseen", "raw"):
        records = [unseen(alone, 0.9)]
        assert unseen_conclusion(summarise_unseen(records)) == ""
        assert len(section(records).paragraphs) == 2
        assert contents(records).conclusion == ("These records hold no figures to sum up.",)


def test_machines_have_tables_of_their_own_and_sentences_that_name_them() -> None:
    records = several(FIGURES) + several(FIGURES, device="cuda")
    found = section(records)
    assert [table.title for table in found.tables] == [
        "Kinds never seen, Xeon, 2 cores (CPU)",
        "Kinds never seen, NVIDIA H200 (CUDA)",
    ]
    assert len(found.paragraphs) == 2 + 6
    assert "on NVIDIA H200 (CUDA) Twofold is ahead" in found.paragraphs[-1]


def test_other_parts_of_the_page_say_nothing_of_kinds_never_seen() -> None:
    others = stored_records()
    before, after = contents(others), contents([*others, *several(FIGURES)])
    for part in ("facts", "findings", "groups", "phase_1", "results", "arrivals", "multilabel"):
        assert getattr(after, part) == getattr(before, part), part
    assert after.conclusion[:-1] == before.conclusion
    assert before.unseen is None
    assert "Kinds never seen" not in paper_page(others)


def test_the_same_records_give_the_same_page_in_whatever_order() -> None:
    records = several(FIGURES)
    page = paper_page(records)
    assert paper_page(records[::-1]) == page
    assert paper_tables(records[::-1]) == paper_tables(records)
    assert '<a href="#never-seen">Kinds never seen</a>' in page
    assert page.count('<tr class="ours">') == 2
    assert "<dt>Twofold, unseen</dt>" in page
    assert "| Twofold, unseen | **0.9100** ± 0.0058 |" in paper_tables(records)


def test_a_run_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="raw on unseen-mnist-0-4 with seed 0 occurs twice"):
        contents([unseen("raw", 0.5), unseen("raw", 0.6)])


def gallery(method: str, seed: int = 0, n_wrong: int = 1, shade: int = 0) -> dict[str, Any]:
    """Return a gallery of two images; of each item's neighbours the last ones are wrong."""
    content = gallery_content(2) | {"set": MNIST, "method": method, "seed": seed}
    for number, item in enumerate(content["items"]):
        item["image"] = image(shade + number)
        for place, neighbour in enumerate(item["neighbours"]):
            neighbour["alike"] = place < 5 - n_wrong
    return content


@pytest.fixture
def galleries(tmp_path: Any) -> tuple[Gallery, ...]:
    for content in (
        gallery("twofold-unseen"),
        gallery("twofold-unseen", seed=1),
        gallery("twofold-auto", n_wrong=2),
        gallery("supcon", n_wrong=3),
        gallery("raw", n_wrong=5),
    ):
        write_gallery(tmp_path, content)
    return read_galleries(tmp_path)


def test_our_neighbours_stand_beside_those_of_the_best_rival(
    galleries: tuple[Gallery, ...],
) -> None:
    groups = summarise_unseen(several(FIGURES))
    (shown,) = side_by_side(galleries, groups)
    assert (shown.title, shown.seed) == ("MNIST 0–4 → 5–9", 0)
    assert [(f.method, f.n_alike, f.n_neighbours) for f in shown.found] == [
        ("Twofold, unseen", 8, 10),
        ("SupCon", 4, 10),
    ]
    assert side_by_side(galleries[::-1], groups) == (shown,)
    assert shown_galleries(galleries) == (), "they are no gallery of kinds seen"


def test_the_page_shows_each_image_once_and_marks_neighbours_of_another_kind(
    galleries: tuple[Gallery, ...],
) -> None:
    page = paper_page(several(FIGURES), galleries)
    assert page.count('class="asked"') == 2
    assert page.count('class="wrong"') == 2 * 1 + 2 * 3
    assert "8 of 10 by Twofold, unseen, 4 of 10 by SupCon" in page
    assert 'id="gallery"' not in page
    assert not re.search(r'src="(?!data:image/png;base64,)', page)


def test_a_rival_that_was_asked_for_other_images_is_not_shown(tmp_path: Any) -> None:
    write_gallery(tmp_path, gallery("twofold-auto"))
    write_gallery(tmp_path, gallery("supcon", shade=50))
    (shown,) = side_by_side(read_galleries(tmp_path), summarise_unseen(several(FIGURES)))
    assert [found.method for found in shown.found] == ["Twofold, default"]


def test_without_ours_there_is_no_gallery(tmp_path: Any) -> None:
    write_gallery(tmp_path, gallery("supcon"))
    assert side_by_side(read_galleries(tmp_path), summarise_unseen(several(FIGURES))) == ()


def test_a_page_never_holds_more_than_it_can(
    galleries: tuple[Gallery, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = summarise_unseen(several(FIGURES))
    monkeypatch.setattr("twofold.report._unseen_gallery.MOST_CHARACTERS", 1800)
    (shown,) = side_by_side(galleries, groups)
    assert [len(found.items) for found in shown.found] == [1, 1]
    assert shown.found[0].n_neighbours == 5
    monkeypatch.setattr("twofold.report._unseen_gallery.MOST_CHARACTERS", 10)
    assert side_by_side(galleries, groups) == ()
