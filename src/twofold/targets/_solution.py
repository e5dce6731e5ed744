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
    table : ndarray of float32, shape (n_targets, dim)
        The targets that items share, as those of one class do; or one for every item.
    which : ndarray of int64, shape (n_items,), or None
        Number of each item's target in `table`, -1 for an item without one; None if `table` has
        one for every item.
    loss : float
        Mean loss at `points`, the prior's part included: over the statements; for
        ``method="exact"`` over all pairs of known items; for "spread" over a sample of them.
    history : ndarray of float64, shape (n_epochs + 1,)
        The loss at the start and after each epoch.
    n_epochs : int
        Passes over the statements; 0 for an exact solution.
    converged : bool
        Whether the loss had settled to `tol`; always so for an exact solution.
    seconds : float
        Wall time of the whole solution.
    method : {"adam", "exact", "spread"}
        How it was found.
    device : str
        Where it was found.
    """

    table: NDArray[np.float32]
    which: NDArray[np.int64] | None
    loss: float
    history: NDArray[np.float64]
    n_epochs: int
    converged: bool
    seconds: float
    method: Literal["adam", "exact", "spread"]
    device: str

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.table if self.which is None else self.which)

    @property
    def points(self) -> NDArray[np.float32]:
        """A target for every item, float32 of shape (n_items, dim).

        An item in no pair has its `init`, else its `prior`, else zero. Where items share targets
        this is gathered anew each time.
        """
        if self.which is None:
            return self.table
        points = self.table[self.which]
        points[self.which < 0] = 0
        return points

    def __repr__(self) -> str:
        n_items, dim = self.n_items, self.table.shape[1]
        state = "converged" if self.converged else "not converged"
        return (
            f"TargetSolution({n_items:,} points in {dim} dimensions, loss {self.loss:.3g}, "
            f"{self.method}, {self.n_epochs} epochs, {state}, {self.seconds:.3f} s on "
            f"{self.device})"
        )
