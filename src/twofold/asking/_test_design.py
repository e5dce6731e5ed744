"""Pairs to test on: drawn with known chances, near partners far more often than far ones.

Of random pairs hardly any are alike where kinds are many, so that hundreds of them would say
nothing about the alike. So an item is drawn, then a stratum of its partners by their rank among its
neighbours in the features (the nearest, 2 to 10, 11 to 100, …), then a partner of that stratum. The
chance of every pair is known, and its inverse is the pair's weight. The sequence of pairs is fixed
by the seed alone: it depends on no answer and on nothing that was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from twofold.asking._askable import Askable

STRATUM_GROWTH = 10
"""Each stratum reaches to so many times the rank of the one before."""


@dataclass(frozen=True, slots=True, eq=False)
class TestDesign:
    """How test pairs are drawn.

    Attributes
    ----------
    points : ndarray of float32, shape (n_items, dim)
        The features, compared by Euclidean distance.
    askable : Askable
        Which pairs may be drawn.
    """

    __test__ = False  # a test of a metric, none of pytest's

    points: NDArray[np.float32]
    askable: Askable
    _squares: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        squares = np.einsum("ij,ij->i", self.points, self.points)
        object.__setattr__(self, "_squares", squares)

    def draw(self, number: int, seed: int) -> tuple[int, int]:
        """Return the pair with a number in the sequence that a seed gives."""
        rng = np.random.default_rng([seed, number])
        anchors = self.askable.n_items if self.askable.n_left is None else self.askable.n_left
        anchor = int(rng.integers(anchors))
        near_first = self.neighbours(anchor)
        edges = stratum_edges(near_first.size)
        stratum = int(rng.integers(edges.size - 1))
        rank = int(rng.integers(edges[stratum], edges[stratum + 1]))
        return anchor, int(near_first[rank])

    def chance(self, left: int, right: int) -> float:
        """Return the chance that a draw gives a pair, whichever of its items comes first."""
        if self.askable.n_left is not None:
            left, right = min(left, right), max(left, right)
            return self._chance_from(left, right) / self.askable.n_left
        both = self._chance_from(left, right) + self._chance_from(right, left)
        return both / self.askable.n_items

    def neighbours(self, item: int) -> NDArray[np.int64]:
        """Return all partners of an item, the nearest first, equally near ones by number."""
        first, stop = self.askable.partners(item)
        order = first + np.argsort(self._distances(item, first, stop), kind="stable")
        return np.asarray(order[order != item])

    def rank(self, item: int, partner: int) -> int:
        """Return the rank of a partner among an item's neighbours, from 0."""
        first, stop = self.askable.partners(item)
        distances = self._distances(item, first, stop)
        own, numbers = distances[partner - first], np.arange(first, stop)
        is_before = (distances < own) | ((distances == own) & (numbers < partner))
        return int(np.count_nonzero(is_before & (numbers != item)))

    def _distances(self, item: int, first: int, stop: int) -> NDArray[np.float32]:
        """Return squared distances less ‖item‖², which order partners just as well."""
        products = self.points[first:stop] @ self.points[item]
        return np.asarray(self._squares[first:stop] - 2 * products)

    def _chance_from(self, anchor: int, partner: int) -> float:
        first, stop = self.askable.partners(anchor)
        n_partners = stop - first - (self.askable.n_left is None)
        edges = stratum_edges(n_partners)
        stratum = int(np.searchsorted(edges, self.rank(anchor, partner), side="right")) - 1
        return 1.0 / ((edges.size - 1) * int(edges[stratum + 1] - edges[stratum]))


def stratum_edges(n_partners: int) -> NDArray[np.int64]:
    """Return the ranks, from 0, at which strata begin, and the number of partners at the end."""
    edges, reach = [0], 1
    while reach < n_partners:
        edges.append(reach)
        reach *= STRATUM_GROWTH
    return np.array([*edges, n_partners], dtype=np.int64)
