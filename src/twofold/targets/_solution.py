"""What phase 1 gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from twofold._core.frozen import frozen_copy

MOST_GATHERED = 2**24
"""Numbers, 64 MiB, of which targets by item are an array; of more they read as one."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetRows:
    """Targets of items that are gathered from a table when they are asked for; reads as an array.

    For items that are too many for a row each: `rows[items]` gives those of some, and
    ``np.asarray(rows)`` those of all.

    Attributes
    ----------
    table : ndarray of float32, shape (n_targets, dim)
        The targets that items share.
    which : ndarray of int64, shape (n_items,)
        Number of each item's target; -1 for an item without one, whose row is NaN.
    """

    table: NDArray[np.float32]
    which: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Of the array: items, components."""
        return len(self.which), self.table.shape[1]

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """Of the array."""
        return self.table.dtype

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, items: Any) -> NDArray[np.float32]:
        items, columns = items if isinstance(items, tuple) else (items, slice(None))
        which = self.which[items]
        points = self.table[which][..., columns]
        missing = (which < 0) if points.ndim == np.ndim(which) else (which < 0)[..., None]
        return np.where(missing, np.float32(np.nan), points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Rows that are gathered are always a copy.")
        return self[:].astype(dtype or self.dtype, copy=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TargetSolution:
    """Target vectors and how they were solved for; the arrays are read-only copies.

    Attributes
    ----------
    table : ndarray of float32, shape (n_targets, dim)
        The targets that items share, as the items of a class do; or one for every item.
    which : ndarray of int64, shape (n_items,), or None
        Number of each item's target in `table`, -1 for an item without one; None if `table` has
        one for every item.
    loss : float
        Mean loss at `points`, including that of the prior: over the statements; for
        ``method="exact"`` over all pairs of known items; for "nystrom" and "spread" over a sample
        of them.
    history : ndarray of float64, shape (n_epochs + 1,)
        The loss at the start and after each epoch.
    n_epochs : int
        Passes over the statements; 0 for an exact solution.
    converged : bool
        Whether the loss converged to `tol`; always true for an exact solution.
    seconds : float
        Wall time of the whole solution.
    method : {"adam", "exact", "nystrom", "spread"}
        The method used.
    device : str
        The device used.
    n_threads : int
        Number of Python threads that called compiled code in parallel (see
        `twofold._core.threads`); it does not change the result.
    """

    table: NDArray[np.float32]
    which: NDArray[np.int64] | None
    loss: float
    history: NDArray[np.float64]
    n_epochs: int
    converged: bool
    seconds: float
    method: Literal["adam", "exact", "nystrom", "spread"]
    device: str
    n_threads: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", frozen_copy(self.table))
        object.__setattr__(self, "history", frozen_copy(self.history))
        if self.which is not None:
            object.__setattr__(self, "which", frozen_copy(self.which))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.table if self.which is None else self.which)

    @property
    def points(self) -> NDArray[np.float32]:
        """A target for every item, float32 of shape (n_items, dim).

        An item in no pair has its `init`, otherwise its `prior`, otherwise zero. If items share
        targets, this is gathered again on each access.
        """
        if self.which is None:
            return self.table
        points = self.table[self.which]
        points[self.which < 0] = 0
        return points

    def by_item(self, linked: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the target of every item, NaN for those that are not linked."""
        if self.which is None:
            return np.where(linked[:, None], self.points, np.float32(np.nan))
        rows = TargetRows(self.table, np.where(linked, self.which, -1))
        is_large = len(rows) * rows.shape[1] > MOST_GATHERED
        return cast("NDArray[np.float32]", rows) if is_large else np.asarray(rows)

    def __repr__(self) -> str:
        n_items, dim = self.n_items, self.table.shape[1]
        state = "converged" if self.converged else "not converged"
        return (
            f"TargetSolution({n_items:,} points in {dim} dimensions, loss {self.loss:.3g}, "
            f"{self.method}, {self.n_epochs} epochs, {state}, {self.seconds:.3f} s on "
            f"{self.device})"
        )
