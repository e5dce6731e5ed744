"""The latest snapshot in the server: points to search, taken over whole, and new rows embedded."""

from __future__ import annotations

import pickle
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.ask._worker import Learnt
from twofold.search import NeighbourIndex

Neighbour = tuple[int, float]
"""An item and its similarity."""


class Published:
    """A snapshot that questions and neighbours come from; nothing in it changes.

    Parameters
    ----------
    learnt : Learnt
        What the worker sent.
    version : int
        Counts the snapshots of this server.
    n_left : int or None
        Of two tables, the items of the left one: neighbours are then of the other table.
    """

    def __init__(self, learnt: Learnt, version: int, n_left: int | None) -> None:
        self.learnt = learnt
        self.version = version
        self._n_left = n_left
        self._points: NDArray[np.float32] = np.load(learnt.points, mmap_mode="r")

    def close(self) -> None:
        """Remove the file of points; who still reads it may go on."""
        self.learnt.points.unlink(missing_ok=True)

    def neighbours(self, item: int, k: int) -> list[Neighbour]:
        """Return the items nearest to one, of the other table if there are two."""
        index = self._others_of(item)
        found = index.query(self._points[item : item + 1], k=min(k + 1, len(index)))
        near = zip(found.ids[0].tolist(), found.similarity[0].tolist(), strict=True)
        return [(int(one), similarity) for one, similarity in near if one != item][:k]

    def neighbours_of_row(self, features: Any, given: Any, k: int) -> list[Neighbour]:
        """Return the items nearest to a new row of features, `given` being those of all items."""
        if self.learnt.learner is None:
            index, point = self._by_features(given), np.asarray(features, np.float32).reshape(1, -1)
        else:
            index, point = self._all, np.asarray(self._learner.transform(features))
        found = index.query(point, k=min(k, len(index)))
        near = zip(found.ids[0].tolist(), found.similarity[0].tolist(), strict=True)
        return [(int(one), similarity) for one, similarity in near]

    def _by_features(self, given: Any) -> NeighbourIndex:
        index = NeighbourIndex("cosine" if self.learnt.is_cosine else "euclidean")
        index.add(np.arange(len(given)), np.asarray(given, np.float32).reshape(len(given), -1))
        return index

    @cached_property
    def _learner(self) -> Any:
        # From our own worker, by a pipe that nobody else has.
        return pickle.loads(self.learnt.learner)  # type: ignore[arg-type]

    def _others_of(self, item: int) -> NeighbourIndex:
        if self._n_left is None:
            return self._all
        return self._right if item < self._n_left else self._left

    @cached_property
    def _all(self) -> NeighbourIndex:
        return self._index(0, len(self._points))

    @cached_property
    def _left(self) -> NeighbourIndex:
        return self._index(0, self._n_left or 0)

    @cached_property
    def _right(self) -> NeighbourIndex:
        return self._index(self._n_left or 0, len(self._points))

    def _index(self, start: int, stop: int) -> NeighbourIndex:
        index = NeighbourIndex(self.learnt.metric)
        index.add(np.arange(start, stop), self._points[start:stop])
        return index
