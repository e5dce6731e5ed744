"""Which item to show beside its nearest nine: one where some are likely alike and some not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_BESIDE = 9
LEAST_EXPECTED, MOST_EXPECTED = 1.5, 7.5
"""Alike ones among the nine, as the model expects, for a question to be offered."""


def choose_nines(
    probability: NDArray[np.float32], beside: NDArray[np.int64], anchors: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """Return the rows of at most `n` questions, those with the most doubt first.

    The doubt of a question is Σ 4 p (1 − p) over its nine: how many of them could go either way.
    No item that is shown in one question is asked about in another.

    Parameters
    ----------
    probability : ndarray of float32, shape (n_anchors, 9)
        That each of the nine is the same as the anchor.
    beside, anchors : ndarray of int64, shape (n_anchors, 9) and (n_anchors,)
        The items.
    n : int
        How many are wanted.
    """
    doubt = (4 * probability * (1 - probability)).sum(axis=1)
    expected = probability.sum(axis=1)
    offered = np.flatnonzero((expected >= LEAST_EXPECTED) & (expected <= MOST_EXPECTED))
    chosen: list[int] = []
    shown: set[int] = set()
    for row in offered[np.argsort(-doubt[offered], kind="stable")].tolist():
        if len(chosen) >= n:
            break
        items = {int(anchors[row]), *beside[row].tolist()}
        if not items & shown:
            chosen.append(row)
            shown |= items
    return np.array(chosen, dtype=np.int64)
