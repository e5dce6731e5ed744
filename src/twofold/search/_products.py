"""Blocks of the product of two tables: which of its numbers reach a bound. NumPy, or torch."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from twofold._core.devices import resolve_device

Rows = NDArray[np.int64]
Table = NDArray[np.float32]


class Products(Protocol):
    """What the search needs of a matrix product ``left @ right.T``, a block of it at a time."""

    def hold(self, left: Table) -> Any:
        """Return left factors as `largest` and `reaching` take them."""

    def largest(self, left: Any, right: Table, k: int) -> Rows:
        """Return the columns of the `k` largest numbers of each row of the product, in any order.

        Shape (n_rows, k).
        """

    def reaching(self, left: Any, right: Table, bounds: Table) -> tuple[Rows, Rows]:
        """Return rows and columns of the numbers that reach their row's bound, row by row."""


class NumpyProducts:
    """The product by NumPy."""

    def __init__(self) -> None:
        self._room = np.empty(0, dtype=np.float32)

    def hold(self, left: Table) -> Any:
        """Return left factors as they are."""
        return left

    def largest(self, left: Any, right: Table, k: int) -> Rows:
        """Return the columns of the `k` largest numbers of each row of the product."""
        place = len(right) - k
        return np.argpartition(self._product(left, right), place, axis=1)[:, place:]

    def reaching(self, left: Any, right: Table, bounds: Table) -> tuple[Rows, Rows]:
        """Return rows and columns of the numbers that reach their row's bound."""
        reached = self._product(left, right) >= bounds[:, None]
        return np.divmod(np.flatnonzero(reached), len(right))

    def _product(self, left: Table, right: Table) -> Table:
        """Return the product in memory that is used again: fresh pages cost as much as the work."""
        n_numbers = len(left) * len(right)
        if self._room.size < n_numbers:
            self._room = np.empty(n_numbers, dtype=np.float32)
        out = self._room[:n_numbers].reshape(len(left), len(right))
        return np.matmul(left, right.T, out=out)


class TorchProducts:
    """The product by torch, on a GPU where there is one."""

    def __init__(self, device: str = "auto") -> None:
        import torch

        self.device = resolve_device(device)
        self._torch = torch
        self._room = torch.empty(0, device=self.device)

    def hold(self, left: Table) -> Any:
        """Return left factors as a tensor on the device."""
        return self._torch.from_numpy(left).to(self.device)

    def largest(self, left: Any, right: Table, k: int) -> Rows:
        """Return the columns of the `k` largest numbers of each row of the product."""
        columns = self._product(left, right).topk(k, dim=1, sorted=False).indices
        return np.asarray(columns.cpu().numpy())

    def reaching(self, left: Any, right: Table, bounds: Table) -> tuple[Rows, Rows]:
        """Return rows and columns of the numbers that reach their row's bound."""
        limits = self._torch.from_numpy(bounds).to(self.device)
        reached = self._product(left, right) >= limits[:, None]
        if self.device == "cpu":  # where NumPy finds the few much sooner
            return np.divmod(np.flatnonzero(reached.numpy()), len(right))
        rows, columns = reached.nonzero(as_tuple=True)
        return rows.cpu().numpy(), columns.cpu().numpy()

    def _product(self, left: Any, right: Table) -> Any:
        n_numbers = len(left) * len(right)
        if self._room.numel() < n_numbers:
            self._room = self._torch.empty(n_numbers, device=self.device)
        out = self._room[:n_numbers].view(len(left), len(right))
        return self._torch.matmul(left, self.hold(right).T, out=out)
