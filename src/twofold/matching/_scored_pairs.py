"""Candidate pairs with scores, as search or a pair model gives them: checked once, here."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_equal_lengths, check_item_ids

Rows = NDArray[np.int64]


def check_candidates(
    left: ArrayLike, right: ArrayLike, score: ArrayLike, n_items: int | None = None
) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Return the rows and finite scores of candidate pairs, all of one length."""
    lefts, rights = check_item_ids("left", left, n_items), check_item_ids("right", right, n_items)
    scores = as_array("score", score)
    if scores.ndim != 1 or (scores.size and scores.dtype.kind not in "biuf"):
        raise ValueError(
            f"score must be numbers, one per pair, got {scores.dtype} of shape {scores.shape}."
        )
    check_equal_lengths(left=lefts, right=rights, score=scores)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if wrong.size:
        raise ValueError(
            f"score must be finite; {wrong.size} are not, first at row {wrong[0]} "
            f"({scores[wrong[0]]}). Leave those pairs out."
        )
    return lefts, rights, scores.astype(np.float64)
