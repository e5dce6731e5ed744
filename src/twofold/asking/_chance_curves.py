"""The chance that a pair is alike, as a curve of its ranks, and how well answers agree with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

Numbers = NDArray[np.float64]
N_NUMBERS = 5
"""Of a curve, see `Curves`."""
LEAST_CHANCE = 1e-6
"""Of an answer: nothing that is said is impossible."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """All pairs, in cells of equal rank by the metric and by the features.

    Attributes
    ----------
    by_metric, by_features : ndarray of float64, shape (n_cells,)
        Log odds of the rank, large for the near.
    count : ndarray of float64, shape (n_cells,)
        Pairs in each cell.
    """

    by_metric: Numbers
    by_features: Numbers
    count: Numbers


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many questions people were asked once more, and how often they said the same again."""

    n: int = 0
    n_agreed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TestAnswers:
    """Both ranks of each test pair, its answer, and how often people agree with themselves.

    Attributes
    ----------
    by_metric, by_features : ndarray of float64, shape (n_tests,)
        Log odds of ranks.
    same : ndarray of bool, shape (n_tests,)
        What was answered.
    repeats : Repeats
        Of any questions.
    """

    __test__ = False

    by_metric: Numbers
    by_features: Numbers
    same: NDArray[np.bool_]
    repeats: Repeats

    def log_likelihood(self, chance: Numbers, lapse: Numbers) -> Numbers:
        """Return that of the answers, a row of chances of being alike and a share of slips each.

        Who slips with chance l, each time anew, contradicts an earlier answer with 2 l (1 − l).
        """
        said_same = lapse + (1 - 2 * lapse) * chance
        agrees = np.where(self.same, said_same, 1 - said_same)
        contradicts = np.maximum(2 * lapse * (1 - lapse), LEAST_CHANCE)[:, 0]
        n_contrary = self.repeats.n - self.repeats.n_agreed
        of_repeats = n_contrary * np.log(contradicts)
        of_repeats += self.repeats.n_agreed * np.log1p(-contradicts)
        return np.asarray(np.log(np.maximum(agrees, LEAST_CHANCE)).sum(axis=1) + of_repeats)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Curves of the chance that "same" is answered, each a row, and their prior.

    P = p + (1 − p) · floor, where p = σ(slope · (rank − middle)), the rank is a mean of both, and
    the floor is unseen / (1 − unseen) times the mean of p; "same" is said with lapse +
    (1 − 2 lapse) P.

    Attributes
    ----------
    middle : about 4 ± 3 in log odds
        Where pairs are as likely alike as not.
    slope : about 1.2, times or divided by 3.5
        How sharply alike and unlike ones part there.
    by_features : about a quarter
        The weight of the features' rank in the mean.
    unseen : 0 with chance one half, else about .2, anything between .01 and .8
        The share of the alike pairs that no rank knows of: spread over all pairs by chance. Hardly
        any such pair is ever drawn, so that only answers about far pairs speak against them.
    lapse : 0 with chance one half, else up to .12
        The share of slips. A slip about a far pair looks like an unseen alike one: what is asked
        twice tells which it is.
    """

    middle: Numbers
    slope: Numbers
    by_features: Numbers
    unseen: Numbers
    lapse: Numbers

    @classmethod
    def of(cls, normal: Numbers) -> Curves:
        """Return the curves of rows of numbers, which the prior has as standard normal."""
        middle, slope, by_features, unseen, lapse = normal.T[:, :, None]
        place = np.clip((ndtr(unseen) - 0.5) / 0.5, 1e-12, 1 - 1e-12)
        return cls(
            4 + 3 * middle,
            1.2 * np.exp(1.25 * slope),
            expit(-1.2 + 1.2 * by_features),
            np.where(ndtr(unseen) < 0.5, 0.0, expit(-1.4 + 1.7 * ndtri(place))),
            0.12 * np.maximum(0.0, (ndtr(lapse) - 0.5) / 0.5),
        )

    def seen(self, by_metric: Numbers, by_features: Numbers) -> Numbers:
        """Return σ for each curve and pair."""
        rank = (1 - self.by_features) * by_metric + self.by_features * by_features
        return np.asarray(expit(self.slope * (rank - self.middle)))


def follow(curves: Curves, tests: TestAnswers, population: Population) -> tuple[Numbers, Numbers]:
    """Return the AUROC under each curve, and the log likelihood of the answers."""
    levels, place = np.unique(population.by_metric, return_inverse=True)
    of_level = np.zeros((population.count.size, levels.size))
    of_level[np.arange(population.count.size), place] = population.count
    every = of_level.sum(axis=0)
    seen = curves.seen(population.by_metric, population.by_features) @ of_level
    base = seen.sum(axis=1, keepdims=True) / every.sum()
    floor = np.minimum(curves.unseen / (1 - curves.unseen) * base, 0.9)
    alike = seen + floor * (every - seen)
    unlike = np.maximum(every - alike, 0.0)
    below = np.cumsum(unlike, axis=1) - unlike / 2
    total = alike.sum(axis=1) * unlike.sum(axis=1)
    auroc = (alike * below).sum(axis=1) / np.maximum(total, 1e-300)
    chance = curves.seen(tests.by_metric, tests.by_features)
    chance += floor * (1 - chance)
    return auroc, tests.log_likelihood(chance, curves.lapse)


def follow_perfect(curves: Curves, tests: TestAnswers) -> Numbers:
    """Return the log likelihood of the answers if all nearer than the middle are alike, no other.

    Then only slips contradict the metric.
    """
    chance = (tests.by_metric >= curves.middle).astype(np.float64)
    return tests.log_likelihood(chance, curves.lapse)
