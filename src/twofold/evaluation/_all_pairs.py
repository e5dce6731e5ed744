"""The AUROC over all pairs of a labelled set, without the chance of a sample."""

from __future__ import annotations

from threading import Lock
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice
from twofold.evaluation._labels import check_one_label_each
from twofold.evaluation._neighbours import NeighbourOrder
from twofold.evaluation._points import Metric, check_points
from twofold.evaluation._relevance import Relevance, relate


def all_pairs_auroc(points: ArrayLike, labels: Any, *, metric: Metric = "euclidean") -> float:
    """Return the probability that two alike items are nearer than two items that are not alike.

    Exact over all n (n − 1) / 2 pairs; ties count one half. Costs n² · dim and a sort of the pairs,
    which needs 4 n² bytes: 400 MB for 10,000 items. With more items, score a sample of them, or use
    `pair_auroc` on pairs.

    Parameters
    ----------
    points : array_like of float, shape (n_items, dim)
        Finite points; float32 or float64.
    labels : array_like of shape (n_items,), or array or sparse matrix (n_items, n_labels)
        Classes, where items with equal ones are alike; or a 0/1 matrix, where items with at least
        one label in common are. Items of unknown class (-1, NaN, None) are refused.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        Nearer is: smaller ‖a − b‖, larger a·b, or larger a·b / ‖a‖‖b‖ (0 for a zero vector), or
        fewer bits that differ.
    """
    check_choice("metric", metric, get_args(Metric))
    table = check_points("points", points)
    relevance = relate("labels", labels, "labels", labels)
    check_one_label_each(points=len(table), labels=relevance.n_queries)
    alike, unalike = _sorted_nearness(NeighbourOrder.of(table, table, metric), relevance)
    n_nearer = np.searchsorted(unalike, alike, "left").sum()  # not alike, but nearer
    n_as_near = np.searchsorted(unalike, alike, "right").sum() - n_nearer
    return 1.0 - float(n_nearer + n_as_near / 2) / (alike.size * unalike.size)


def _sorted_nearness(
    order: NeighbourOrder, relevance: Relevance
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how near the items of each pair are, for the alike and for the others, sorted."""
    n_items = order.n_gallery
    n_alike = int(np.maximum(relevance.count() - 1, 0).sum()) // 2  # an item is alike to itself
    n_unalike = n_items * (n_items - 1) // 2 - n_alike
    if not n_alike or not n_unalike:
        kind = "not alike" if n_unalike or not n_alike else "alike"
        raise ValueError(
            f"An AUROC needs pairs of both kinds, but all {n_alike + n_unalike} pair(s) of "
            f"{n_items} items are {kind}."
        )
    kinds = np.empty(n_unalike, dtype=np.int64), np.empty(n_alike, dtype=np.int64)
    n_filled = [0, 0]
    lock = Lock()

    def take_block(some: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        relevance.mark(some, keys)
        keys = keys[np.arange(n_items) > some[:, None]]  # each pair once
        is_alike = (keys & 1).astype(bool)
        nearness = order.without_index(keys)
        for kind, values in enumerate((nearness[~is_alike], nearness[is_alike])):
            with lock:
                first = n_filled[kind]
                n_filled[kind] += values.size
            kinds[kind][first : first + values.size] = values

    order.for_each_block(np.arange(n_items), take_block)
    for values in kinds:
        values.sort()
    return kinds[1], kinds[0]
