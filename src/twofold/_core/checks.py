"""Checks at the boundary: each turns a user's mistake into one sentence.

The sentence says what is wrong, where it is first, and the way out. Code behind the boundary
assumes valid input.
"""

from __future__ import annotations

from collections.abc import Collection, Sized
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.frozen import freeze, frozen_copy

MAX_ITEMS = 2**31 - 1
"""Solvers address items with 32-bit integers."""
LARGEST_WEIGHT = 1e30
"""Of a statement: many times it is still a number in float32."""


def as_array(name: str, values: Any) -> NDArray[Any]:
    """Return `values` as an array; refuse rows of different lengths, and values that are masked."""
    refuse_masked(name, values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array, but its rows differ in length.") from None


def refuse_masked(name: str, values: Any) -> None:
    """Refuse a masked array in which a value is masked: as a plain array it would count."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        masked = np.argwhere(np.ma.getmaskarray(values))
        raise ValueError(
            f"{name} has {len(masked)} masked value(s), first at row {masked[0][0]}: drop these "
            "rows, or fill them with values.filled(...)."
        )


def check_count(name: str, value: Any, minimum: int = 1) -> int:
    """Return `value` as an int that is at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__}).")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}.")
    return int(value)


def check_number(name: str, value: Any, minimum: float, *, strict: bool = False) -> float:
    """Return `value` as a finite float that is at least (`strict`: above) `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__}).")
    number = float(value)
    if not np.isfinite(number) or number < minimum or (strict and number == minimum):
        bound = "above" if strict else "at least"
        raise ValueError(f"{name} must be finite and {bound} {minimum:g}, got {number:g}.")
    return number


def check_share(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1)."""
    share = check_number(name, value, 0)
    if share >= 1:
        raise ValueError(f"{name} must be below 1, got {share:g}.")
    return share


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Refuse a `value` that is not one of `choices`."""
    if value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")


def check_callable(name: str, value: Any) -> None:
    """Refuse a `value` that is neither None nor can be called."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be callable or None, got {value!r}.")


def check_n_items(value: Any) -> int:
    """Return a number of items that can carry a relation: at least 2, at most `MAX_ITEMS`."""
    n_items = check_count("n_items", value, minimum=0)
    if n_items < 2:
        raise ValueError(f"n_items must be at least 2 to form a pair, got {n_items}.")
    if n_items > MAX_ITEMS:
        raise ValueError(f"n_items must be at most {MAX_ITEMS}, got {n_items}. {_RENUMBER}")
    return n_items


_RENUMBER = (
    "Item ids are row numbers 0 .. n_items - 1: turn keys into them with "
    "np.unique(ids, return_inverse=True)."
)


def check_item_ids(name: str, values: ArrayLike, n_items: int | None = None) -> NDArray[np.int64]:
    """Return item ids as int64, each in 0 .. `n_items` - 1 (`MAX_ITEMS` - 1 if None)."""
    ids = as_array(name, values)
    if ids.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {ids.shape}.")
    if ids.size and ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must hold integers, got {ids.dtype} (first: {ids[0]!r}). {_RENUMBER}"
        )
    bound = MAX_ITEMS if n_items is None else n_items
    # Two passes that make no array: the usual case is that all is well.
    if ids.size and (ids.min() < 0 or ids.max() >= bound):
        wrong = np.flatnonzero((ids < 0) | (ids >= bound))
        raise ValueError(
            f"{name} has {wrong.size} item id(s) outside 0 .. {bound - 1}, first at row "
            f"{wrong[0]} (item {ids[wrong[0]]}). {_RENUMBER}"
        )
    return ids.astype(np.int64, copy=False)


def own_item_ids(name: str, values: ArrayLike, n_items: int) -> NDArray[np.int64]:
    """Return item ids as a read-only copy; it is the copy that is checked: see `check_item_ids`."""
    ids = check_item_ids(name, frozen_copy(as_array(name, values)), n_items)
    return freeze(ids) if ids.flags.writeable else ids


def check_pairs(
    name: str, values: ArrayLike, n_items: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of item ids, shape (n_pairs, 2), as two checked arrays; see `check_item_ids`."""
    table = as_array(name, values)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"{name} must have shape (n_pairs, 2), got {table.shape}.")
    left = check_item_ids(f"{name}[:, 0]", table[:, 0], n_items)
    return left, check_item_ids(f"{name}[:, 1]", table[:, 1], n_items)


def check_equal_lengths(**arrays: Sized) -> None:
    """Refuse arrays whose first dimensions differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"Every statement needs one entry in each array, but {found}.")
