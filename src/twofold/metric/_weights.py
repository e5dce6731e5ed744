"""How much each layer counts: weights of their cosines, fitted on classes that were held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from twofold.metric._layer_space import Vectors

N_PARTNERS = 5
"""Alike and not alike, drawn for each item."""
HARD_WEIGHT = 0.5
"""Of the nearest pairs beside random ones: what is retrieved, beside what is ordered. This and the
next were chosen in the trials that `SHRINKAGE` was."""
PRIOR_CLASSES = 0.8
"""How strongly weights are drawn to one another, in held-out classes: few of them say little."""
LEAST_WEIGHT = 0.01


def fit_weights(
    points: list[Vectors], classes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return weights w ≥ 0 that sum to 1, one a space, of held-out items.

    The similarity of a pair is Σ_k w_k cos_k. Minimised over w ≥ 0 and b: the mean log-loss of
    σ(similarity + b) on random pairs, alike and not alike balanced; half of that of σ(similarity to
    the nearest of one's class − similarity to the nearest of another); and a ridge that draws the
    weights to their mean, the less the more classes there are.

    Parameters
    ----------
    points : list of ndarray of float32, shape (n_items, n_directions)
        Of length 1, in each space.
    classes : ndarray of int64, shape (n_items,)
        Held out: no space was fitted to them.
    rng : Generator
        Draws pairs.
    """
    alike, other = _random_pairs(classes, rng)
    cosines = np.concatenate([_cosines(points, *alike), _cosines(points, *other)])
    is_alike = np.arange(len(cosines)) < len(alike[0])
    n_spaces, n_classes = len(points), len(np.unique(classes))
    ridge = PRIOR_CLASSES / n_classes * float(cosines.var()) / n_spaces
    weights = minimize(
        weighted_loss,
        np.append(np.full(n_spaces, 3 / n_spaces), 0.0),
        (cosines, is_alike, _nearest_gaps(points, classes), ridge),
        jac=True,
        bounds=[(0.0, None)] * n_spaces + [(None, None)],
        method="L-BFGS-B",
    ).x[:-1]
    if not weights.sum() > 0:  # nothing tells these classes apart
        return np.full(n_spaces, 1 / n_spaces)
    weights = weights / weights.sum()
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    return np.asarray(weights / weights.sum())


def weighted_loss(
    parameters: NDArray[np.float64],
    cosines: NDArray[np.float64],
    is_alike: NDArray[np.bool_],
    gaps: NDArray[np.float64],
    ridge: float,
) -> tuple[float, NDArray[np.float64]]:
    """Return what `fit_weights` minimises and its gradient; the last parameter is the offset."""
    weights, offset = parameters[:-1], parameters[-1]
    signs = np.where(is_alike, 1.0, -1.0)
    share = np.where(is_alike, 0.5 / is_alike.sum(), 0.5 / (~is_alike).sum())
    margin = signs * (cosines @ weights + offset)
    slope = -signs * expit(-margin) * share
    hard = gaps @ weights
    hard_slope = -HARD_WEIGHT * expit(-hard) / len(gaps)
    away = weights - weights.mean()
    loss = share @ np.logaddexp(0, -margin) + ridge * away @ away
    loss += HARD_WEIGHT * float(np.logaddexp(0, -hard).mean())
    gradient = cosines.T @ slope + gaps.T @ hard_slope + 2 * ridge * away
    return float(loss), np.append(gradient, slope.sum())


def _cosines(
    points: list[Vectors], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    columns = [np.einsum("ij,ij->i", space[left], space[right]) for space in points]
    return np.stack(columns, axis=1).astype(np.float64)


def _random_pairs(
    classes: NDArray[np.int64], rng: np.random.Generator
) -> tuple[tuple[NDArray[np.int64], ...], tuple[NDArray[np.int64], ...]]:
    """Return pairs of one class and of two, some for each item."""
    n_items = len(classes)
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    first, last = (np.searchsorted(ordered, ordered, side) for side in ("left", "right"))
    left = np.repeat(np.arange(n_items), N_PARTNERS)
    partner = rng.integers(first[left], last[left])
    alike = (order[left], order[partner])
    other = (rng.integers(n_items, size=left.size), rng.integers(n_items, size=left.size))
    is_pair, differs = alike[0] != alike[1], classes[other[0]] != classes[other[1]]
    return (alike[0][is_pair], alike[1][is_pair]), (other[0][differs], other[1][differs])


def _nearest_gaps(points: list[Vectors], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, of each item and space, the cosine to its nearest of one class less of another.

    Nearest by the mean of all cosines; items that are alone in their class are left out.
    """
    joined = np.hstack(points)
    similarity = joined @ joined.T
    np.fill_diagonal(similarity, -np.inf)
    same = classes[:, None] == classes
    near = np.where(same, similarity, -np.inf)
    items = np.flatnonzero(np.isfinite(near.max(axis=1)))
    other = np.where(same, -np.inf, similarity)[items].argmax(axis=1)
    return _cosines(points, items, near[items].argmax(axis=1)) - _cosines(points, items, other)
