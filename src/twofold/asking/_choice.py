"""Which candidate pairs to ask about: those in doubt, half of them likely alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WORTH_OF_A_STATEMENT = 0.03
"""In probability: how much less doubt a pair may have for each statement about its items. Answers
that join statements place items by one another; see `benchmarks/ablations.py`."""


def choose_pairs(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    probability: NDArray[np.float32],
    n_stated: NDArray[np.int64],
    n: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Choose pairs in doubt, half from those likely alike and half from the others.

    Items in some statement are preferred. No item is asked about twice, unless there are too few.
    Where one half falls short, the other fills it up.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Pairs, each once.
    probability : ndarray of float32, shape (n_pairs,)
        That they are alike.
    n_stated : ndarray of int64, shape (n_items,)
        Statements about each item.
    n : int
        How many to choose.
    rng : Generator
        Decides between equals.

    Returns
    -------
    rows : ndarray of int64, shape (n,), or all if they are fewer
        The most probable first.
    """
    shuffled = rng.permutation(left.size)
    certainty = np.abs(probability[shuffled] - 0.5)
    certainty -= WORTH_OF_A_STATEMENT * (n_stated[left[shuffled]] + n_stated[right[shuffled]])
    order = shuffled[np.argsort(certainty, kind="stable")]
    likely, unlikely = order[probability[order] >= 0.5], order[probability[order] < 0.5]
    chosen = _Chosen(left, right)
    chosen.add(likely, n - n // 2)
    chosen.add(unlikely, n - len(chosen.rows))
    chosen.add(likely, n - len(chosen.rows))
    chosen.add(order, n - len(chosen.rows), again=True)
    rows = np.array(chosen.rows, dtype=np.int64)
    return rows[np.argsort(-probability[rows], kind="stable")]


class _Chosen:
    """Rows that were chosen, and the items they are about."""

    def __init__(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        self._left = left
        self._right = right
        self._items: set[int] = set()
        self._is_chosen = np.zeros(left.size, dtype=bool)
        self.rows: list[int] = []

    def add(self, rows: NDArray[np.int64], n: int, again: bool = False) -> None:
        """Choose the first `n` of some rows whose items are new; `again`: whether new or not."""
        for row in rows.tolist():
            if n <= 0:
                return
            ends = {int(self._left[row]), int(self._right[row])}
            if self._is_chosen[row] or (not again and ends & self._items):
                continue
            self._items |= ends
            self._is_chosen[row] = True
            self.rows.append(row)
            n -= 1
