"""An embedding's evidence on pairs: similarity, and whether a record has a better partner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import Metric, pair_similarity
from twofold.matching._competition import COMPETITION_NAMES, N_COMPETITORS, standing
from twofold.matching._directions import orderless
from twofold.matching._neighbours import Neighbours
from twofold.search import NeighbourIndex

Points = NDArray[np.float32]
Rows = NDArray[np.int64]
Values = NDArray[np.float64]
EMBEDDING_NAMES = ("similarity", *COMPETITION_NAMES)
ROUNDING = 1e-6
"""Of similarities in float32: who is better by less is not better."""


def embedding_evidence(
    points: Points,
    right_points: Points | None,
    pairs: Rows,
    *,
    metric: Metric,
    scale: float,
) -> NDArray[np.float32]:
    """Return the similarity of pairs by an embedding, and how it compares with other pairs.

    Parameters
    ----------
    points, right_points : ndarray of float32, shape (n_rows, dim)
        Points of the rows of two tables; None for the second if there is only one.
    pairs : ndarray of int64, shape (n_pairs, 2)
        Rows.
    metric : {"euclidean", "cosine", "dot"}
        How points are compared.
    scale : float
        What similarities are divided by: `twofold.evaluation.similarity_scale`.

    Returns
    -------
    ndarray of float32, shape (n_pairs, 5)
        The columns are `EMBEDDING_NAMES`; a margin is NaN if a record has no other partner. Within
        one table the order of a pair does not matter.
    """
    others = points if right_points is None else right_points
    measure = _Measure(metric, scale, is_one_table=right_points is None)
    left, right = pairs.T
    similarity = measure.similarity(points, left, others, right)
    X = np.column_stack(
        [
            similarity,
            *measure.standing(similarity, points, left, others, right),
            *measure.standing(similarity, others, right, points, left),
        ]
    ).astype(np.float32)
    return orderless(X, EMBEDDING_NAMES) if measure.is_one_table else X


@dataclass(frozen=True, slots=True)
class _Measure:
    """How rows of two tables, or of one, are compared by their points."""

    metric: Metric
    scale: float
    is_one_table: bool

    def similarity(self, points: Points, rows: Rows, others: Points, partners: Rows) -> Values:
        """Return the similarity of each row and its partner."""
        both = np.concatenate([points, others])
        values = pair_similarity(both, rows, partners + len(points), self.metric)
        return values.astype(np.float64) / self.scale

    def standing(
        self, similarity: Values, points: Points, rows: Rows, others: Points, partners: Rows
    ) -> tuple[Values, Values]:
        """Return how pairs stand among the nearest partners of their rows."""
        asked, place = np.unique(rows, return_inverse=True)
        index = NeighbourIndex(self.metric, approximate=False)
        index.add(np.arange(len(others)), others)
        found = index.query(points[asked], N_COMPETITORS + self.is_one_table).rows
        repeated = np.repeat(asked, found.shape[1])
        # Anew, since a search may round otherwise than the similarity of the pairs does.
        near = self.similarity(points, repeated, others, found.ravel()).reshape(found.shape)
        if self.is_one_table:
            near[found == asked[:, None]] = -np.inf  # nobody is their own partner
        return standing(similarity, Neighbours(found, near), place, partners, ROUNDING)
