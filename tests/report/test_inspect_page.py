"""The page of an inspection: a pure function of what was found."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from twofold._core.warnings import RelationWarning
from twofold.experiments import Expectation, Inspection, Suggested, Together, inspect_pairs
from twofold.relations import LabelRelation, PairRelation
from twofold.report import inspect_page, shown_chain
from twofold.targets import GaugePoint


@pytest.fixture(scope="module")
def found() -> Inspection:
    pairs = LabelRelation(np.arange(200) % 4).sample_pairs(random_state=0)
    wrong = np.random.default_rng(0).random(pairs.n_pairs) < 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        similar = np.where(wrong, 1 - pairs.similar, pairs.similar)
        relation = PairRelation(pairs.left, pairs.right, similar, pairs.n_items)
    keys = np.array([f"<item & {i}>" for i in range(200)], dtype=object)
    return inspect_pairs(relation, keys=keys, n_suspicious=5)


def test_the_page_is_a_pure_function_and_needs_nothing_else(found: Inspection) -> None:
    page = inspect_page(found, "pairs.csv")
    assert page == inspect_page(found, "pairs.csv")
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "<script" not in page
    assert "<link" not in page
    assert page.count("<svg") == 1


def test_the_page_says_what_was_found(found: Inspection) -> None:
    page = inspect_page(found, "pairs.csv")
    assert found.gauge is not None
    assert f"<h1>{found.headline}</h1>" in page
    assert "pairs.csv" in page
    assert f"<b>{found.gauge.auroc:.3f}</b>" in page
    for one in found.suspects:
        assert f"{one.suspicion:.3f}" in page
    for point in found.gauge.curve:
        assert f"{point.auroc:.3f} with {point.n_pairs:,}" in page
    assert "as with several labels per item" in page


def test_keys_are_shown_as_text_and_never_as_markup(found: Inspection) -> None:
    page = inspect_page(found, "<b>pairs</b>.csv")
    assert f"&lt;item &amp; {found.suspects[0].left}&gt;" in page
    assert "<item" not in page
    assert "<b>pairs" not in page


def test_what_to_ask_next_is_on_the_page_only_if_wanted(found: Inspection) -> None:
    assert "What to ask next" not in inspect_page(found, "pairs.csv")
    asking = replace(found, suggestions=(Suggested(left=7, right=11, probability=0.625),))
    page = inspect_page(asking, "pairs.csv")
    assert "What to ask next" in page
    assert "&lt;item &amp; 7&gt;" in page
    assert "0.62" in page


def test_a_page_without_a_gauge_has_no_figure() -> None:
    page = inspect_page(inspect_pairs(PairRelation([0], [1], [1], n_items=2)), "one.csv")
    assert "These pairs cannot be gauged" in page
    assert "<svg" not in page
    assert "suspicious pairs</h2>" not in page


def test_the_middle_of_a_long_chain_is_left_out() -> None:
    left = np.append(np.arange(29), 0)
    relation = PairRelation(left, np.append(np.arange(1, 30), 29), [1] * 29 + [0], n_items=30)
    shown = shown_chain(inspect_pairs(relation), 0)
    assert shown.text == "0 ~ 1 ~ 2 ~ 3 ~ 4 ~ 5 ~ … 23 more … ~ 29"
    assert (shown.left, shown.right, shown.n_left_out) == ("0", "29", 23)


def test_what_is_still_missing_is_drawn_dotted_and_said(found: Inspection) -> None:
    assert found.gauge is not None
    assert "Dotted" not in inspect_page(found, "many.csv")
    curve = (GaugePoint(1000, 0.5, 0.01), GaugePoint(2000, 0.7, 0.01))
    few = replace(found, gauge=replace(found.gauge, auroc=0.7, curve=curve))
    page = inspect_page(few, "few.csv")
    assert "Dotted: as it would go on." in page
    assert ">4,000<" in page  # on the figure's scale


def test_with_features_the_page_leads_with_both_and_shows_fields_side_by_side(
    found: Inspection,
) -> None:
    one = found.suspects[0]
    fields = {
        item: {"title": f"<b>{name}</b>", "colour": "red", "text": "word " * 200, "none": ""}
        for item, name in ((one.left, "chair"), (one.right, "stool"))
    }
    page = inspect_page(
        replace(
            found,
            together=Together(0.95, 100, 900, 7, 3),
            expectation=Expectation("ridge map", 0.93, None, 0.91),
            suspects=(one,),
            fields=fields,
            notes=("The columns are taken for: <title> (text).",),
        ),
        "pairs.csv",
    )
    assert "<h1>Features and pairs agree</h1>" in page
    assert page.index("They disagree on 7 of 100") < page.index("The most suspicious pairs</h2>")
    assert page.index("The most suspicious pairs</h2>") < page.index("How many pairs it takes")
    for figure in ("0.950", "0.910", "10"):
        assert f"<b>{figure}</b>" in page
    assert (
        '<th scope="row">title</th><td>&lt;b&gt;chair&lt;/b&gt;</td>'
        "<td>&lt;b&gt;stool&lt;/b&gt;</td>"
    ) in page
    assert '<td class="same">red</td><td class="same">red</td>' in page
    assert "word…</td>" in page
    assert '<th scope="row">none</th>' not in page
    assert "&lt;title&gt; (text)" in page
