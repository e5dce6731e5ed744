"""How much each layer counts: weights of their cosines, fitted on kinds that were held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from torch import Tensor

MOST_PAIRS = 10_000
"""Alike and not alike, each, that weights are fitted to."""
HARD_WEIGHT = 0.5
"""Of the nearest pairs beside random ones: what is retrieved, beside what is ordered. This and the
next were chosen in the trials that `SHRINKAGE` was."""
PRIOR_PAIRS = 1.0
"""How strongly weights are drawn to their prior, in pairs of held-out kinds: few say little."""


Ends = tuple[Tensor, Tensor]
"""Of pairs: rows and columns."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedWeights:
    """How much each space counts.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_spaces,)
        They sum to 1.
    loss : float
        What was minimised.
    """

    weights: NDArray[np.float64]
    loss: float


def fit_weights(
    similarity: Tensor,
    alike: Tensor,
    known: Tensor,
    prior: NDArray[np.float64],
    n_kinds: int,
    pairs: tuple[Ends, Ends],
) -> FittedWeights:
    """Return weights w ≥ 0 that sum to 1, one a space, of held-out items.

    The similarity of a pair is Σ_k w_k cos_k. Minimised over w ≥ 0 and b: the mean log-loss of
    σ(similarity + b) on random pairs, alike and not alike balanced; half of that of σ(similarity to
    the nearest of one's kind − similarity to the nearest of another); and a ridge that draws the
    weights to a multiple of the prior, the less the more pairs of kinds there are.

    Parameters
    ----------
    similarity : Tensor of float32, shape (n_spaces, n_items, n_items)
        Cosines in each space. No space was fitted to these items.
    alike, known : Tensor of bool, shape (n_items, n_items)
        Who is alike, and of whom it is known.
    prior : ndarray of float64, shape (n_spaces,)
        What weights are drawn to, up to one factor.
    n_kinds : int
        How many were held out.
    pairs : tuple
        Random ones of items that are alike, and of items that are not.
    """
    cosines = np.concatenate([_at(similarity, *ends) for ends in pairs])
    is_alike = np.arange(len(cosines)) < len(pairs[0][0])
    n_pairs_of_kinds = max(1, n_kinds * (n_kinds - 1) // 2)
    ridge = PRIOR_PAIRS / n_pairs_of_kinds * float(cosines.var()) / len(prior)
    solution = minimize(
        weighted_loss,
        np.append(3 * prior / prior.sum(), 0.0),
        (cosines, is_alike, nearest_gaps(similarity, alike, known), ridge, prior),
        jac=True,
        bounds=[(0.0, None)] * len(prior) + [(None, None)],
        method="L-BFGS-B",
    )
    weights = np.asarray(solution.x[:-1])
    if not weights.sum() > 0:  # nothing tells these kinds apart
        weights = prior
    return FittedWeights(weights / weights.sum(), float(solution.fun))


def weighted_loss(
    parameters: NDArray[np.float64],
    cosines: NDArray[np.float64],
    is_alike: NDArray[np.bool_],
    gaps: NDArray[np.float64],
    ridge: float,
    prior: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return what `fit_weights` minimises and its gradient; the last parameter is the offset."""
    weights, offset = parameters[:-1], parameters[-1]
    signs = np.where(is_alike, 1.0, -1.0)
    share = np.where(is_alike, 0.5 / is_alike.sum(), 0.5 / (~is_alike).sum())
    margin = signs * (cosines @ weights + offset)
    slope = -signs * expit(-margin) * share
    hard = gaps @ weights
    hard_slope = -HARD_WEIGHT * expit(-hard) / max(1, len(gaps))
    away = weights - (weights @ prior) / (prior @ prior) * prior
    loss = share @ np.logaddexp(0, -margin) + ridge * away @ away
    loss += HARD_WEIGHT * float(np.logaddexp(0, -hard).sum()) / max(1, len(gaps))
    gradient = cosines.T @ slope + gaps.T @ hard_slope + 2 * ridge * away
    return float(loss), np.append(gradient, slope.sum())


def nearest_gaps(similarity: Tensor, alike: Tensor, known: Tensor) -> NDArray[np.float64]:
    """Return, of each item and space, the cosine to its nearest of one kind less of another.

    Nearest by the mean of all cosines; items without one of either are left out.
    """
    mean = similarity.mean(dim=0)
    own = torch.where(alike, mean, -torch.inf).max(dim=1)
    other = torch.where(known & ~alike, mean, -torch.inf).max(dim=1)
    items = (own.values.isfinite() & other.values.isfinite()).nonzero()[:, 0]
    ends = [(items, nearest.indices[items]) for nearest in (own, other)]
    return _at(similarity, *ends[0]) - _at(similarity, *ends[1])


def draw_both(alike: Tensor, known: Tensor, rng: np.random.Generator) -> tuple[Ends, Ends]:
    """Return some pairs of items that are alike, and some of items that are known not to be."""
    return draw_pairs(alike, rng), draw_pairs(known & ~alike, rng)


def draw_pairs(pairs: Tensor, rng: np.random.Generator) -> Ends:
    """Return some pairs at random, each once, as rows and columns."""
    ends = torch.triu(pairs).nonzero()
    if len(ends) > MOST_PAIRS:
        drawn = rng.choice(len(ends), MOST_PAIRS, replace=False, shuffle=False)
        ends = ends[torch.from_numpy(drawn).to(ends.device)]
    return ends[:, 0], ends[:, 1]


def _at(similarity: Tensor, left: Tensor, right: Tensor) -> NDArray[np.float64]:
    return similarity[:, left, right].T.double().cpu().numpy()
