"""The least loss of Large Margin Nearest Neighbour over M ⪰ 0, known to be the least.

The problem is convex. A spectral projected gradient goes down a smoothed loss whose smoothing
shrinks, and the dual problem gives a bound that no metric can be below: their gap is what
`converged` speaks of.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twofold.baselines._lmnn_loss import MarginLoss, MarginProblem, margin_loss

Matrix = NDArray[np.float64]
FIRST_SMOOTHING, SMALLEST_GAP = 0.3, 1e-9
"""Of the hinge, whose margin is 1; and a gap per target neighbour that is none beside that."""
REMEMBERED = 8
"""Losses that a step may rise to the largest of: a spectral step is no descent each time."""


@dataclass(frozen=True, slots=True, eq=False)
class MarginSolution:
    """A metric, and how it came about.

    Attributes
    ----------
    metric : ndarray of float64, shape (n_features, n_features)
        M, positive semi-definite.
    loss, bound : float
        Its loss, and a value that no metric's loss is below.
    history : list of float
        The loss after each step.
    converged : bool
        Whether the two are as near as was asked.
    """

    metric: Matrix
    loss: float
    bound: float
    history: list[float]
    converged: bool


def solve_margins(problem: MarginProblem, tol: float, max_iter: int) -> MarginSolution:
    """Minimise the loss over M ⪰ 0, up to a relative gap of `tol`.

    A linear map of the points only maps M, so that it is solved where target neighbours lie alike
    in all directions.
    """
    basis = _whitening(problem)
    whitened = replace(problem, points=(problem.points - problem.points.mean(axis=0)) @ basis)
    start = np.eye(basis.shape[1]) / max(1, basis.shape[1])
    solution = minimise_margin_loss(whitened, start, tol, max_iter)
    return replace(solution, metric=basis @ solution.metric @ basis.T)


def _whitening(problem: MarginProblem) -> Matrix:
    """Return W, shape (n_features, rank), that brings the pull on targets to about the identity.

    It spans what the points span: along any other direction M has nothing to learn, and stays 0.
    """
    centred = problem.points - problem.points.mean(axis=0)
    total, pull = centred.T @ centred, problem.pull_matrix()
    share = 1e-6 * max(1e-6, np.trace(pull) / max(np.trace(total), 1e-300))
    values, vectors = np.linalg.eigh(pull + share * total)
    spanned = values > 1e-12 * max(values.max(), 1e-300)
    scale: Matrix = vectors[:, spanned] * np.sqrt(problem.targets.size / values[spanned])
    return scale


def minimise_margin_loss(
    problem: MarginProblem, start: Matrix, tol: float, max_iter: int
) -> MarginSolution:
    """Minimise the loss over M ⪰ 0 from a first M, by a spectral projected gradient.

    A stage ends, and the smoothing shrinks to a third, once what is left to gain of the smoothed
    loss is small beside the gap of the loss itself.
    """
    pull = problem.pull_matrix()
    to_unit = _inverse_root(pull)
    smoothing, bound, history = FIRST_SMOOTHING, 0.0, []
    metric = start
    here = margin_loss(problem, pull, metric, smoothing)
    step = 1 / max(float(np.linalg.norm(here.gradient, 2)), 1e-300)
    recent = deque([here.smoothed], maxlen=REMEMBERED)
    for _ in range(max_iter):
        there, loss_there = _descend(problem, pull, metric, here, step, max(recent), smoothing)
        step = _spectral_step(there - metric, loss_there.gradient - here.gradient, step)
        metric, here = there, loss_there
        recent.append(here.smoothed)
        history.append(here.loss)
        share = _feasible_share(here.gradient, to_unit)
        bound = max(bound, share * here.dual_sum)
        gap = here.loss - bound
        if gap <= tol * here.loss + SMALLEST_GAP * problem.targets.size:
            return MarginSolution(metric, here.loss, bound, history, True)
        to_gain = here.smoothed - (share * here.dual_sum - share**2 * here.dual_square)
        if to_gain <= 0.3 * gap:
            smoothing /= 3
            here = margin_loss(problem, pull, metric, smoothing)
            recent = deque([here.smoothed], maxlen=REMEMBERED)
    return MarginSolution(metric, here.loss, bound, history, False)


def _descend(
    problem: MarginProblem,
    pull: Matrix,
    metric: Matrix,
    here: MarginLoss,
    step: float,
    highest: float,
    smoothing: float,
) -> tuple[Matrix, MarginLoss]:
    """Go towards the projected step, as far as the smoothed loss stays below the highest."""
    direction = project_to_cone(metric - step * here.gradient) - metric
    slope = float(np.vdot(direction, here.gradient))
    length = 1.0
    while True:
        there = metric + length * direction
        loss = margin_loss(problem, pull, there, smoothing)
        if loss.smoothed <= highest + 1e-4 * length * slope or length < 1e-6:
            return there, loss
        length *= 0.4


def _spectral_step(moved: Matrix, turned: Matrix, step: float) -> float:
    """Return the step ⟨S, S⟩ / ⟨S, Y⟩ of Barzilai and Borwein; a longer one where it is flat."""
    curvature, distance = float(np.vdot(moved, turned)), float(np.vdot(moved, moved))
    return distance / curvature if curvature > 1e-300 and distance > 0 else 4 * step


def _feasible_share(gradient: Matrix, to_unit: Matrix) -> float:
    """Return the largest share s of the multipliers λ that is feasible in the dual problem.

    The dual problem is max Σ λ over 0 ≤ λ ≤ μ with P + Σ λ (C_ij − C_il) ⪰ 0, P the pull matrix;
    at s λ that matrix is (1 − s) P + s ∇.
    """
    least = float(np.linalg.eigvalsh(to_unit @ gradient @ to_unit)[0])
    return 1 / (1 + max(0.0, -least))


def _inverse_root(matrix: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(values.clip(1e-12 * max(values.max(), 1e-300)))
    inverse: Matrix = (vectors / roots) @ vectors.T
    return inverse


def project_to_cone(matrix: Matrix) -> Matrix:
    """Return the nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    nearest: Matrix = (vectors * values.clip(0)) @ vectors.T
    return nearest
