"""The nearest rows of each query as arrays, wherever they were found."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import SearchWarning, warn_user
from twofold.search import Neighbours
from twofold.search.stores import Hit


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """The nearest rows of every query, most similar first.

    Attributes
    ----------
    ids : ndarray of int64 or objects, shape (n_queries, k)
        Ids of the rows.
    similarity, distance : ndarray of float32, shape (n_queries, k)
        Large, and small, for the alike.
    """

    ids: NDArray[Any]
    similarity: NDArray[np.float32]
    distance: NDArray[np.float32]

    @classmethod
    def of_neighbours(cls, neighbours: Neighbours) -> NearestRows:
        """Return what an index in memory gives, without the rows that it keeps them in."""
        return cls(neighbours.ids, neighbours.similarity, neighbours.distance)

    @classmethod
    def of_hits(cls, hits: Sequence[Sequence[Hit]]) -> NearestRows:
        """Return what a store gives, of as many neighbours for each query."""
        shape = len(hits), len(hits[0]) if hits else 0
        similarity = [hit.similarity for row in hits for hit in row]
        distance = [hit.distance for row in hits for hit in row]
        return cls(
            _id_array([hit.id for row in hits for hit in row]).reshape(shape),
            np.array(similarity, dtype=np.float32).reshape(shape),
            np.array(distance, dtype=np.float32).reshape(shape),
        )


def equally_many(hits: Sequence[Sequence[Hit]]) -> list[Sequence[Hit]]:
    """Return as many neighbours for each query; an approximate database may have missed some."""
    counts = [len(row) for row in hits]
    fewest = min(counts, default=0)
    if fewest < max(counts, default=0):
        warn_user(
            f"The index returned {max(counts)} neighbours for some queries but {fewest} for "
            f"others: the nearest {fewest} of each are shown.",
            SearchWarning,
        )
    return [row[:fewest] for row in hits]


def _id_array(names: list[Hashable]) -> NDArray[Any]:
    are_numbers = all(type(name) is int for name in names)
    ids = np.empty(len(names), dtype=np.int64 if are_numbers else object)
    ids[:] = names
    return ids
