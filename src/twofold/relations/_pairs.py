"""Explicit statements about pairs of items; whatever is not stated is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import (
    check_count,
    check_equal_lengths,
    check_item_ids,
    check_n_items,
    check_pairs,
    frozen_view,
)
from twofold._core.random import RandomState, as_generator
from twofold._core.warnings import RelationWarning, unsaid, warn_user
from twofold.relations._holding_out import n_held_out
from twofold.relations._renumbering import renumbering


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairRelation:
    """Statements about pairs of items: alike (1), not alike (0), or in between.

    A pair that is stated twice counts twice. A pair that is stated both as alike and as not alike
    is allowed and warned about.

    Parameters
    ----------
    left, right : array_like of int, shape (n_pairs,)
        Item indices; an item is never paired with itself, and the order of the two is of no
        meaning.
    similar : array_like of float, shape (n_pairs,)
        1 for alike, 0 for not alike, a grade in between.
    n_items : int
        Number of items that the indices address.
    weight : array_like of float, shape (n_pairs,), optional
        How much a statement counts; 1 where it is not given.

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
        left = check_item_ids("left", self.left, n_items)
        right = check_item_ids("right", self.right, n_items)
        similar = _check_similar(self.similar)
        weight = None if self.weight is None else _check_weight(self.weight)
        if weight is None:
            check_equal_lengths(left=left, right=right, similar=similar)
        else:
            check_equal_lengths(left=left, right=right, similar=similar, weight=weight)
        if not left.size:
            raise ValueError(
                "The relation is empty: state at least one pair of items as alike or not alike."
            )
        _refuse_self_pairs(left, right)
        _warn_of_contradictions(left, right, similar, n_items)
        object.__setattr__(self, "left", frozen_view(left))
        object.__setattr__(self, "right", frozen_view(right))
        object.__setattr__(self, "similar", frozen_view(similar))
        object.__setattr__(self, "n_items", n_items)
        object.__setattr__(self, "weight", None if weight is None else frozen_view(weight))

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike | Sequence[tuple[int, int]],
        similar: ArrayLike,
        n_items: int | None = None,
        weight: ArrayLike | None = None,
    ) -> PairRelation:
        """Make a relation from an (n_pairs, 2) array or a list of pairs.

        `n_items` is one more than the largest id if it is not given; `similar` may be booleans.
        """
        try:
            table = np.asarray(pairs)
        except ValueError:
            raise ValueError("pairs must have two items in every row, but some have not.") from None
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
        return self._rows(np.asarray(rows), np.arange(self.n_items), self.n_items)

    def merge(self, other: PairRelation) -> PairRelation:
        """Return the statements of both; the larger number of items counts."""
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
        return self._rows(np.ones(self.n_pairs, dtype=bool), np.arange(n_items), n_items)

    def without(self, pairs: ArrayLike) -> PairRelation:
        """Take statements back: all about these pairs, whichever item comes first.

        Parameters
        ----------
        pairs : array_like of int, shape (n, 2)
            Each must be stated.
        """
        left, right = check_pairs("pairs", pairs, self.n_items)
        stated = pair_keys(self.left, self.right, self.n_items)
        withdrawn = pair_keys(left, right, self.n_items)
        missing = np.flatnonzero(~np.isin(withdrawn, stated))
        if missing.size:
            first = missing[0]
            raise ValueError(
                f"{missing.size} pair(s) cannot be taken back, because nothing is stated about "
                f"them; first items {left[first]} and {right[first]} (row {first})."
            )
        remain = ~np.isin(stated, withdrawn)
        if not remain.any():
            raise ValueError("These are all the statements there are: nothing would remain.")
        return self._rows(remain, np.arange(self.n_items), self.n_items)

    def balanced(self) -> PairRelation:
        """Return the same statements, weighted so that the two kinds count alike in all.

        Real pairs are often ten not alike for one alike. Grades count in part for both kinds;
        weights that were there are kept in proportion.
        """
        weight = _weight_or_ones(self).astype(np.float64)
        alike, unalike = weight @ self.similar, weight @ (1 - self.similar)
        if not (alike and unalike):
            return self
        half = weight.sum() / 2
        weight *= self.similar * (half / alike) + (1 - self.similar) * (half / unalike)
        with unsaid(RelationWarning):
            return PairRelation(
                self.left, self.right, self.similar, self.n_items, weight.astype(np.float32)
            )

    def split(
        self, held_out: float | int, random_state: RandomState = None
    ) -> tuple[PairRelation, PairRelation]:
        """Part the statements at random into those kept and those held out.

        All statements about one pair of items stay together, whichever comes first, so that
        nothing held out is known from the other part. Alike and not alike are held out in
        proportion.

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
        self, rows: NDArray[Any], new_number: NDArray[np.int64], n_items: int
    ) -> PairRelation:
        """Return some statements, their items renumbered."""
        with unsaid(RelationWarning):
            # Its contradictions were said when this relation was made.
            return PairRelation(
                new_number[self.left[rows]],
                new_number[self.right[rows]],
                self.similar[rows],
                n_items,
                None if self.weight is None else self.weight[rows],
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


def _check_similar(values: Any) -> NDArray[np.float32]:
    similar = _check_numbers("similar", values)
    wrong = np.flatnonzero(~((similar >= 0) & (similar <= 1)))
    if wrong.size:
        value = similar[wrong[0]]
        hint = " For {+1, -1} pass (y + 1) / 2." if value == -1 else ""
        raise ValueError(
            f"similar must be 1 for alike, 0 for not alike, or a grade in between; {wrong.size} "
            f"value(s) are not in [0, 1], first at row {wrong[0]} ({value:g}).{hint}"
        )
    return similar.astype(np.float32, copy=False)


def _check_weight(values: Any) -> NDArray[np.float32]:
    weight = _check_numbers("weight", values)
    wrong = np.flatnonzero(~((weight >= 0) & (weight <= np.finfo(np.float32).max)))
    if wrong.size:
        raise ValueError(
            f"weight must be finite and not negative; {wrong.size} value(s) are not, first at row "
            f"{wrong[0]} ({weight[wrong[0]]:g})."
        )
    if weight.size and not weight.any():
        raise ValueError("weight is 0 for every pair, so that nothing is stated.")
    return weight.astype(np.float32, copy=False)


def _check_numbers(name: str, values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}.")
    if array.size and array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got {array.dtype} (first: {array[0]!r}).")
    return array


def _refuse_self_pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    self_pairs = np.flatnonzero(left == right)
    if self_pairs.size:
        raise ValueError(
            f"{self_pairs.size} pair(s) join an item to itself, first at row {self_pairs[0]} "
            f"(item {left[self_pairs[0]]}). Drop them: they say nothing about the relation."
        )


def pair_keys(left: NDArray[np.int64], right: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """Return one number for each pair of items, the same whichever comes first.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Item indices below `n_items`, which are not checked.
    n_items : int
        Number of items, at most 2³¹, beyond which the numbers could overflow.

    Returns
    -------
    keys : ndarray of int64, shape (n_pairs,)
        min(left, right) · n_items + max(left, right).
    """
    return np.minimum(left, right) * n_items + np.maximum(left, right)


def _warn_of_contradictions(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    similar: NDArray[np.float32],
    n_items: int,
) -> None:
    """Count the pairs that are stated both above and below one half, and name the first."""
    keys = pair_keys(left, right, n_items)
    alike, unalike = similar > 0.5, similar < 0.5
    # Sorting the keys with their side in the last bit costs one sort and no index array.
    sided = np.sort(keys[alike | unalike] * 2 + alike[alike | unalike])
    both = sided[1:][(sided[1:] - sided[:-1] == 1) & (sided[1:] % 2 == 1)] // 2
    if both.size:
        row = int(np.flatnonzero(np.isin(keys, both))[0])
        warn_user(
            f"{both.size} pair(s) are stated both as alike and as not alike, first items "
            f"{left[row]} and {right[row]} (row {row}). Both statements are kept.",
            RelationWarning,
        )


def _weight_or_ones(relation: PairRelation) -> NDArray[np.float32]:
    if relation.weight is None:
        return np.ones(relation.n_pairs, dtype=np.float32)
    return relation.weight
