"""Numbers as float32, which networks, targets and maps work in: what it cannot hold is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)
N_LOOKED_AT = 64


def as_float32(name: str, array: Any) -> Any:
    """Return a dense or sparse array of numbers as float32; see `refuse_beyond_float32`."""
    refuse_beyond_float32(name, array)
    return array.astype(np.float32, copy=False)


def refuse_beyond_float32(name: str, array: Any, *, is_finite: bool = False) -> None:
    """Refuse numbers that float32 makes infinite, and columns of which it leaves nothing but 0.

    Parameters
    ----------
    name : str
        Of the array, in the sentence.
    array : ndarray or sparse matrix of numbers, n_items rows
        Any shape; of more than two dimensions every number of an item is a column.
    is_finite : bool
        Whether all are known to be finite already, which saves most passes over float32.
    """
    values = array.data if sparse.issparse(array) else array
    if values.dtype.kind != "f" or not values.size:
        return
    if is_finite and values.dtype == np.float32 and _is_seen_large(values):
        return
    # Two passes that make no array, and NaN shows in both.
    lowest, highest = float(values.min()), float(values.max())
    if not (lowest >= -LARGEST and highest <= LARGEST):
        _refuse_large(name, array)
    if values.dtype.itemsize > 4 or max(-lowest, highest) < SMALLEST:
        _refuse_vanishing(name, array)


def _is_seen_large(values: NDArray[np.float32]) -> bool:
    """Whether some of the numbers, looked at without a pass over all, are not next to 0."""
    some = values[:: max(1, len(values) // N_LOOKED_AT)]
    return bool(np.abs(some).max() >= SMALLEST)


def _refuse_large(name: str, array: Any) -> None:
    values = array.data if sparse.issparse(array) else array
    wrong = np.argwhere(~(np.abs(values) <= LARGEST))
    first = values[tuple(wrong[0])]
    row = _row(array, int(wrong[0][0]))
    if not np.isfinite(first):
        raise ValueError(
            f"{name} must hold finite numbers; {len(wrong)} are not, first in row {row}."
        )
    raise ValueError(
        f"{name} must hold numbers up to {LARGEST:.2g}, the largest number in float32; "
        f"{len(wrong)} are larger, first in row {row} ({first:.3g}). Divide the column by a "
        "number."
    )


def _refuse_vanishing(name: str, array: Any) -> None:
    """Refuse a column that float32 rounds to 0 everywhere, although it is not 0."""
    largest = _largest_by_column(array)
    lost = np.flatnonzero((largest > 0) & (largest < SMALLEST))
    if lost.size:
        column = f"column {lost[0]} of {name}" if largest.size > 1 else name
        raise ValueError(
            f"{column[0].upper()}{column[1:]} is at most {largest[lost[0]]:.3g}, which becomes 0 "
            f"in float32: {SMALLEST:.2g} is the smallest number there. Multiply the values by a "
            "constant."
        )


def _largest_by_column(array: Any) -> NDArray[Any]:
    if sparse.issparse(array):
        return np.asarray(abs(array).max(axis=0).toarray()).ravel()
    table = array.reshape(len(array), -1)
    return np.asarray(np.maximum(table.max(axis=0), -table.min(axis=0)))


def _row(array: Any, place: int) -> int:
    """Return the row of an entry of `data`, or of an array."""
    if not sparse.issparse(array):
        return place
    return int(array.tocoo().row[place])
