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
from scipy.special import expit, gammaln, logsumexp

from twofold.asking._chance_curves import (
    N_NUMBERS,
    Curves,
    Numbers,
    Population,
    Repeats,
    TestAnswers,
    follow,
    follow_perfect,
)

FEWEST_OF_A_KIND = 3
"""Test answers of each kind below which nothing is said."""
N_DRAWS, N_STAGES = 3000, 3
"""Curves that are tried at a time, and how often: each time nearer to the likely ones."""
FROM_PRIOR, N_FREEDOM, WIDENED = 0.2, 5, 1.2
"""Of later stages: the share that still comes from the prior; the others come from a t
distribution, wider than the likely ones by so much."""
PERFECT = 0.03
"""The prior of a metric that makes no mistake, so that only slips speak against it: the interval
ends at 1 where that explains the answers about as well as curves do. No curve gets there: on
dblp-acm, where the AUROC is .99999, intervals ended at .9993 and .9998."""
NEVER_REPEATED = Repeats()


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


def estimate_quality(
    by_metric: Numbers,
    by_features: Numbers,
    same: NDArray[np.bool_],
    population: Population,
    rng: np.random.Generator,
    repeats: Repeats = NEVER_REPEATED,
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
    repeats : Repeats
        What was asked once more, which tells of slips: a slip in a test makes any metric look
        worse than it is.
    """
    n_same = int(same.sum())
    if min(n_same, same.size - n_same) < FEWEST_OF_A_KIND:
        return None
    tests = TestAnswers(by_metric, by_features, same, repeats)
    normal = rng.standard_normal((N_DRAWS, N_NUMBERS))
    log_proposal = _log_normal(normal)
    log_perfect = _log_mean(follow_perfect(Curves.of(normal), tests))
    for stage in range(N_STAGES):
        auroc, log_likelihood = follow(Curves.of(normal), tests, population)
        log_weight = log_likelihood + _log_normal(normal) - log_proposal
        weight = np.exp(log_weight - logsumexp(log_weight))
        if stage < N_STAGES - 1:
            normal, log_proposal = _draw_near(normal, weight, rng)
    gain = log_perfect - _log_mean(log_weight)
    share = float(expit(np.log(PERFECT / (1 - PERFECT)) + gain))
    auroc, weight = np.append(auroc, 1.0), np.append((1 - share) * weight, share)
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


def _log_mean(logs: Numbers) -> float:
    return float(logsumexp(logs) - np.log(logs.size))


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
