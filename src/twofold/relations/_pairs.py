"""Explicit statements about pairs of items; whatever is not stated is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import (
    LARGEST_WEIGHT,
    check_count,
    check_equal_lengths,
    check_n_items,
    check_pairs,
    own_item_ids,
    refuse_masked,
)
from twofold._core.frozen import freeze
from twofold._core.random import RandomState, as_generator
from twofold._core.warnings import RelationWarning, unsaid
from twofold.relations._holding_out import n_held_out
from twofold.relations._pair_checks import (
    own_grades,
    own_weights,
    pair_keys,
    refuse_self_pairs,
    warn_of_contradictions,
)
from twofold.relations._renumbering import renumbering, taken_rows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairRelation:
    """Statements about pairs of items: alike (1), not alike (0), or in between.

    A pair that is stated twice counts twice. A pair may be stated both as alike and as not alike,
    which gives a warning.

    Parameters
    ----------
    left, right : array_like of int, shape (n_pairs,)
        Item indices; an item is never paired with itself, and the order of the two does not matter.
    similar : array_like of float, shape (n_pairs,)
        1 for alike, 0 for not alike, a grade in between.
    n_items : int
        Number of items that the indices address.
    weight : array_like of float, shape (n_pairs,), optional
        How much each statement counts; 1 by default.

    Examples
    --------
    >>> relation = PairRelation([0, 1], [1, 2], similar=[1, 0], n_items=3)
    >>> relation
    PairRelation(2 pairs over 3 items: 1 alike, 1 not alike)
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similar: NDArray[np.float32]
    n_items: int
    weight: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        n_items = check_n_items(self.n_items)
        left = own_item_ids("left", self.left, n_items)
        right = own_item_ids("right", self.right, n_items)
        similar = own_grades(self.similar)
        weight = None if self.weight is None else own_weights(self.weight)
        if weight is None:
            check_equal_lengths(left=left, right=right, similar=similar)
        else:
            check_equal_lengths(left=left, right=right, similar=similar, weight=weight)
        if not left.size:
            raise ValueError(
                "The relation is empty: state at least one pair of items as alike or not alike."
            )
        refuse_self_pairs(left, right)
        warn_of_contradictions(left, right, similar, n_items)
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)
        object.__setattr__(self, "similar", similar)
        object.__setattr__(self, "n_items", n_items)
        object.__setattr__(self, "weight", weight)

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike | Sequence[tuple[int, int]],
        similar: ArrayLike,
        n_items: int | None = None,
        weight: ArrayLike | None = None,
    ) -> PairRelation:
        """Create a relation from an (n_pairs, 2) array or a list of pairs.

        By default `n_items` is one more than the largest id; `similar` may be booleans.
        """
        refuse_masked("pairs", pairs)
        try:
            table = np.asarray(pairs)
        except ValueError:
            raise ValueError(
                "pairs must have two items in every row, but some rows do not."
            ) from None
        if table.size == 0:
            table = table.reshape(0, 2).astype(np.int64)
        left, right = check_pairs("pairs", table, n_items)
        if n_items is None:
            n_items = max(2, int(table.max()) + 1) if left.size else 2
        return cls(left, right, similar, n_items, weight)  # type: ignore[arg-type]

    @property
    def n_pairs(self) -> int:
        """Number of statements."""
        return self.left.size

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Which items are in at least one pair, shape (n_items,)."""
        linked = np.zeros(self.n_items, dtype=bool)
        linked[self.left] = True
        linked[self.right] = True
        return linked

    def take(self, items: ArrayLike) -> PairRelation:
        """Restrict to `items` and renumber: item `items[k]` becomes item k.

        Parameters
        ----------
        items : array_like of int or of bool
            Distinct item indices in their new order, or a mask over all items.
        """
        new_number, n_taken = renumbering(items, self.n_items)
        inside = (new_number[self.left] >= 0) & (new_number[self.right] >= 0)
        if not inside.any():
            raise ValueError(
                f"None of the {self.n_pairs} pairs lies within the {n_taken} items taken."
            )
        return self._rows(inside, new_number, n_taken)

    def take_pairs(self, rows: ArrayLike) -> PairRelation:
        """Return some of the statements, over the same items.

        Parameters
        ----------
        rows : array_like of int or of bool
            Rows of the statements, or a mask over all of them.
        """
        return self._rows(taken_rows("rows", rows, self.n_pairs), None, self.n_items)

    def merge(self, other: PairRelation) -> PairRelation:
        """Return the statements of both, over the larger number of items."""
        if not isinstance(other, PairRelation):
            raise TypeError(f"other must be a PairRelation, got {type(other).__name__}.")
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([_weight_or_ones(self), _weight_or_ones(other)])
        return PairRelation(
            np.concatenate([self.left, other.left]),
            np.concatenate([self.right, other.right]),
            np.concatenate([self.similar, other.similar]),
            max(self.n_items, other.n_items),
            weight,
        )

    def over(self, n_items: int) -> PairRelation:
        """Return the same statements over more items."""
        n_items = check_count("n_items", n_items, minimum=self.n_items)
        return self._rows(slice(None), None, n_items)

    def without(self, pairs: ArrayLike) -> PairRelation:
        """Return the relation without the statements about these pairs, in either order.

        Parameters
        ----------
        pairs : array_like of int, shape (n, 2)
            Pairs that have a statement.
        """
        left, right = check_pairs("pairs", pairs, self.n_items)
        stated = pair_keys(self.left, self.right, self.n_items)
        withdrawn = pair_keys(left, right, self.n_items)
        missing = np.flatnonzero(~np.isin(withdrawn, stated))
        if missing.size:
            first = missing[0]
            raise ValueError(
                f"{missing.size} pair(s) cannot be withdrawn, because there are no statements "
                f"about them; first items {left[first]} and {right[first]} (row {first})."
            )
        remain = ~np.isin(stated, withdrawn)
        if not remain.any():
            raise ValueError("These are all the statements: nothing would remain.")
        return self._rows(remain, None, self.n_items)

    def balanced(self) -> PairRelation:
        """Return the same statements, weighted so that both kinds count the same in total.

        In practice there are often ten pairs that are not alike for each that is. Grades count in
        part for both kinds; given weights are kept in proportion.
        """
        weight = _weight_or_ones(self).astype(np.float64)
        alike, unalike = weight @ self.similar, weight @ (1 - self.similar)
        if not (alike and unalike):
            return self
        half = weight.sum() / 2
        weight *= self.similar * (half / alike) + (1 - self.similar) * (half / unalike)
        weight *= min(1.0, LARGEST_WEIGHT / weight.max())
        with unsaid(RelationWarning):
            return PairRelation(
                self.left, self.right, self.similar, self.n_items, weight.astype(np.float32)
            )

    def split(
        self, held_out: float | int, random_state: RandomState = None
    ) -> tuple[PairRelation, PairRelation]:
        """Split the statements at random into those kept and those held out.

        All statements about the same two items, in either order, stay together, so that no held-out
        statement is known from the other part. Both kinds are held out in proportion.

        Parameters
        ----------
        held_out : float or int
            The share of pairs to hold out, in (0, 1), or their number.
        random_state : int, Generator or None
            Seed of the split.

        Returns
        -------
        kept, held_out : PairRelation
            Both over the same items.
        """
        rng = as_generator(random_state)
        _, first, pair = np.unique(
            pair_keys(self.left, self.right, self.n_items), return_index=True, return_inverse=True
        )
        n_out = n_held_out(held_out, first.size, "pair")
        is_alike = self.similar[first] > 0.5
        alike = rng.permutation(np.flatnonzero(is_alike))
        unalike = rng.permutation(np.flatnonzero(~is_alike))
        n_alike_out = round(n_out * alike.size / first.size)
        is_out = np.zeros(first.size, dtype=bool)
        is_out[alike[:n_alike_out]] = True
        is_out[unalike[: n_out - n_alike_out]] = True
        out = is_out[pair]
        return self.take_pairs(~out), self.take_pairs(out)

    def _rows(
        self, rows: NDArray[Any] | slice, new_number: NDArray[np.int64] | None, n_items: int
    ) -> PairRelation:
        """Return some statements, their items renumbered if new numbers are given."""
        left, right = self.left[rows], self.right[rows]
        if new_number is not None:
            left, right = new_number[left], new_number[right]
        with unsaid(RelationWarning):
            # Its contradictions were said when this relation was made.
            return PairRelation(
                freeze(left),
                freeze(right),
                freeze(self.similar[rows]),
                n_items,
                None if self.weight is None else freeze(self.weight[rows]),
            )

    def __len__(self) -> int:
        return self.n_pairs

    def __repr__(self) -> str:
        n_alike = int(np.count_nonzero(self.similar == 1))
        n_unalike = int(np.count_nonzero(self.similar == 0))
        n_graded = self.n_pairs - n_alike - n_unalike
        graded = f", {n_graded:,} graded" if n_graded else ""
        weighted = ", weighted" if self.weight is not None else ""
        return (
            f"PairRelation({self.n_pairs:,} pairs over {self.n_items:,} items: {n_alike:,} alike, "
            f"{n_unalike:,} not alike{graded}{weighted})"
        )


def check_pair_relation(relation: Any) -> None:
    """Refuse what is no PairRelation where statements about pairs are needed."""
    if not isinstance(relation, PairRelation):
        hint = ""
        if type(relation).__name__ == "LabelRelation":
            hint = " Its sample_pairs() draws pairs from the labels."
        raise TypeError(f"relation must be a PairRelation, got {type(relation).__name__}.{hint}")


def _weight_or_ones(relation: PairRelation) -> NDArray[np.float32]:
    if relation.weight is None:
        return np.ones(relation.n_pairs, dtype=np.float32)
    return relation.weight
