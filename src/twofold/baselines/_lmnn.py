"""Large Margin Nearest Neighbour: impostors are pushed out of every neighbourhood."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold._core.checks import check_count, check_number
from twofold._core.warnings import warn_user
from twofold.baselines._flat_features import ClassedRows, rows_with_classes
from twofold.baselines._linear import LinearLearner, factorise
from twofold.baselines._lmnn_loss import MarginProblem, target_neighbours
from twofold.baselines._lmnn_solver import MarginSolution, solve_margins
from twofold.relations import Relation


@dataclass(eq=False, repr=False)
class LMNNLearner(LinearLearner):
    """Large Margin Nearest Neighbour (Weinberger and Saul 2009), solved to its optimum over M ⪰ 0.

    (1 − μ) Σ_{i,j} ‖L(x_i − x_j)‖² + μ Σ_{i,j,l} max(0, 1 + ‖L(x_i − x_j)‖² − ‖L(x_i − x_l)‖²),
    where j goes over the k nearest items of i's class in input space and l over the items of other
    classes. The problem is convex in M = Lᵀ L, and linear maps of the features do not change it,
    except for which items are target neighbours. A step takes O(n² d) time and O(n) memory.

    Parameters
    ----------
    n_components : int or None
        Number of components of the embedding: the leading ones of M; None for all.
    k : int
        Target neighbours per item.
    push : float
        μ, in (0, 1): how much impostors count, relative to the pull on target neighbours.
    max_iter : int
        Maximum number of steps.
    tol : float
        It stops when the loss is provably within the relative tolerance `tol` of the minimum.
    """

    n_components: int | None = None
    _: KW_ONLY
    k: int = 3
    push: float = 0.5
    max_iter: int = 2000
    tol: float = 1e-3

    def _learn(self, X: Any, relation: Relation) -> tuple[NDArray[np.float64], dict[str, Any]]:
        k = check_count("k", self.k)
        n_components = self._n_kept(X.shape[1])
        push = check_number("push", self.push, 0, strict=True)
        if push >= 1:
            raise ValueError(f"push must be below 1, got {push:g}.")
        max_iter = check_count("max_iter", self.max_iter)
        tol = check_number("tol", self.tol, 0, strict=True)
        rows = rows_with_classes(type(self).__name__, X, relation)
        _refuse_small_classes(rows, k)
        targets = target_neighbours(rows.points, rows.classes, k)
        problem = MarginProblem(rows.points, rows.classes, targets, push)
        solution = solve_margins(problem, tol, max_iter)
        if not solution.converged:
            _warn_of_early_stop(solution, max_iter, tol)
        history = {
            "training": solution.history,
            "bound": solution.bound,
            "n_iter": len(solution.history),
            "converged": solution.converged,
        }
        return factorise(solution.metric, n_components), history


def _refuse_small_classes(rows: ClassedRows, k: int) -> None:
    sizes = np.bincount(rows.classes)
    small = np.flatnonzero(sizes[rows.classes] <= k)
    if small.size:
        raise ValueError(
            f"k={k} target neighbours need classes of at least {k + 1} items, but {small.size} "
            f"item(s) are in smaller ones, first row {rows.items[small[0]]} (class of "
            f"{sizes[rows.classes[small[0]]]}). Lower k, or leave these items out."
        )


def _warn_of_early_stop(solution: MarginSolution, max_iter: int, tol: float) -> None:
    above = (solution.loss - solution.bound) / solution.loss
    warn_user(
        f"LMNNLearner stopped after max_iter={max_iter} steps, its loss at most {above:.2%} above "
        f"the minimum (tol={tol:g}). Raise max_iter or tol.",
        ConvergenceWarning,
    )
