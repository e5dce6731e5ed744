"""The tests of a project: which pairs they are, and what their answers say of a metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.ask._tally import Pair, Tally, in_order
from twofold.asking import Askable, Population, Quality, TestDesign, estimate_quality, log_odds
from twofold.evaluation import Metric, pair_similarity

MOST_PAIRS = 2**21
"""Pairs that the population is counted on."""
FEWEST_ANCHORS = 64
N_LEVELS = 80
"""Cells of the population by rank, each way."""


class Tests:
    """Test pairs in the order to be asked, and the estimate that rests on their answers.

    Parameters
    ----------
    points : ndarray of float32, shape (n_items, dim)
        The features, compared by Euclidean distance: what the draw goes by.
    askable : Askable
        Which pairs may be drawn.
    seed : int
        Of the draw.
    """

    __test__ = False

    def __init__(self, points: NDArray[np.float32], askable: Askable, seed: int) -> None:
        self._design, self._seed = TestDesign(points, askable), seed
        self._askable = askable
        self._drawn: list[Pair] = []
        self._direction: dict[Pair, Pair] = {}
        self._rank_share: dict[Pair, float] = {}
        self._anchors, self._ranks = self._population_ranks()

    def upcoming(self, n: int, asked: frozenset[Pair]) -> list[tuple[Pair, float]]:
        """Return the next test pairs that were not asked yet, and their weights."""
        upcoming: list[tuple[Pair, float]] = []
        seen, number = set(asked), 0
        most = 4 * (n + len(asked)) + 100
        while len(upcoming) < n and number < most:
            pair = self._pair(number)
            number += 1
            if in_order(*pair) not in seen:
                seen.add(in_order(*pair))
                upcoming.append((pair, 1 / self._design.chance(*pair)))
        return upcoming

    def quality(
        self, tally: Tally, points: NDArray[np.float32], metric: Metric, rng: np.random.Generator
    ) -> Quality | None:
        """Return what the answers to tests say of points."""
        if not tally.tests:
            return None
        pairs = [self._direction.get(pair, pair) for pair in tally.tests]
        same = np.array([said for said, _ in tally.tests.values()])
        similar, population = self._population(points, metric)
        left, right = np.array(pairs).T
        own = pair_similarity(points, left, right, metric)
        nearer = 1 - np.searchsorted(similar, own, side="left") / similar.size
        by_features = log_odds(np.array([self._share_nearer(pair) for pair in pairs]))
        return estimate_quality(log_odds(nearer), by_features, same, population, rng)

    def _pair(self, number: int) -> Pair:
        while len(self._drawn) <= number:
            pair = self._design.draw(len(self._drawn), self._seed)
            self._drawn.append(pair)
            self._direction.setdefault(in_order(*pair), pair)
        return self._drawn[number]

    def _share_nearer(self, pair: Pair) -> float:
        if pair not in self._rank_share:
            first, stop = self._askable.partners(pair[0])
            self._rank_share[pair] = (self._design.rank(*pair) + 0.5) / (stop - first)
        return self._rank_share[pair]

    def _population_ranks(self) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Return some anchors, all if items are few, and the neighbours of each by the features."""
        askable = self._askable
        n_anchors = askable.n_items if askable.n_left is None else askable.n_left
        n_partners = askable.n_items - (0 if askable.n_left is None else askable.n_left)
        n_drawn = min(n_anchors, max(FEWEST_ANCHORS, MOST_PAIRS // n_partners))
        rng = np.random.default_rng([self._seed, 2**32])
        anchors = np.sort(rng.choice(n_anchors, n_drawn, replace=False))
        return anchors, [self._design.neighbours(int(anchor)) for anchor in anchors]

    def _population(
        self, points: NDArray[np.float32], metric: Metric
    ) -> tuple[NDArray[np.float32], Population]:
        """Return the similarities of all pairs, sorted, and the pairs in cells by their ranks."""
        sizes = [near_first.size for near_first in self._ranks]
        left, right = np.repeat(self._anchors, sizes), np.concatenate(self._ranks)
        similarity = pair_similarity(points, left, right, metric)
        ordered = np.sort(similarity)
        nearer = 1 - np.searchsorted(ordered, similarity, side="left") / ordered.size
        by_features = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
        cell = _levels(nearer) * N_LEVELS + _levels(by_features)
        used, place, count = np.unique(cell, return_inverse=True, return_counts=True)
        means = [np.bincount(place, log_odds(share)) / count for share in (nearer, by_features)]
        by_level = np.bincount(used // N_LEVELS, means[0] * count) / np.maximum(
            np.bincount(used // N_LEVELS, count), 1
        )
        return ordered, Population(by_level[used // N_LEVELS], means[1], count.astype(np.float64))


def _levels(share: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return cells of equal width in log odds."""
    place = (log_odds(share) + 15) / 30 * N_LEVELS
    return np.clip(place.astype(np.int64), 0, N_LEVELS - 1)
