"""Comparisons: the anchor is more like the positive than like the negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import (
    check_count,
    check_equal_lengths,
    check_n_items,
    own_item_ids,
)
from twofold._core.random import RandomState, as_generator
from twofold.relations._holding_out import n_held_out
from twofold.relations._renumbering import renumbering


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TripletRelation:
    """Statements that an anchor is more like a positive item than like a negative one.

    Parameters
    ----------
    anchor, positive, negative : array_like of int, shape (n_triplets,)
        Item indices; the three items of a triplet are different.
    n_items : int
        Number of items that the indices address.
    """

    anchor: NDArray[np.int64]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    n_items: int

    def __post_init__(self) -> None:
        n_items = check_n_items(self.n_items)
        anchor = own_item_ids("anchor", self.anchor, n_items)
        positive = own_item_ids("positive", self.positive, n_items)
        negative = own_item_ids("negative", self.negative, n_items)
        check_equal_lengths(anchor=anchor, positive=positive, negative=negative)
        if not anchor.size:
            raise ValueError("The relation is empty: state at least one triplet.")
        wrong = np.flatnonzero((anchor == positive) | (anchor == negative) | (positive == negative))
        if wrong.size:
            row = wrong[0]
            raise ValueError(
                f"{wrong.size} triplet(s) contain an item twice, first at row {row} "
                f"({anchor[row]}, {positive[row]}, {negative[row]}). Drop them: they compare "
                "nothing."
            )
        object.__setattr__(self, "anchor", anchor)
        object.__setattr__(self, "positive", positive)
        object.__setattr__(self, "negative", negative)
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

    def merge(self, other: TripletRelation) -> TripletRelation:
        """Return the statements of both, over the larger number of items."""
        if not isinstance(other, TripletRelation):
            raise TypeError(f"other must be a TripletRelation, got {type(other).__name__}.")
        return TripletRelation(
            np.concatenate([self.anchor, other.anchor]),
            np.concatenate([self.positive, other.positive]),
            np.concatenate([self.negative, other.negative]),
            max(self.n_items, other.n_items),
        )

    def over(self, n_items: int) -> TripletRelation:
        """Return the same statements over more items."""
        n_items = check_count("n_items", n_items, minimum=self.n_items)
        return TripletRelation(self.anchor, self.positive, self.negative, n_items)

    def without(self, triplets: ArrayLike) -> TripletRelation:
        """Return the relation without these statements.

        Parameters
        ----------
        triplets : array_like of int, shape (n, 3)
            Anchor, positive, negative; each must be stated.
        """
        table = np.asarray(triplets)
        if table.ndim != 2 or table.shape[1] != 3:
            raise ValueError(f"triplets must have shape (n_triplets, 3), got {table.shape}.")
        withdrawn = {tuple(row) for row in table.tolist()}
        stated = list(zip(*(role.tolist() for role in self._roles), strict=True))
        missing = withdrawn.difference(stated)
        if missing:
            raise ValueError(
                f"{len(missing)} triplet(s) cannot be withdrawn, because they were not stated; "
                f"first {min(missing)}."
            )
        remain = np.array([triplet not in withdrawn for triplet in stated])
        if not remain.any():
            raise ValueError("These are all the statements: nothing would remain.")
        return self._rows(remain)

    @property
    def _roles(self) -> tuple[NDArray[np.int64], ...]:
        return self.anchor, self.positive, self.negative

    def split(
        self, held_out: float | int, random_state: RandomState = None
    ) -> tuple[TripletRelation, TripletRelation]:
        """Split the statements at random into those kept and those held out.

        Equal triplets stay together. See `PairRelation.split`.
        """
        table = np.column_stack([self.anchor, self.positive, self.negative])
        _, group = np.unique(table, axis=0, return_inverse=True)
        n_groups = int(group.max()) + 1
        is_out = np.zeros(n_groups, dtype=bool)
        n_out = n_held_out(held_out, n_groups, "triplet")
        is_out[as_generator(random_state).permutation(n_groups)[:n_out]] = True
        out = is_out[group.ravel()]
        return self._rows(~out), self._rows(out)

    def _rows(self, rows: NDArray[np.bool_]) -> TripletRelation:
        return TripletRelation(
            self.anchor[rows], self.positive[rows], self.negative[rows], self.n_items
        )

    def __len__(self) -> int:
        return self.n_triplets

    def __repr__(self) -> str:
        return f"TripletRelation({self.n_triplets:,} triplets over {self.n_items:,} items)"
