"""How well a point's nearest neighbours are those that are relevant to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice
from twofold.evaluation._labels import check_one_label_each
from twofold.evaluation._neighbours import NeighbourOrder
from twofold.evaluation._points import Metric, check_points, check_same_space
from twofold.evaluation._relevance import Relevance, relate

RECALL_DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Means over the queries that have something to find; each is in [0, 1], and large is good.

    Attributes
    ----------
    recall_at_1, recall_at_5, recall_at_10 : float
        Share of queries with at least one relevant item among their 1, 5 or 10 nearest.
    r_precision : float
        Share of relevant items among a query's R nearest, R being its number of relevant items.
    map_at_r : float
        MAP@R: 1/R Σ_{i ≤ R} P(i), with P(i) the share of relevant items among the i nearest if the
        i-th is relevant, else 0 (Musgrave et al., "A Metric Learning Reality Check", 2020).
    n_queries : int
        Number of queries that were scored.
    n_without_match : int
        Number of queries that were left out, because nothing in the gallery is relevant to them.
    """

    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    r_precision: float
    map_at_r: float
    n_queries: int
    n_without_match: int


def retrieval_scores(
    points: ArrayLike,
    labels: Any,
    *,
    gallery_points: ArrayLike | None = None,
    gallery_labels: Any = None,
    metric: Metric = "euclidean",
) -> RetrievalScores:
    """Score how each point, as a query, finds the items that are relevant to it.

    Without a gallery every point is looked for among all others, itself left out; equal points
    are others. Of items at one distance those of lowest index count as nearer. Costs
    n_queries · n_gallery · dim and a partial sort, in bounded memory.

    Parameters
    ----------
    points : array_like of float, shape (n_queries, dim)
        Finite points; float32 or float64.
    labels : array_like of shape (n_queries,), or array or sparse matrix (n_queries, n_labels)
        Classes, of which equal ones are relevant to each other; or a 0/1 matrix, where items with
        at least one label in common are. Items of unknown class (-1, NaN, None) are refused.
    gallery_points, gallery_labels : optional, as `points` and `labels`
        Where to look instead.
    metric : {"euclidean", "dot", "cosine"}
        Nearest is: smallest ‖a − b‖, largest a·b, or largest a·b / ‖a‖‖b‖ (0 for a zero vector).
    """
    check_choice("metric", metric, get_args(Metric))
    if (gallery_points is None) != (gallery_labels is None):
        missing = "gallery_points" if gallery_points is None else "gallery_labels"
        raise ValueError(f"A gallery needs points and labels, but {missing} is not given.")
    queries = check_points("points", points)
    if gallery_points is None:
        relevance = relate("labels", labels, "labels", labels)
        check_one_label_each(points=len(queries), labels=relevance.n_queries)
        return _scores(NeighbourOrder.of(queries, queries, metric), relevance, is_own_gallery=True)
    gallery = check_points("gallery_points", gallery_points)
    check_same_space(points=queries, gallery_points=gallery)
    relevance = relate("labels", labels, "gallery_labels", gallery_labels)
    check_one_label_each(points=len(queries), labels=relevance.n_queries)
    check_one_label_each(gallery_points=len(gallery), gallery_labels=relevance.n_gallery)
    return _scores(NeighbourOrder.of(queries, gallery, metric), relevance, is_own_gallery=False)


def _scores(
    order: NeighbourOrder, relevance: Relevance, *, is_own_gallery: bool
) -> RetrievalScores:
    n_relevant = relevance.count() - is_own_gallery
    # Queries of like R come together, because a block is ordered down to its largest R.
    rows = np.argsort(n_relevant, kind="stable")
    rows = rows[n_relevant[rows] > 0]
    if not rows.size:
        raise ValueError(
            f"None of {len(n_relevant)} queries has a relevant item to find: retrieval scores need "
            "at least two items with a label in common."
        )
    scores = np.full((len(n_relevant), len(RECALL_DEPTHS) + 2), np.nan)

    def score_block(some: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        relevance.mark(some, keys)
        if is_own_gallery:
            keys[np.arange(len(some)), some] = np.iinfo(np.int64).max  # behind all that can count
        depth = min(order.n_gallery, max(*RECALL_DEPTHS, int(n_relevant[some].max())))
        keys.partition(depth - 1, axis=1)
        is_hit = (np.sort(keys[:, :depth], axis=1) & 1).astype(bool)
        scores[some] = _score_hits(is_hit, n_relevant[some])

    order.for_each_block(rows, score_block)
    recall_at_1, recall_at_5, recall_at_10, r_precision, map_at_r = scores[rows].mean(axis=0)
    return RetrievalScores(
        recall_at_1=float(recall_at_1),
        recall_at_5=float(recall_at_5),
        recall_at_10=float(recall_at_10),
        r_precision=float(r_precision),
        map_at_r=float(map_at_r),
        n_queries=rows.size,
        n_without_match=len(n_relevant) - rows.size,
    )


def _score_hits(is_hit: NDArray[np.bool_], n_relevant: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return recalls, R-precision and MAP@R of each row, from which neighbours are relevant."""
    ranks = np.arange(1, is_hit.shape[1] + 1)
    recalls = [is_hit[:, :depth].any(axis=1) for depth in RECALL_DEPTHS]
    counted = is_hit & (ranks <= n_relevant[:, None])
    precision = np.cumsum(counted, axis=1) / ranks
    r_precision = counted.sum(axis=1) / n_relevant
    map_at_r = (precision * counted).sum(axis=1) / n_relevant
    return np.column_stack([*recalls, r_precision, map_at_r])
