"""How well a whole ranking of a gallery is ordered: what hashing methods are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.bits import bits_apart, check_codes
from twofold._core.checks import check_choice, check_count
from twofold.evaluation._points import Metric
from twofold.evaluation._retrieval import check_search


@dataclass(frozen=True, slots=True)
class RankingScores:
    """Means over the queries that have a relevant item; each is in [0, 1], larger is better.

    Attributes
    ----------
    map_at : dict of int to float
        Mean average precision of the k nearest: of each query Σ_{i ≤ k} P(i) rel(i) / Σ_{i ≤ k}
        rel(i), with P(i) the share of relevant items among the i nearest; 0 if none of the k is.
    mean_average_precision : float
        The same for the whole gallery.
    precision_within : float or None
        For codes, the share of relevant items among those that differ from the query in at most
        `radius` bits; 0 for a query without any. None for other points.
    n_queries, n_without_match : int
        Queries that were scored, and that were left out because nothing is relevant to them.
    """

    map_at: dict[int, float]
    mean_average_precision: float
    precision_within: float | None
    n_queries: int
    n_without_match: int


def ranking_scores(
    points: ArrayLike,
    labels: Any,
    *,
    gallery_points: ArrayLike,
    gallery_labels: Any,
    k: int | Sequence[int] = (1000, 5000),
    metric: Metric = "hamming",
    radius: int = 2,
) -> RankingScores:
    """Score how well each query ranks a gallery by nearness.

    Of items at equal distance, those with the lowest index count as nearer. With codes there are
    many of these, so the order of the gallery should be random. Costs n_queries · n_gallery · dim
    and a sort of every row, in bounded memory.

    Parameters
    ----------
    points, gallery_points : array_like, shape (n_queries, dim) and (n_gallery, dim)
        Points, or codes packed into bytes.
    labels, gallery_labels : classes, or 0/1 matrices
        Items with equal classes, or with a label in common, are relevant; see `retrieval_scores`.
    k : int or sequence of int
        Depths. One beyond the gallery means all of it.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        How nearness is measured.
    radius : int
        Number of bits in which a code may differ.
    """
    check_choice("metric", metric, get_args(Metric))
    depths = tuple(dict.fromkeys(check_count("k", depth) for depth in np.atleast_1d(k).tolist()))
    radius = check_count("radius", radius, minimum=0)
    order, relevance, _ = check_search(points, labels, gallery_points, gallery_labels, metric)
    rows = np.flatnonzero(relevance.count() > 0)
    if not rows.size:
        raise ValueError(
            f"None of {relevance.n_queries} queries has a relevant item in the gallery, so there "
            "is nothing to score."
        )
    within = None
    if metric == "hamming":
        near = check_codes("points", points), check_codes("gallery_points", gallery_points)
        within = np.zeros(relevance.n_queries)
    scores = np.full((relevance.n_queries, len(depths) + 1), np.nan)

    def score_block(some: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        relevance.mark(some, keys)
        if within is not None:
            is_near = bits_apart(near[0][some, None], near[1]) <= radius
            n_hits = (is_near & (keys & 1).astype(bool)).sum(axis=1)
            within[some] = n_hits / np.maximum(is_near.sum(axis=1), 1)
        keys.sort(axis=1)
        scores[some] = _average_precision((keys & 1).astype(bool), depths)

    order.for_each_block(rows, score_block)
    *at_depths, whole = scores[rows].mean(axis=0).tolist()
    return RankingScores(
        map_at=dict(zip(depths, at_depths, strict=True)),
        mean_average_precision=whole,
        precision_within=None if within is None else float(within[rows].mean()),
        n_queries=rows.size,
        n_without_match=relevance.n_queries - rows.size,
    )


def _average_precision(is_hit: NDArray[np.bool_], depths: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the average precision of each row at each depth, and of the whole row."""
    n_found = np.cumsum(is_hit, axis=1)
    gained = np.cumsum(is_hit * (n_found / np.arange(1, is_hit.shape[1] + 1)), axis=1)
    last = [min(depth, is_hit.shape[1]) - 1 for depth in depths] + [is_hit.shape[1] - 1]
    return gained[:, last] / np.maximum(n_found[:, last], 1)
