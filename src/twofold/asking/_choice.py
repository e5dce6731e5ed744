"""Which candidate pairs to ask about: those in doubt, half of them likely alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def choose_pairs(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    probability: NDArray[np.float32],
    n: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the rows of `n` pairs in doubt, or all if they are fewer, the most probable first.

    Half are of those likely alike and half of the others; where one half falls short, the other
    fills it up. No item is asked about twice, unless there are too few. `rng` decides between
    equals.
    """
    shuffled = rng.permutation(left.size)
    order = shuffled[np.argsort(np.abs(probability[shuffled] - 0.5), kind="stable")]
    likely, unlikely = order[probability[order] >= 0.5], order[probability[order] < 0.5]
    chosen: dict[int, None] = {}
    asked: set[int] = set()

    def choose(rows: NDArray[np.int64], at_most: int, again: bool = False) -> None:
        for row in rows.tolist():
            if len(chosen) >= at_most:
                return
            ends = {int(left[row]), int(right[row])}
            if row not in chosen and (again or not ends & asked):
                chosen[row] = None
                asked.update(ends)

    choose(likely, n - n // 2)
    choose(unlikely, n)
    choose(likely, n)
    choose(order, n, again=True)
    rows = np.array([*chosen], dtype=np.int64)
    return rows[np.argsort(-probability[rows], kind="stable")]
