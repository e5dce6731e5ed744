"""Pairs that may be worth asking about, out of far too many to look at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import Metric, nearest_indices
from twofold.relations import PairRelation, pair_keys

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Left and right items."""
N_PARTNERS = 50
"""Nearest partners of an item that are looked at, and as many random ones: these are hardly ever
alike where groups are many and small, the nearest hardly ever different where they are large."""
MOST_PROPOSED = 2**17
"""Pairs that are held at a time: up to so many, all are proposed."""


def propose_pairs(
    points: NDArray[np.float32],
    stated: NDArray[np.bool_],
    metric: Metric,
    n: int,
    rng: np.random.Generator,
) -> Pairs:
    """Return all pairs of few items; of many, some items with near and with random partners.

    Items in some statement come first, and there are enough for `n` pairs of different items.
    """
    n_items = len(points)
    if n_items * (n_items - 1) // 2 <= MOST_PROPOSED:
        left, right = np.triu_indices(n_items, 1)
        return left, right
    shuffled = rng.permutation(n_items)
    stated_first = shuffled[np.argsort(~stated[shuffled], kind="stable")]
    anchors = stated_first[: max(n, MOST_PROPOSED // (2 * N_PARTNERS))]
    near = nearest_indices(points[anchors], points, N_PARTNERS, metric)
    partners = np.hstack([near, rng.integers(n_items, size=near.shape)])
    return np.repeat(anchors, partners.shape[1]), partners.ravel()


def drop_known(pairs: Pairs, known: PairRelation, group: NDArray[np.int64]) -> Pairs:
    """Return each pair once, without those of equal items and those that are stated.

    `group` has the same number for items with equal features: what is stated of one is stated of
    all.
    """
    left, right = pairs
    n_items = len(group)
    asked, rows = np.unique(pair_keys(group[left], group[right], n_items), return_index=True)
    stated = pair_keys(group[known.left], group[known.right], n_items)
    is_new = ~np.isin(asked, stated) & (group[left[rows]] != group[right[rows]])
    rows = np.sort(rows[is_new])
    return left[rows], right[rows]
