"""Checks of statements about pairs: numbers in range, two items, contradictions reported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import LARGEST_WEIGHT, as_array
from twofold._core.frozen import freeze, frozen_copy
from twofold._core.warnings import RelationWarning, warn_user

SMALLEST_WEIGHT = 1 / LARGEST_WEIGHT
"""Of the largest one: what lies beyond either is lost in float32, summed over the statements."""

PLACES_A_PAIR = 8
"""That hashes of pairs fall on, a byte each."""
BLOCK = 2**16
"""Pairs that are hashed at a time, so that they stay in the cache."""
MULTIPLIERS = np.array([0x9E3779B1, 0x85EBCA77], dtype=np.uint32)
"""Odd, with bits all over: they spread numbers that lie close."""


def own_grades(values: Any) -> NDArray[np.float32]:
    """Return what pairs state as a read-only copy of float32, each in [0, 1]."""
    similar = _own_numbers("similar", values)
    # NaN fails both comparisons, and passes through min and max.
    if similar.size and not (similar.min() >= 0 and similar.max() <= 1):
        wrong = np.flatnonzero(~((similar >= 0) & (similar <= 1)))
        value = similar[wrong[0]]
        hint = " For {+1, -1} pass (y + 1) / 2." if value == -1 else ""
        raise ValueError(
            f"similar must be 1 for alike, 0 for not alike, or a grade in between; {wrong.size} "
            f"value(s) are not in [0, 1], first at row {wrong[0]} ({value:g}).{hint}"
        )
    return _as_float32(similar)


def own_weights(values: Any) -> NDArray[np.float32]:
    """Return the weights of pairs as a read-only copy of float32, some above 0."""
    weight = _own_numbers("weight", values)
    if weight.size and not (weight.min() >= 0 and weight.max() <= LARGEST_WEIGHT):
        wrong = np.flatnonzero(~((weight >= 0) & (weight <= LARGEST_WEIGHT)))
        raise ValueError(
            f"weight must be finite, not negative and at most {LARGEST_WEIGHT:g}; {wrong.size} "
            f"value(s) are not, first at row {wrong[0]} ({weight[wrong[0]]:g}). Only proportions "
            "count: divide all of them by the largest."
        )
    if weight.size and 0 < weight.max() < SMALLEST_WEIGHT:
        raise ValueError(
            f"weight must not be below {SMALLEST_WEIGHT:g} everywhere, got at most "
            f"{weight.max():g}. Only proportions count: divide all of them by the largest."
        )
    if weight.size and not weight.any():
        raise ValueError("weight is 0 for every pair, so that there is no statement.")
    return _as_float32(weight)


def _own_numbers(name: str, values: Any) -> NDArray[Any]:
    """Return numbers as a read-only copy, which is what is checked."""
    array = as_array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}.")
    if array.size and array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got {array.dtype} (first: {array[0]!r}).")
    return frozen_copy(array)


def _as_float32(array: NDArray[Any]) -> NDArray[np.float32]:
    return array if array.dtype == np.float32 else freeze(array.astype(np.float32))


def refuse_self_pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    """Refuse pairs of an item with itself."""
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


def warn_of_contradictions(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    similar: NDArray[np.float32],
    n_items: int,
) -> None:
    """Count the pairs that are stated both above and below one half, and name the first."""
    rows = _perhaps_contradicted(left, right, similar)
    keys = pair_keys(left[rows], right[rows], n_items)
    # Sorting the keys with their side in the last bit costs one sort and no index array.
    sided = np.sort(keys * 2 + (similar[rows] > 0.5))
    both = sided[1:][(sided[1:] - sided[:-1] == 1) & (sided[1:] % 2 == 1)] // 2
    if both.size:
        row = int(rows[np.isin(keys, both)].min())
        warn_user(
            f"{both.size} pair(s) are stated both as alike and as not alike, first items "
            f"{left[row]} and {right[row]} (row {row}). Both statements are kept.",
            RelationWarning,
        )


def _perhaps_contradicted(
    left: NDArray[np.int64], right: NDArray[np.int64], similar: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Return the rows whose pair has a hash that occurs both above and below one half.

    Of pairs that are stated once about one in ten has, which leaves little to sort: 20 M pairs take
    a third of the time that sorting them all does.
    """
    n_fewer = min(np.count_nonzero(similar > 0.5), np.count_nonzero(similar < 0.5))
    if not n_fewer:
        return np.empty(0, dtype=np.int64)
    n_bits = min(32, (PLACES_A_PAIR * int(n_fewer)).bit_length())
    sides = np.zeros(2**n_bits, dtype=np.uint8)  # 1: alike, 2: both
    parts = [slice(first, first + BLOCK) for first in range(0, len(left), BLOCK)]
    hashes = [_hashes(left[part], right[part], n_bits) for part in parts]
    for part, places in zip(parts, hashes, strict=True):
        sides[places[similar[part] > 0.5]] = 1
    rows = []
    for part, places in zip(parts, hashes, strict=True):
        unalike = np.flatnonzero(similar[part] < 0.5)
        is_met = sides.take(places[unalike]) > 0
        sides[places[unalike[is_met]]] = 2
        rows.append(unalike[is_met] + part.start)
    for part, places in zip(parts, hashes, strict=True):
        alike = np.flatnonzero(similar[part] > 0.5)
        rows.append(alike[sides.take(places[alike]) == 2] + part.start)
    return np.concatenate(rows)


def _hashes(left: NDArray[np.int64], right: NDArray[np.int64], n_bits: int) -> NDArray[np.uint32]:
    """Return a number below 2 ** `n_bits` for each pair, the same whichever item comes first."""
    ends = left.astype(np.uint32), right.astype(np.uint32)
    low: NDArray[np.uint32] = np.minimum(*ends) * MULTIPLIERS[0]
    high: NDArray[np.uint32] = np.maximum(*ends) * MULTIPLIERS[1]
    low ^= high >> np.uint32(15)
    low += high
    low >>= np.uint32(32 - n_bits)
    return low
