"""How good a metric is on pairs that were drawn to test it, with an interval that can be trusted.

Test pairs are few, and alike ones among far pairs so rare that hardly any is ever seen, though far
pairs are nearly all there are. Weighting what was seen would pretend that what was not seen is not
there. So the chance of being alike is modelled as a curve of two ranks that are known of *every*
pair: by the metric that is tested, and by the features, which the draw went by. The AUROC over all
pairs follows from any such curve; those that agree with the answers give the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logsumexp, ndtr, ndtri

Numbers = NDArray[np.float64]
FEWEST_OF_A_KIND = 3
"""Test answers of each kind below which nothing is said."""
N_DRAWS, N_STAGES = 3000, 3
"""Curves that are tried at a time, and how often: each time nearer to the likely ones."""
FROM_PRIOR, N_FREEDOM, WIDENED = 0.2, 5, 1.2
"""Of later stages: the share that still comes from the prior; the others come from a t
distribution, wider than the likely ones by so much."""
N_NUMBERS = 5
"""Of a curve, see `_Curves`."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well pairs are told apart.

    Attributes
    ----------
    auroc : float
        Estimate of the AUROC over all pairs that may be asked about.
    low, high : float
        Its 95 % interval.
    n_same, n_different : int
        Test answers that it rests on.
    """

    auroc: float
    low: float
    high: float
    n_same: int
    n_different: int


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


def estimate_quality(
    by_metric: Numbers,
    by_features: Numbers,
    same: NDArray[np.bool_],
    population: Population,
    rng: np.random.Generator,
) -> Quality | None:
    """Return the AUROC over a population, from test answers; None if these are too few.

    Parameters
    ----------
    by_metric, by_features : ndarray of float64, shape (n_tests,)
        Log odds of the ranks of the test pairs, as in `population`.
    same : ndarray of bool, shape (n_tests,)
        What was answered.
    population : Population
        Of all pairs.
    rng : Generator
        Draws curves.
    """
    n_same = int(same.sum())
    if min(n_same, same.size - n_same) < FEWEST_OF_A_KIND:
        return None
    tests = _Tests(by_metric, by_features, same)
    normal = rng.standard_normal((N_DRAWS, N_NUMBERS))
    log_proposal = _log_normal(normal)
    for stage in range(N_STAGES):
        auroc, log_likelihood = _follow(_Curves.of(normal), tests, population)
        log_weight = log_likelihood + _log_normal(normal) - log_proposal
        weight = np.exp(log_weight - logsumexp(log_weight))
        if stage < N_STAGES - 1:
            normal, log_proposal = _draw_near(normal, weight, rng)
    low, high = _weighted_quantiles(auroc, weight, (0.025, 0.975))
    if by_metric[same].min() > by_metric[~same].max():
        high = 1.0  # nothing speaks against a metric that makes no mistake
    return Quality(float(weight @ auroc), low, high, n_same, int(same.size) - n_same)


def log_odds(share: NDArray[np.floating]) -> Numbers:
    """Return log odds of the share of pairs that are nearer, large for the near."""
    inside = np.clip(np.asarray(share, dtype=np.float64), 1e-9, 1 - 1e-9)
    return np.asarray(np.log1p(-inside) - np.log(inside))


def weighted_auroc(similarity: Numbers, alike: Numbers, unlike: Numbers) -> float:
    """Return the AUROC where each pair counts for some alike and for some unlike ones.

    Parameters
    ----------
    similarity : ndarray of float64, shape (n_pairs,)
        Large for the alike; ties count one half.
    alike, unlike : ndarray of float64, shape (n_pairs,)
        How much each pair counts as either.
    """
    _, place = np.unique(similarity, return_inverse=True)
    alike_at = np.bincount(place, alike).astype(np.float64)
    unlike_at = np.bincount(place, unlike).astype(np.float64)
    below = np.cumsum(unlike_at) - unlike_at / 2
    return float(alike_at @ below / (alike_at.sum() * unlike_at.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class _Tests:
    """Both ranks of each test pair, and its answer."""

    by_metric: Numbers
    by_features: Numbers
    same: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Curves:
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
    lapse : 0 with chance .65, else up to .06
        The share of slips. Few, since a slip about a far pair looks like an unseen alike one.
    """

    middle: Numbers
    slope: Numbers
    by_features: Numbers
    unseen: Numbers
    lapse: Numbers

    @classmethod
    def of(cls, normal: Numbers) -> _Curves:
        """Return the curves of rows of numbers, which the prior has as standard normal."""
        middle, slope, by_features, unseen, lapse = normal.T[:, :, None]
        place = np.clip((ndtr(unseen) - 0.5) / 0.5, 1e-12, 1 - 1e-12)
        return cls(
            4 + 3 * middle,
            1.2 * np.exp(1.25 * slope),
            expit(-1.2 + 1.2 * by_features),
            np.where(ndtr(unseen) < 0.5, 0.0, expit(-1.4 + 1.7 * ndtri(place))),
            0.06 * np.maximum(0.0, (ndtr(lapse) - 0.65) / 0.35),
        )

    def seen(self, by_metric: Numbers, by_features: Numbers) -> Numbers:
        """Return σ for each curve and pair."""
        rank = (1 - self.by_features) * by_metric + self.by_features * by_features
        return np.asarray(expit(self.slope * (rank - self.middle)))


def _follow(curves: _Curves, tests: _Tests, population: Population) -> tuple[Numbers, Numbers]:
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
    said_same = curves.lapse + (1 - 2 * curves.lapse) * chance
    agrees = np.where(tests.same, said_same, 1 - said_same)
    return auroc, np.log(np.maximum(agrees, 1e-300)).sum(axis=1)


def _draw_near(
    normal: Numbers, weight: Numbers, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Return numbers near those that weigh much, and the log density that they are drawn with."""
    centre = weight @ normal
    spread = (weight[:, None] * (normal - centre)).T @ (normal - centre)
    factor = WIDENED * np.linalg.cholesky(spread + 1e-3 * np.eye(N_NUMBERS))
    steps = rng.standard_normal((N_DRAWS, N_NUMBERS))
    steps /= np.sqrt(rng.chisquare(N_FREEDOM, N_DRAWS) / N_FREEDOM)[:, None]
    drawn = centre + steps @ factor.T
    is_prior = rng.random(N_DRAWS) < FROM_PRIOR
    drawn[is_prior] = rng.standard_normal((int(is_prior.sum()), N_NUMBERS))
    steps = np.linalg.solve(factor, (drawn - centre).T).T
    near = -(N_FREEDOM + N_NUMBERS) / 2 * np.log1p((steps**2).sum(axis=1) / N_FREEDOM)
    near += float(gammaln((N_FREEDOM + N_NUMBERS) / 2) - gammaln(N_FREEDOM / 2))
    near -= N_NUMBERS / 2 * np.log(N_FREEDOM * np.pi) + np.log(np.diag(factor)).sum()
    both = np.logaddexp(np.log(FROM_PRIOR) + _log_normal(drawn), np.log(1 - FROM_PRIOR) + near)
    return drawn, np.asarray(both)


def _log_normal(numbers: Numbers) -> Numbers:
    size = numbers.shape[1]
    return np.asarray(-(numbers**2).sum(axis=1) / 2 - size / 2 * np.log(2 * np.pi))


def _weighted_quantiles(
    values: Numbers, weight: Numbers, levels: tuple[float, float]
) -> tuple[float, float]:
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    places = np.minimum(np.searchsorted(reached, levels), values.size - 1)
    low, high = values[order[places]]
    return float(low), float(high)
