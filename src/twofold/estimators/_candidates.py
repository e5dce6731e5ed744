"""Pairs that may be worth asking about, out of far too many to look at all."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from twofold.relations import PairRelation

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Left and right items."""
ALL_OF = 500
"""Items of which all pairs are candidates."""
N_ANCHORS = 1000
"""Items that partners are sought for; at least one for each pair that is asked for."""
N_NEAR, N_RANDOM = 10, 50
"""Partners an anchor: the nearest, and others."""
BLOCK_NUMBERS = 2**22
"""Similarities that are held at a time."""


def propose_pairs(
    points: NDArray[np.float32],
    stated: NDArray[np.int64],
    metric: Literal["euclidean", "dot"],
    n: int,
    rng: np.random.Generator,
) -> Pairs:
    """Return all pairs of few items; of many, some items with near and with random partners.

    The items are those in statements, and random ones. Random partners are hardly ever alike where
    groups are many and small, near ones hardly ever not where they are few and large.

    Parameters
    ----------
    points : ndarray of float32, shape (n_items, dim)
        The items' embedding.
    stated : ndarray of int64, shape (n_stated,)
        The items in some statement.
    metric : {"euclidean", "dot"}
        How they are compared.
    n : int
        Pairs that are wanted in the end.
    rng : Generator
        Of what is random.
    """
    n_items = len(points)
    if n_items <= ALL_OF:
        return _all_pairs(np.arange(n_items))
    is_stated = np.zeros(n_items, dtype=bool)
    is_stated[stated] = True
    shuffled = rng.permutation(n_items)
    stated_first = shuffled[np.argsort(~is_stated[shuffled], kind="stable")]
    anchors = stated_first[: max(N_ANCHORS, n)]
    near = _nearest(points, anchors, metric)
    others = rng.integers(n_items, size=(len(anchors), N_RANDOM))
    partners = np.hstack([near, others])
    return np.repeat(anchors, partners.shape[1]), partners.ravel()


def _all_pairs(items: NDArray[np.int64]) -> Pairs:
    left, right = np.triu_indices(len(items), 1)
    return items[left], items[right]


def drop_known(pairs: Pairs, known: PairRelation, points: NDArray[np.float32]) -> Pairs:
    """Return each pair once, without those of equal items and those that are stated.

    Items whose points are equal to the bit are one: what is stated of one is stated of the other.
    """
    same = _numbers_of_equal_rows(points)
    left, right = pairs
    asked, rows = np.unique(_keys(same[left], same[right], len(points)), return_index=True)
    stated = _keys(same[known.left], same[known.right], len(points))
    is_new = ~np.isin(asked, stated) & (same[left[rows]] != same[right[rows]])
    rows = np.sort(rows[is_new])
    return left[rows], right[rows]


def _nearest(
    points: NDArray[np.float32], anchors: NDArray[np.int64], metric: Literal["euclidean", "dot"]
) -> NDArray[np.int64]:
    """Return the nearest items to each anchor, itself included, shape (n_anchors, N_NEAR)."""
    squares = np.einsum("ij,ij->i", points, points)
    size = max(1, BLOCK_NUMBERS // len(points))
    found = []
    for first in range(0, len(anchors), size):
        product = points[anchors[first : first + size]] @ points.T
        farness = -product if metric == "dot" else squares - 2 * product
        found.append(np.argpartition(farness, N_NEAR, axis=1)[:, :N_NEAR].copy())
    return np.concatenate(found)


def _numbers_of_equal_rows(points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return a number for each row, the same for equal rows."""
    # As bytes, because they sort many times faster; adding 0.0 makes -0.0 the same as 0.0.
    table = np.ascontiguousarray(points) + np.float32(0)
    as_bytes = table.view(f"V{table.itemsize * table.shape[1]}").ravel()
    return np.unique(as_bytes, return_inverse=True)[1].astype(np.int64)


def _keys(left: NDArray[np.int64], right: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """Return one number for a pair of items, whichever comes first."""
    return np.minimum(left, right) * n_items + np.maximum(left, right)
