"""The page of an evaluation, in a browser as narrow as a telephone."""

import numpy as np
import pytest

from twofold.evaluation import decision_scores
from twofold.report import evaluation_page
from twofold.tasks import Evaluation, WrongPair

OVERLAPPING = """() => [...document.querySelectorAll("table.fields th, table.fields td")]
    .filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent)"""
LEFT = {"title": "photo go", "manufacturer and its country": "sony-media-software", "price": "24.9"}


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    similar = np.arange(20) % 2 == 0
    scores = decision_scores(similar, np.linspace(0, 1, 20), 0.5, random_state=0)
    curve = np.array([[0.0, 1.0], [1.0, 0.5]])
    wrong = WrongPair("l823", "r1474", LEFT, LEFT | {"title": "sony"}, 0.948, {"title": 1.3})
    return Evaluation(
        model="model", data="left.csv", by="pair model", decisions=scores, retrieval=None,
        precision_recall=curve, roc=curve, false_alarms=(wrong,), misses=(), n_false_alarms=1,
        n_misses=0, seconds={"reading": 1.0},
    )  # fmt: skip


@pytest.mark.parametrize("width", [400, 1200])
def test_long_names_of_columns_stay_in_their_cells(evaluation, browser, width):
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.set_content(evaluation_page(evaluation))
    assert tab.locator("table.fields th[scope=row]").count() == len(LEFT)
    assert tab.evaluate(OVERLAPPING) == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    tab.close()
