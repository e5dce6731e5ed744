"""Decisions on pairs of records, on tables made here."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.matching import PairClassifier

LEFT = {"title": ["visio 2007", "word 2003", "excel 97", None], "price": [129.0, 99.0, None, 10.0]}
RIGHT = {"title": ["visio 2007 pro", "word", "excel 97", "access"], "price": [130, 99, 20, 10]}
PAIRS = np.array([[i, j] for i in range(4) for j in range(4)])
ALIKE = (PAIRS[:, 0] == PAIRS[:, 1]).astype(int)


def test_what_columns_add_is_the_log_odds() -> None:
    model = PairClassifier(LEFT, RIGHT, random_state=0).fit(PAIRS, ALIKE)
    told = model.explain(PAIRS)
    assert list(told) == ["title", "price", "*", "base"]
    np.testing.assert_allclose(sum(told.values()), model.decision_function(PAIRS))


@pytest.mark.parametrize("y", [[0, 2], [0.5, 1]])
def test_labels_other_than_0_and_1_are_named(y: list[float]) -> None:
    with pytest.raises(ValueError, match="neither 0"):
        PairClassifier(LEFT, RIGHT).fit(PAIRS[:2], y)
