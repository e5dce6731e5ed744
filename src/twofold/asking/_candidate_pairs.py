"""Pairs that may be worth asking about, out of far too many to look at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import Metric
from twofold.relations import PairRelation, pair_keys

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Left and right items."""
ALL_OF = 500
"""Items of which all pairs are candidates."""
N_ANCHORS, N_NEAR, N_RANDOM = 1000, 10, 50
"""Of more items, how many partners are sought for: their nearest ones, and random ones."""
BLOCK_NUMBERS = 2**22
"""Similarities that are held at a time."""


def propose_pairs(
    points: NDArray[np.float32],
    stated: NDArray[np.int64],
    metric: Metric,
    n: int,
    rng: np.random.Generator,
) -> Pairs:
    """Return all pairs of few items; of many, some items with near and with random partners.

    Random partners are hardly ever alike where groups are many and small, near ones hardly ever
    different where groups are few and large.

    Parameters
    ----------
    points : ndarray of float32, shape (n_items, dim)
        The items' embedding.
    stated : ndarray of int64, shape (n_stated,)
        The items in some statement, which come first.
    metric : {"euclidean", "dot", "cosine"}
        How they are compared.
    n : int
        Pairs that are wanted in the end.
    rng : Generator
        Draws items and partners.
    """
    n_items = len(points)
    if n_items <= ALL_OF:
        left, right = np.triu_indices(n_items, 1)
        return left, right
    is_stated = np.zeros(n_items, dtype=bool)
    is_stated[stated] = True
    shuffled = rng.permutation(n_items)
    stated_first = shuffled[np.argsort(~is_stated[shuffled], kind="stable")]
    anchors = stated_first[: max(N_ANCHORS, n)]
    near = _nearest(points, anchors, metric)
    others = rng.integers(n_items, size=(len(anchors), N_RANDOM))
    partners = np.hstack([near, others])
    return np.repeat(anchors, partners.shape[1]), partners.ravel()


def drop_known(pairs: Pairs, known: PairRelation, group: NDArray[np.int64]) -> Pairs:
    """Return each pair once, without those of equal items and those that are stated.

    Parameters
    ----------
    pairs : tuple of two ndarrays of int64, shape (n_pairs,)
        Left and right items.
    known : PairRelation
        What is stated.
    group : ndarray of int64, shape (n_items,)
        The same for items with equal features: what is stated of one is stated of all.
    """
    left, right = pairs
    n_items = len(group)
    asked, rows = np.unique(pair_keys(group[left], group[right], n_items), return_index=True)
    stated = pair_keys(group[known.left], group[known.right], n_items)
    is_new = ~np.isin(asked, stated) & (group[left[rows]] != group[right[rows]])
    rows = np.sort(rows[is_new])
    return left[rows], right[rows]


def _nearest(
    points: NDArray[np.float32], anchors: NDArray[np.int64], metric: Metric
) -> NDArray[np.int64]:
    """Return the nearest items to each anchor, itself included, shape (n_anchors, N_NEAR)."""
    if metric == "cosine":
        points = points / np.linalg.norm(points, axis=1, keepdims=True).clip(1e-12)
    squares = np.einsum("ij,ij->i", points, points)
    size = max(1, BLOCK_NUMBERS // len(points))
    nearest = []
    for first in range(0, len(anchors), size):
        product = points[anchors[first : first + size]] @ points.T
        distance = squares - 2 * product if metric == "euclidean" else -product
        nearest.append(np.argpartition(distance, N_NEAR, axis=1)[:, :N_NEAR].copy())
    return np.concatenate(nearest)
