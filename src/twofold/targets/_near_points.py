"""Targets near points: phase 1 with the points that a map has reached as its prior.

The joint objective 1/|Z| Σ_Z L(t_i, t_j, y_ij) + λ/2n Σ ‖t_i − g(x_i)‖² with g fixed: each target
stays near where the map puts its item, and moves as far as its statements ask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold._core.warnings import unsaid
from twofold.evaluation import pair_similarity
from twofold.relations import Statements, TripletRelation
from twofold.targets._solve import Loss, solve_targets

Points = NDArray[np.float32]
PAIR_MARGIN = 1.3
"""In median distances, at the start, of what is stated to be different."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetSolver:
    """Solves for targets near points.

    Attributes
    ----------
    statements : PairRelation or TripletRelation
        Of pairs, both kinds have equal weight.
    loss : {"contrastive", "dot"}
        Of pairs.
    margin : float
        How far apart is far enough; of triplets, in median squared distances.
    device : str
        Where phase 1 runs.
    """

    statements: Statements
    loss: Loss
    margin: float
    device: str

    def near(self, points: Points, rng: np.random.Generator) -> Points:
        """Return targets near `points`, shape (n_items, dim)."""
        statements = self.statements
        margin = self.margin
        if isinstance(statements, TripletRelation):
            # A fixed margin would be met by points that merely spread.
            far = _distances(points, statements.anchor, statements.negative)
            margin *= _median(far**2)
        with unsaid(ConvergenceWarning):
            # A round need not converge: the next one goes on.
            return solve_targets(
                statements,
                points.shape[1],
                loss=self.loss,
                margin=margin,
                prior=points,
                prior_weight=statements.n_items / len(statements),
                device=self.device,
                random_state=rng,
            ).points


def target_solver(
    statements: Statements, start: Points, loss: Loss, margin: float, device: str
) -> TargetSolver:
    """Return the solver for items that start at some points; `margin` multiplies the usual one."""
    if isinstance(statements, TripletRelation):
        return TargetSolver(statements, loss, margin, device)
    different = statements.similar <= 0.5
    far = _distances(start, statements.left[different], statements.right[different])
    return TargetSolver(statements.balanced(), loss, PAIR_MARGIN * margin * _median(far), device)


def _distances(points: Points, left: NDArray[np.int64], right: NDArray[np.int64]) -> Points:
    return -pair_similarity(points, left, right, "euclidean")


def _median(distances: Points) -> float:
    """Return the median, or 1 if all points coincide."""
    median = float(np.median(distances)) if distances.size else 0.0
    return median if median > 0 else 1.0
