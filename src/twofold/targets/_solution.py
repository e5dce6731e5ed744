"""What phase 1 gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TargetSolution:
    """Target vectors and how they were found.

    Attributes
    ----------
    points : ndarray of float32, shape (n_items, dim)
        A target for every item. An item in no pair has its `init`, else its `prior`, else zero.
    loss : float
        Mean loss at `points`, the prior's part included: over the statements, or for
        ``method="exact"`` over all pairs of known items.
    history : ndarray of float64, shape (n_epochs + 1,)
        The loss at the start and after each epoch.
    n_epochs : int
        Passes over the statements; 0 for an exact solution.
    converged : bool
        Whether the loss had settled to `tol`; always so for an exact solution.
    seconds : float
        Wall time of the whole solution.
    method : {"adam", "exact"}
        How it was found.
    device : str
        Where it was found.
    """

    points: NDArray[np.float32]
    loss: float
    history: NDArray[np.float64]
    n_epochs: int
    converged: bool
    seconds: float
    method: Literal["adam", "exact"]
    device: str

    def __repr__(self) -> str:
        n_items, dim = self.points.shape
        state = "converged" if self.converged else "not converged"
        return (
            f"TargetSolution({n_items:,} points in {dim} dimensions, loss {self.loss:.3g}, "
            f"{self.method}, {self.n_epochs} epochs, {state}, {self.seconds:.3f} s on "
            f"{self.device})"
        )
