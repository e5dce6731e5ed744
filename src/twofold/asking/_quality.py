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
from scipy.special import expit, logsumexp

Numbers = NDArray[np.float64]
FEWEST_OF_A_KIND = 3
"""Test answers of each kind below which nothing is said."""
LAPSES = (0.0, 0.01, 0.03, 0.06)
"""Shares of slips that a person may make; which are likely follows from the answers."""
LAPSE_PRIOR = (0.4, 0.25, 0.2, 0.15)
N_DRAWS = 2000
N_FREEDOM = 5
"""Of the t distribution that curves are drawn from."""
PRIOR_MEAN = np.array([-3.0, 1.5, 0.3])
PRIOR_DEVIATION = np.array([4.0, 1.5, 0.5])
"""Of the curve's offset and its two slopes, in log odds: of being alike, by log odds of the rank.
"""
N_STEPS = 60


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
    design = np.column_stack([np.ones(same.size), by_metric, by_features])
    curves, log_weights = [], []
    for lapse, prior in zip(LAPSES, LAPSE_PRIOR, strict=True):
        drawn, log_weight = _draw_curves(design, same, lapse, rng)
        curves.append(drawn)
        log_weights.append(log_weight + np.log(prior))
    values = _auroc_of_curves(np.concatenate(curves), population)
    log_weight = np.concatenate(log_weights)
    weight = np.exp(log_weight - logsumexp(log_weight))
    low, high = _weighted_quantiles(values, weight, (0.025, 0.975))
    return Quality(float(weight @ values), low, high, n_same, int(same.size) - n_same)


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


def _auroc_of_curves(curves: Numbers, population: Population) -> Numbers:
    """Return the AUROC of the population under each curve, shape (n_curves,)."""
    _, place = np.unique(population.by_metric, return_inverse=True)
    ones = np.ones(population.count.size)
    cells = np.column_stack([ones, population.by_metric, population.by_features])
    n_levels = int(place.max()) + 1
    values = np.empty(len(curves))
    for first in range(0, len(curves), 256):
        alike = expit(curves[first : first + 256] @ cells.T) * population.count
        by_level = np.zeros((len(alike), n_levels))
        every = np.bincount(place, population.count, n_levels)
        for row, one in zip(by_level, alike, strict=True):
            row[:] = np.bincount(place, one, n_levels)
        unlike = every - by_level
        below = np.cumsum(unlike, axis=1) - unlike / 2
        total = by_level.sum(axis=1) * unlike.sum(axis=1)
        values[first : first + 256] = (by_level * below).sum(axis=1) / np.maximum(total, 1e-300)
    return values


def _draw_curves(
    design: Numbers, same: NDArray[np.bool_], lapse: float, rng: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Return curves around the likeliest one, and the log of how much each counts."""
    best, precision = _likeliest_curve(design, same, lapse)
    factor = np.linalg.cholesky(np.linalg.inv(precision)) * 1.3
    normal = rng.standard_normal((N_DRAWS, best.size))
    squeeze = np.sqrt(rng.chisquare(N_FREEDOM, N_DRAWS) / N_FREEDOM)
    steps = normal / squeeze[:, None]
    curves = best + steps @ factor.T
    density = -(N_FREEDOM + best.size) / 2 * np.log1p((steps**2).sum(axis=1) / N_FREEDOM)
    density -= np.log(np.abs(np.diag(factor))).sum()
    return curves, _log_posterior(curves, design, same, lapse) - density


def _log_posterior(
    curves: Numbers, design: Numbers, same: NDArray[np.bool_], lapse: float
) -> Numbers:
    said_same = lapse + (1 - 2 * lapse) * expit(curves @ design.T)
    chance = np.where(same, said_same, 1 - said_same)
    prior = -(((curves - PRIOR_MEAN) / PRIOR_DEVIATION) ** 2).sum(axis=1) / 2
    return np.asarray(np.log(np.maximum(chance, 1e-300)).sum(axis=1) + prior)


def _likeliest_curve(
    design: Numbers, same: NDArray[np.bool_], lapse: float
) -> tuple[Numbers, Numbers]:
    """Return the mode, by scoring steps, and the expected curvature there."""
    curve = PRIOR_MEAN.copy()
    prior = np.diag(PRIOR_DEVIATION**-2.0)
    value = _log_posterior(curve[None], design, same, lapse)[0]
    precision = prior
    for _ in range(N_STEPS):
        alike = expit(design @ curve)
        said = np.clip(lapse + (1 - 2 * lapse) * alike, 1e-12, 1 - 1e-12)
        slope = (1 - 2 * lapse) * alike * (1 - alike)
        gradient = design.T @ (slope * (same - said) / (said * (1 - said)))
        gradient -= prior @ (curve - PRIOR_MEAN)
        precision = (design.T * (slope**2 / (said * (1 - said)))) @ design + prior
        step = np.linalg.solve(precision, gradient)
        for _ in range(20):
            new = _log_posterior((curve + step)[None], design, same, lapse)[0]
            if new >= value:
                break
            step /= 2
        else:
            break
        curve, gain, value = curve + step, new - value, new
        if gain < 1e-10:
            break
    return curve, precision


def _weighted_quantiles(
    values: Numbers, weight: Numbers, levels: tuple[float, float]
) -> tuple[float, float]:
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    places = np.minimum(np.searchsorted(reached, levels), values.size - 1)
    low, high = values[order[places]]
    return float(low), float(high)
