"""Pairs that may be worth asking about, out of far too many to examine all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.asking._askable import Askable
from twofold.evaluation import (
    Metric,
    SimilarityCalibration,
    fit_similarity_calibration,
    nearest_indices,
    pair_similarity,
)
from twofold.relations import PairRelation, pair_keys

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Left and right items."""
N_PARTNERS = 50
"""Nearest partners of an item that are looked at, and as many random ones: these are hardly ever
alike where groups are many and small, the nearest hardly ever different where they are large."""
MOST_PROPOSED = 2**17
"""Pairs that are held at a time: up to so many, all are proposed."""

MOST_ANCHORS = 600
"""Items whose partners are looked at for the questions made ahead."""
RANDOM_ALIKE, GUESS_WEIGHT, N_GUESSED_FROM = 0.02, 3.0, 500
"""The share of random pairs that is taken for alike before anybody has answered, as how many
statements that counts, and how many pairs are looked at."""


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


def propose_partners(
    points: NDArray[np.float32],
    metric: Metric,
    askable: Askable,
    stated: NDArray[np.bool_],
    n: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return items, the nearest partners of each, nearest first, and as many random ones.

    Half of the items, if there are so many, are in some statement.

    Returns
    -------
    anchors : ndarray of int64, shape (n_anchors,)
        Items to ask about.
    near, random : ndarray of int64, shape (n_anchors, n_partners)
        Items that each may be asked with. In one table the last of `near` may be the item itself.
    """
    shuffled = rng.permutation(askable.n_items)
    known, new = shuffled[stated[shuffled]], shuffled[~stated[shuffled]]
    n_anchors = max(2 * n, MOST_ANCHORS)
    n_known = max(n_anchors // 2, n_anchors - new.size)
    anchors = np.concatenate([known[:n_known], new[: n_anchors - min(n_known, known.size)]])
    sides = [anchors] if askable.n_left is None else _by_table(anchors, askable.n_left)
    near, others = [], []
    smallest = min(np.diff(askable.partners(int(side[0])))[0] for side in sides if side.size)
    k = int(min(N_PARTNERS, smallest))
    for side in sides:
        if side.size:
            first, stop = askable.partners(int(side[0]))
            near.append(first + _nearest_first(points, side, first, stop, k, metric))
            others.append(rng.integers(first, stop, size=near[-1].shape))
    return np.concatenate(sides), np.concatenate(near), np.concatenate(others)


def _by_table(items: NDArray[np.int64], n_left: int) -> list[NDArray[np.int64]]:
    return [items[items < n_left], items[items >= n_left]]


def _nearest_first(
    points: NDArray[np.float32],
    items: NDArray[np.int64],
    first: int,
    stop: int,
    k: int,
    metric: Metric,
) -> NDArray[np.int64]:
    near = nearest_indices(points[items], points[first:stop], k, metric)
    pairs = np.repeat(items, k), first + near.ravel()
    similarity = pair_similarity(points, *pairs, metric).reshape(near.shape)
    similarity[near + first == items[:, None]] = -np.inf
    return np.take_along_axis(near, np.argsort(-similarity, axis=1, kind="stable"), axis=1)


def first_guess(
    points: NDArray[np.float32],
    askable: Askable,
    known: PairRelation | None,
    rng: np.random.Generator,
) -> SimilarityCalibration:
    """Return how likely pairs are alike while too little has been said to learn from.

    An item and its nearest partner are as likely alike as not, and two random ones hardly ever:
    each counts as a few statements, beside those that there are.

    Parameters
    ----------
    points : ndarray of float32, shape (n_items, dim)
        The features, compared by Euclidean distance.
    askable : Askable
        Which pairs may be asked about.
    known : PairRelation or None
        What has been said, all of it alike perhaps.
    rng : Generator
        Draws some pairs to look at.
    """
    nobody = np.zeros(askable.n_items, dtype=bool)
    anchors, near, _ = propose_partners(points, "euclidean", askable, nobody, 1, rng)
    some = slice(0, N_GUESSED_FROM)
    nearest = pair_similarity(points, anchors[some], near[some, 0])
    random = pair_similarity(points, *askable.random_pairs(N_GUESSED_FROM, rng))
    similarity = np.array([np.median(nearest), np.median(random)], dtype=np.float64)
    similar, weight = np.array([0.5, RANDOM_ALIKE]), np.full(2, GUESS_WEIGHT)
    if known is not None:
        said = pair_similarity(points, known.left, known.right)
        similarity = np.concatenate([similarity, said])
        similar = np.concatenate([similar, known.similar])
        weight = np.concatenate([weight, np.ones(said.size)])
    return fit_similarity_calibration(
        similar.astype(np.float32), similarity, weight.astype(np.float32)
    )
