"""Which pairs may be asked about: any two items, or one of each of two tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Items = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Askable:
    """The pairs that may be asked about.

    Attributes
    ----------
    n_items : int
        Items, of both tables if there are two.
    n_left : int or None
        The first so many are the left table, and only pairs between the tables are asked; None for
        one table, of which any two are.
    """

    n_items: int
    n_left: int | None = None

    def __post_init__(self) -> None:
        if self.n_items < 2:
            raise ValueError(f"Asking needs at least two items, got {self.n_items}.")
        if self.n_left is not None and not 0 < self.n_left < self.n_items:
            raise ValueError(
                f"n_left must leave items in both tables, got {self.n_left} of {self.n_items}."
            )

    @property
    def n_pairs(self) -> int:
        """Pairs that may be asked about."""
        if self.n_left is None:
            return self.n_items * (self.n_items - 1) // 2
        return self.n_left * (self.n_items - self.n_left)

    def partners(self, item: int) -> tuple[int, int]:
        """Return the first of the items that one may be asked with, and the one after the last.

        In one table that includes the item itself.
        """
        if self.n_left is None:
            return 0, self.n_items
        return (self.n_left, self.n_items) if item < self.n_left else (0, self.n_left)

    def allows(self, left: Items, right: Items) -> NDArray[np.bool_]:
        """Return which pairs may be asked about."""
        if self.n_left is None:
            return np.asarray(left != right)
        return np.asarray((left < self.n_left) != (right < self.n_left))

    def random_pairs(self, n: int, rng: np.random.Generator) -> tuple[Items, Items]:
        """Return pairs, each as likely as any other, with replacement."""
        if self.n_left is not None:
            return rng.integers(self.n_left, size=n), rng.integers(self.n_left, self.n_items, n)
        left = rng.integers(self.n_items, size=n)
        return left, (left + rng.integers(1, self.n_items, size=n)) % self.n_items
