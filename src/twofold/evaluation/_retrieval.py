"""How well a point's nearest neighbours are those that are relevant to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice, check_count
from twofold._core.random import RandomState, as_generator
from twofold.evaluation._labels import check_one_label_each
from twofold.evaluation._neighbours import NeighbourOrder
from twofold.evaluation._points import Metric, check_points, check_same_space
from twofold.evaluation._relevance import Relevance, relate
from twofold.evaluation._resampling import (
    Interval,
    Resample,
    bootstrap_intervals,
    check_resampling,
    resolve_resample,
)


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Means over the queries that have a relevant item; each is in [0, 1], larger is better.

    Attributes
    ----------
    recall_at : dict of int to float
        Recall@k: share of queries with at least one relevant item among their k nearest.
    r_precision : float
        Share of relevant items among a query's R nearest, R being its number of relevant items.
    map_at_r : float
        MAP@R: 1/R Σ_{i ≤ R} P(i), with P(i) the share of relevant items among the i nearest if the
        i-th is relevant, else 0 (Musgrave et al., "A Metric Learning Reality Check", 2020).
    intervals : dict of str to (float, float)
        95 % confidence interval of each score: "recall_at_1", …, "r_precision" and "map_at_r".
        Empty without resampling.
    resampled : {"classes", "items"} or None
        What was resampled for the intervals.
    n_queries : int
        Number of queries that were scored.
    n_without_match : int
        Number of queries that were left out, because no item in the gallery is relevant to them.
    """

    recall_at: dict[int, float]
    r_precision: float
    map_at_r: float
    intervals: dict[str, Interval]
    resampled: Literal["classes", "items"] | None
    n_queries: int
    n_without_match: int


