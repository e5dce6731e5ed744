"""The tests of a project: which pairs they are, and what their answers say of a metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.ask._tally import Pair, Tally, in_order
from twofold.asking import Askable, Population, Quality, TestDesign, estimate_quality, log_odds
from twofold.evaluation import Metric, pair_similarity

MOST_ANCHORS, N_NEAREST, N_FARTHER = 128, 500, 1500
"""Items whose partners stand for all pairs: of each so many of the nearest by the features, and of
the others a sample."""
N_LEVELS = 40
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
        self._weight: dict[Pair, float] = {}
        self._sample = self._draw_population()

    def upcoming(self, n: int, asked: frozenset[Pair]) -> list[tuple[Pair, float]]:
        """Return the next test pairs that were not asked yet, and their weights."""
        upcoming: list[tuple[Pair, float]] = []
        seen = set(asked)
        for number in range(4 * (n + len(asked)) + 100):
            if len(upcoming) == n:
                break
            pair, key = self._pair(number), in_order(*self._pair(number))
            if key not in seen:
                seen.add(key)
                if key not in self._weight:
                    self._weight[key] = 1 / self._design.chance(*pair)
                upcoming.append((pair, self._weight[key]))
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
        by_features = np.array([self._share_nearer(pair) for pair in pairs])
        by_metric = similar.share_nearer(own)
        ranks = log_odds(by_metric), log_odds(by_features)
        return estimate_quality(*ranks, same, population, rng, tally.repeats)

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

    def _draw_population(self) -> Sample:
        """Return pairs that stand for all: some items with near partners and a few far ones."""
        askable, rng = self._askable, np.random.default_rng([self._seed, 2**32])
        n_anchors = askable.n_items if askable.n_left is None else askable.n_left
        drawn = rng.choice(n_anchors, min(n_anchors, MOST_ANCHORS), replace=False)
        parts = []
        for anchor in np.sort(drawn).tolist():
            near_first = self._design.neighbours(anchor)
            ranks, weight = _some_ranks(near_first.size, rng)
            left = np.full(ranks.size, anchor)
            share = (ranks + 0.5) / near_first.size
            parts.append((left, near_first[ranks], share, weight))
        return Sample(*map(np.concatenate, zip(*parts, strict=True)))

    def _population(
        self, points: NDArray[np.float32], metric: Metric
    ) -> tuple[Similarities, Population]:
        """Return the similarities of all pairs, and the pairs in cells by their ranks."""
        sample = self._sample
        similarity = pair_similarity(points, sample.left, sample.right, metric)
        similar = Similarities.of(similarity, sample.weight)
        by_metric = log_odds(similar.share_nearer(similarity))
        by_features = log_odds(sample.share_nearer)
        row, column = _levels(by_metric), _levels(by_features)
        level = np.bincount(row, by_metric * sample.weight) / np.maximum(
            np.bincount(row, sample.weight), 1e-12
        )
        used, place = np.unique(row * N_LEVELS + column, return_inverse=True)
        count = np.bincount(place, sample.weight).astype(np.float64)
        mean = np.bincount(place, by_features * sample.weight) / count
        return similar, Population(level[used // N_LEVELS], mean, count)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Pairs, the share of partners that are nearer by the features, and what each counts for."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    share_nearer: NDArray[np.float64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Similarities:
    """Similarities of all pairs, sorted, and the share of pairs below each, from none to all."""

    values: NDArray[np.float32]
    share_below: NDArray[np.float64]

    @classmethod
    def of(cls, similarity: NDArray[np.float32], weight: NDArray[np.float64]) -> Similarities:
        """Sort similarities, of which each stands for some pairs."""
        order = np.argsort(similarity, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(weight[order])])
        return cls(similarity[order], below / below[-1])

    def share_nearer(self, similarity: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the share of pairs that are nearer than each, half of those as near included."""
        low = self.share_below[np.searchsorted(self.values, similarity, side="left")]
        high = self.share_below[np.searchsorted(self.values, similarity, side="right")]
        return np.asarray(1 - (low + high) / 2)


def _some_ranks(
    n_partners: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ranks from 0, all of the near and some of the far, and how many each stands for."""
    if n_partners <= N_NEAREST + N_FARTHER:
        return np.arange(n_partners), np.ones(n_partners)
    n_far = n_partners - N_NEAREST
    far = N_NEAREST + np.sort(rng.choice(n_far, N_FARTHER, replace=False))
    weight = np.concatenate([np.ones(N_NEAREST), np.full(N_FARTHER, n_far / N_FARTHER)])
    return np.concatenate([np.arange(N_NEAREST), far]), weight


def _levels(odds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return cells of equal width in log odds."""
    place = (odds + 15) / 30 * N_LEVELS
    return np.clip(place.astype(np.int64), 0, N_LEVELS - 1)
