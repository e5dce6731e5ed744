"""Neighbourhood components analysis: scikit-learn's, behind the common interface."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from twofold._core.checks import check_choice, check_count, check_number
from twofold._core.random import RandomState, as_generator
from twofold._core.warnings import warn_user
from twofold.baselines._flat_features import rows_with_classes
from twofold.baselines._linear import LinearLearner
from twofold.relations import Relation

Init = Literal["auto", "pca", "lda", "identity", "random"]
LARGEST_SEED = 2**31 - 1


@dataclass(eq=False, repr=False)
class NCALearner(LinearLearner):
    """Neighbourhood components analysis (Goldberger et al. 2005), by scikit-learn.

    Maximises the expected number of items whose random neighbour, drawn with probability ∝
    exp(−‖L(x_i − x_j)‖²), is of their class. Time and memory grow with the square of the number of
    items. The objective is not convex, and the scale of the features counts.

    Parameters
    ----------
    n_components : int or None
        Number of components of the embedding, at most the number of features; None for as many.
    init : {"auto", "pca", "lda", "identity", "random"}
        The first L, as scikit-learn's.
    max_iter : int
        Maximum number of steps of L-BFGS.
    tol : float
        Tolerance of L-BFGS.
    random_state : int, Generator or None
        Seed of the first L.
    """

    n_components: int | None = 16
    _: KW_ONLY
    init: Init = "auto"
    max_iter: int = 200
    tol: float = 1e-5
    random_state: RandomState = None

    def _learn(self, X: Any, relation: Relation) -> tuple[NDArray[np.float64], dict[str, Any]]:
        check_choice("init", self.init, get_args(Init))
        max_iter = check_count("max_iter", self.max_iter)
        rows = rows_with_classes(type(self).__name__, X, relation)
        analysis = NeighborhoodComponentsAnalysis(
            self._n_kept(X.shape[1]),
            init=self.init,
            max_iter=max_iter,
            tol=check_number("tol", self.tol, 0),
            random_state=int(as_generator(self.random_state).integers(LARGEST_SEED)),
        ).fit(rows.points, rows.classes)
        converged = analysis.n_iter_ < max_iter
        if not converged:
            warn_user(
                f"NCALearner stopped after max_iter={max_iter} steps, before L-BFGS converged "
                f"(tol={self.tol:g}). Raise max_iter or tol.",
                ConvergenceWarning,
            )
        return analysis.components_, {"n_iter": analysis.n_iter_, "converged": converged}
