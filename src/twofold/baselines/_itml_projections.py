"""Bregman projections of Information-Theoretic Metric Learning: one constraint after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedMetric:
    """A metric, and how it came about.

    Attributes
    ----------
    metric : ndarray of float64, shape (n_features, n_features)
        M, positive definite; M⁻¹ = I + Σ δ λ v vᵀ.
    multipliers : ndarray of float64, shape (n_constraints,)
        λ ≥ 0; 0 where a constraint holds by itself.
    bound : ndarray of float64, shape (n_constraints,)
        ξ as it was changed to.
    history : list of float
        The relative change of λ, ‖λ − λ'‖₁ / ‖λ‖₁, in each sweep.
    converged : bool
        Whether the last is at most the tolerance.
    """

    metric: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    bound: NDArray[np.float64]
    history: list[float]
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class DistanceConstraints:
    """Squared distances that are to be at most, or at least, a bound.

    Attributes
    ----------
    differences : ndarray of float64, shape (n_constraints, n_features)
        v = x_i − x_j, none of them zero.
    sign : ndarray of float64, shape (n_constraints,)
        δ: 1 for vᵀ M v ≤ ξ (alike), −1 for vᵀ M v ≥ ξ (not alike).
    bound : ndarray of float64, shape (n_constraints,)
        ξ as it is asked for, above 0.
    stiffness : ndarray of float64, shape (n_constraints,)
        γ: how dear it is to change ξ, above 0.
    """

    differences: NDArray[np.float64]
    sign: NDArray[np.float64]
    bound: NDArray[np.float64]
    stiffness: NDArray[np.float64]


def project_onto_constraints(
    constraints: DistanceConstraints, tol: float, max_iter: int
) -> ProjectedMetric:
    """Minimise D(M, I) + Σ γ D(ξ, ξ₀) under the constraints, D the LogDet divergence.

    Algorithm 1 of Davis et al. (2007), in sweeps over all constraints of O(n_constraints d²). Its
    step α is printed there as δ/2 (1/p − γ/ξ), which is the projection for γ = 1; for any γ it is
    δ γ/(γ + 1) (1/p − 1/ξ), as in the authors' own program.
    """
    differences = np.ascontiguousarray(constraints.differences)
    metric = np.eye(differences.shape[1])
    multipliers = np.zeros(len(differences))
    bound = constraints.bound.copy()
    history: list[float] = []
    for _ in range(max_iter):
        before = multipliers.copy()
        _sweep(metric, multipliers, bound, differences, constraints.sign, constraints.stiffness)
        change = np.abs(multipliers - before).sum()
        history.append(float(change / max(np.abs(multipliers).sum(), 1e-300)))
        if history[-1] <= tol:
            return ProjectedMetric(metric, multipliers, bound, history, True)
    return ProjectedMetric(metric, multipliers, bound, history, False)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _sweep(
    metric: Any, multipliers: Any, bound: Any, differences: Any, sign: Any, stiffness: Any
) -> None:
    """Project onto each constraint in turn; everything but the constraints is changed in place."""
    n_features = metric.shape[0]
    mapped = np.empty(n_features)
    for c in range(len(differences)):
        mapped[:] = 0
        for a in range(n_features):
            for b in range(n_features):
                mapped[b] += metric[a, b] * differences[c, a]
        squared = 0.0
        for a in range(n_features):
            squared += differences[c, a] * mapped[a]
        give = stiffness[c] / (stiffness[c] + 1)
        alpha = min(multipliers[c], sign[c] * give * (1 / squared - 1 / bound[c]))
        if alpha == 0:
            continue
        beta = sign[c] * alpha / (1 - sign[c] * alpha * squared)
        bound[c] = stiffness[c] * bound[c] / (stiffness[c] + sign[c] * alpha * bound[c])
        multipliers[c] -= alpha
        for a in range(n_features):
            for b in range(n_features):
                metric[a, b] += beta * (mapped[a] * mapped[b])
