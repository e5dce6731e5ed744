"""What a search returns: frozen arrays, a distance small for the alike, a similarity large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest items of every query, most similar first, equally similar ones by row.

    Attributes
    ----------
    ids : ndarray of int64 or objects, shape (n_queries, k)
        Ids of the items.
    rows : ndarray of int64, shape (n_queries, k)
        Their rows in the index.
    similarity, distance : ndarray of float32, shape (n_queries, k)
        Large, and small, for the alike. The distance is ‖a − b‖, or 1 − the similarity.
    """

    ids: NDArray[Any]
    rows: NDArray[np.int64]
    similarity: NDArray[np.float32]
    distance: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class SimilarPairs:
    """Pairs of a query and an item that are similar enough.

    Attributes
    ----------
    left : ndarray of int64, shape (n_pairs,)
        Rows of the queries.
    right : ndarray of int64, shape (n_pairs,)
        Rows of the index.
    ids : ndarray of int64 or objects, shape (n_pairs,)
        Ids of the items at `right`.
    similarity, distance : ndarray of float32, shape (n_pairs,)
        Large, and small, for the alike.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    ids: NDArray[Any]
    similarity: NDArray[np.float32]
    distance: NDArray[np.float32]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.left.size
