"""Comparisons: the anchor is more like the positive than like the negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import (
    check_equal_lengths,
    check_item_ids,
    check_n_items,
    frozen_view,
)
from twofold.relations._renumbering import renumbering


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TripletRelation:
    """Statements "anchor is more like positive than negative".

    Parameters
    ----------
    anchor, positive, negative : array_like of int, shape (n_triplets,)
        Item indices; the three of a triplet are different items.
    n_items : int
        Number of items that the indices address.
    """

    anchor: NDArray[np.int64]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    n_items: int

    def __post_init__(self) -> None:
        n_items = check_n_items(self.n_items)
        anchor = check_item_ids("anchor", self.anchor, n_items)
        positive = check_item_ids("positive", self.positive, n_items)
        negative = check_item_ids("negative", self.negative, n_items)
        check_equal_lengths(anchor=anchor, positive=positive, negative=negative)
        if not anchor.size:
            raise ValueError("The relation is empty: state at least one triplet.")
        wrong = np.flatnonzero((anchor == positive) | (anchor == negative) | (positive == negative))
        if wrong.size:
            row = wrong[0]
            raise ValueError(
                f"{wrong.size} triplet(s) name an item twice, first at row {row} "
                f"({anchor[row]}, {positive[row]}, {negative[row]}). Drop them: they compare "
                "nothing."
            )
        object.__setattr__(self, "anchor", frozen_view(anchor))
        object.__setattr__(self, "positive", frozen_view(positive))
        object.__setattr__(self, "negative", frozen_view(negative))
        object.__setattr__(self, "n_items", n_items)

    @property
    def n_triplets(self) -> int:
        """Number of statements."""
        return self.anchor.size

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Which items are in at least one triplet, shape (n_items,)."""
        linked = np.zeros(self.n_items, dtype=bool)
        for role in (self.anchor, self.positive, self.negative):
            linked[role] = True
        return linked

    def take(self, items: ArrayLike) -> TripletRelation:
        """Restrict to `items` (indices or a mask) and renumber: `items[k]` becomes item k."""
        new_number, n_taken = renumbering(items, self.n_items)
        roles = [new_number[role] for role in (self.anchor, self.positive, self.negative)]
        inside = np.logical_and.reduce([role >= 0 for role in roles])
        if not inside.any():
            raise ValueError(
                f"None of the {self.n_triplets} triplets lies within the {n_taken} items taken."
            )
        anchor, positive, negative = (role[inside] for role in roles)
        return TripletRelation(anchor, positive, negative, n_taken)

    def __len__(self) -> int:
        return self.n_triplets

    def __repr__(self) -> str:
        return f"TripletRelation({self.n_triplets:,} triplets over {self.n_items:,} items)"