def retrieval_scores(
    points: ArrayLike,
    labels: Any,
    *,
    gallery_points: ArrayLike | None = None,
    gallery_labels: Any = None,
    k: int | Sequence[int] = (1, 2, 4, 8),
    metric: Metric = "euclidean",
    resample: Resample = "auto",
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> RetrievalScores:
    """Score how well each point, as a query, finds the items that are relevant to it.

    Without a gallery, each point searches all other points. An item that is the only one of its
    class is not used as a query, but others may find it. Of items at equal distance, those with the
    lowest index count as nearer. Costs n_queries · n_gallery · dim and a partial sort, in bounded
    memory.

    The intervals are from a bootstrap over queries, with the same gallery. Queries of the same
    class are not independent, so whole classes are resampled if there are at least five. With few
    classes even these intervals are too narrow: in simulations they contained the true value in 82
    % of cases with five classes and 93 % with twenty; resampling items, where classes differ much,
    in 45 %. A query with several labels counts for each of them in equal parts.

    Parameters
    ----------
    points : array_like of float, shape (n_queries, dim)
        Finite points; float32 or float64.
    labels : array_like of shape (n_queries,), or array or sparse matrix (n_queries, n_labels)
        Classes, where items with equal ones are relevant to each other; or a 0/1 matrix, where
        items with at least one label in common are. Items of unknown class (-1, NaN, None) are
        refused.
    gallery_points, gallery_labels : optional, as `points` and `labels`
        Items to search instead.
    k : int or sequence of int
        Depths of the recall. A depth beyond the gallery means all of it.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        Nearest is: smallest ‖a − b‖, largest a·b, or largest a·b / ‖a‖‖b‖ (0 for a zero vector), or
        fewest bits that differ, of codes packed into bytes.
    resample : {"auto", "classes", "items"}
        What the bootstrap resamples: classes or single queries. "auto" resamples classes if the
        queries have at least five.
    n_resamples : int
        Number of bootstrap samples; 0 for no intervals.
    random_state : int, Generator or None
        Seed of the bootstrap; the scores themselves are never random.
    """
    check_choice("metric", metric, get_args(Metric))
    check_resampling(resample, n_resamples)
    rng = as_generator(random_state)
    depths = _check_depths(k)
    order, relevance, is_own_gallery = check_search(
        points, labels, gallery_points, gallery_labels, metric
    )
    n_relevant = relevance.count() - is_own_gallery
    scores, rows = _score_queries(order, relevance, n_relevant, depths, is_own_gallery)
    *recalls, r_precision, map_at_r = scores.mean(axis=0).tolist()
    intervals, resampled = {}, None
    if n_resamples:
        membership = relevance.membership()[rows]
        resampled = resolve_resample(resample, membership)
        ends = bootstrap_intervals(scores, membership, resampled, n_resamples, rng)
        names = (*(f"recall_at_{depth}" for depth in depths), "r_precision", "map_at_r")
        intervals = dict(zip(names, ends, strict=True))
    return RetrievalScores(
        recall_at=dict(zip(depths, recalls, strict=True)),
        r_precision=r_precision,
        map_at_r=map_at_r,
        intervals=intervals,
        resampled=resampled,
        n_queries=rows.size,
        n_without_match=len(n_relevant) - rows.size,
    )


def _check_depths(k: int | Sequence[int]) -> tuple[int, ...]:
    """Return the depths of the recall, each once."""
    depths = tuple(dict.fromkeys(check_count("k", depth) for depth in np.atleast_1d(k).tolist()))
    if not depths:
        raise ValueError("k is empty: give at least one depth for the recall, for instance k=1.")
    return depths


def check_search(
    points: ArrayLike,
    labels: Any,
    gallery_points: ArrayLike | None,
    gallery_labels: Any,
    metric: Metric,
) -> tuple[NeighbourOrder, Relevance, bool]:
    """Return how near what is, what is relevant, and whether the queries are the gallery."""
    if (gallery_points is None) != (gallery_labels is None):
        missing = "gallery_points" if gallery_points is None else "gallery_labels"
        raise ValueError(f"A gallery needs both points and labels, but {missing} is missing.")
    queries = check_points("points", points)
    if gallery_points is None:
        relevance = relate("labels", labels, "labels", labels)
        check_one_label_each(points=len(queries), labels=relevance.n_queries)
        return NeighbourOrder.of(queries, queries, metric), relevance, True
    gallery = check_points("gallery_points", gallery_points)
    check_same_space(points=queries, gallery_points=gallery)
    relevance = relate("labels", labels, "gallery_labels", gallery_labels)
    check_one_label_each(points=len(queries), labels=relevance.n_queries)
    check_one_label_each(gallery_points=len(gallery), gallery_labels=relevance.n_gallery)
    return NeighbourOrder.of(queries, gallery, metric), relevance, False


def _score_queries(
    order: NeighbourOrder,
    relevance: Relevance,
    n_relevant: NDArray[np.int64],
    depths: tuple[int, ...],
    is_own_gallery: bool,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a row of scores for each query that has something to find, and which these are."""
    rows = np.flatnonzero(n_relevant > 0)
    if not rows.size:
        raise ValueError(
            f"None of {len(n_relevant)} queries has a relevant item to find: retrieval scores need "
            "at least two items with a label in common."
        )
    scores = np.full((len(n_relevant), len(depths) + 2), np.nan)

    def score_block(some: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        relevance.mark(some, keys)
        if is_own_gallery:
            keys[np.arange(len(some)), some] = np.iinfo(np.int64).max  # behind all that can count
        deepest = min(order.n_gallery, max(*depths, int(n_relevant[some].max())))
        keys.partition(deepest - 1, axis=1)
        is_hit = (np.sort(keys[:, :deepest], axis=1) & 1).astype(bool)
        scores[some] = _score_hits(is_hit, n_relevant[some], depths)

    # Queries of like R come together, because a block is ordered down to its largest R.
    order.for_each_block(rows[np.argsort(n_relevant[rows], kind="stable")], score_block)
    return scores[rows], rows


def _score_hits(
    is_hit: NDArray[np.bool_], n_relevant: NDArray[np.int64], depths: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return recalls, R-precision and MAP@R of each row, from which neighbours are relevant."""
    ranks = np.arange(1, is_hit.shape[1] + 1)
    recalls = [is_hit[:, :depth].any(axis=1) for depth in depths]
    counted = is_hit & (ranks <= n_relevant[:, None])
    precision = np.cumsum(counted, axis=1) / ranks
    r_precision = counted.sum(axis=1) / n_relevant
    map_at_r = (precision * counted).sum(axis=1) / n_relevant
    return np.column_stack([*recalls, r_precision, map_at_r])
