"""The results of a quick search, reordered by a second embedding of the same items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice, check_count
from twofold.search._hamming_space import AnySpace, HammingSpace, check_items
from twofold.search._space import Metric, Space

CANDIDATES_A_NEIGHBOUR, FEWEST_CANDIDATES = 10, 100


@dataclass(frozen=True, slots=True, eq=False)
class Rerank:
    """Points that reorder the candidates of a search, for instance of a search by codes.

    Parameters
    ----------
    queries : array_like, shape (n_queries, dim)
        A point for each query.
    points : array_like or memory-mapped array, shape (n_items, dim)
        A point for each item of the index, in the order of its rows. Only points of candidates are
        read.
    metric : {"cosine", "euclidean", "dot", "hamming"}
        How these are compared.
    n_candidates : int, optional
        Number of candidates per query; by default ten times the number of neighbours, at least 100.
    """

    queries: Any
    points: Any
    metric: Metric = "cosine"
    n_candidates: int | None = None

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, get_args(Metric))
        if self.n_candidates is not None:
            check_count("n_candidates", self.n_candidates)

    def depth(self, k: int) -> int:
        """Return how many candidates of a query are compared to return `k` of them."""
        if self.n_candidates is None:
            return max(FEWEST_CANDIDATES, CANDIDATES_A_NEIGHBOUR * k)
        return max(k, int(self.n_candidates))

    def order(
        self, rows: NDArray[np.int64], n_items: int, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the `k` candidates of each query that are most similar, and their similarity."""
        queries = check_items(self.metric, "rerank.queries", self.queries)
        _refuse_other_rows("queries", len(queries), len(rows), "queries")
        _refuse_other_rows("points", len(self.points), n_items, "items in the index")
        used, place = np.unique(rows, return_inverse=True)
        points = check_items(self.metric, "rerank.points", self.points[used], queries.shape[1])
        is_codes = self.metric == "hamming"
        space: AnySpace = HammingSpace() if is_codes else Space.around(self.metric, points)
        left = np.repeat(np.arange(len(rows)), rows.shape[1])
        values = space.pair_similarity(queries, points, left, place.ravel()).reshape(rows.shape)
        order = np.lexsort((rows, -values), axis=-1)[:, :k]
        return np.take_along_axis(rows, order, axis=1), np.take_along_axis(values, order, axis=1)


def _refuse_other_rows(name: str, n_rows: int, n_wanted: int, what: str) -> None:
    if n_rows != n_wanted:
        raise ValueError(
            f"rerank.{name} has {n_rows} rows, but there are {n_wanted} {what}: there must be one "
            "row for each."
        )
