"""Points to compare: checked once, so that the following code can assume finite rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Metric = Literal["euclidean", "dot", "cosine", "hamming"]
"""How two points are compared: −‖a − b‖, a·b, a·b / ‖a‖‖b‖, or minus the number of bits that differ
in two codes that are packed into bytes; large for the alike."""


def check_points(name: str, points: ArrayLike) -> NDArray[Any]:
    """Return `points` as an array of finite real numbers, shape (n_items, dim), neither of them 0.

    float32, float64 and bytes stay what they are; other numbers become float64.
    """
    table = np.asarray(points)
    if table.ndim != 2:
        raise ValueError(f"{name} must have shape (n_items, dim), got {table.shape}.")
    if not table.size:
        raise ValueError(f"{name} is empty (shape {table.shape}): there is nothing to compare.")
    if table.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got {table.dtype} (first: {table[0, 0]!r}).")
    if table.dtype not in (np.float32, np.float64, np.uint8):
        table = table.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if wrong.size:
        row = wrong[0]
        column = np.flatnonzero(~np.isfinite(table[row]))[0]
        raise ValueError(
            f"{name} must be finite; {wrong.size} row(s) are not, first row {row} "
            f"({table[row, column]} in column {column}). Leave those rows out."
        )
    return table


def check_same_space(**tables: NDArray[Any]) -> None:
    """Refuse points whose numbers of dimensions differ."""
    dims = {name: table.shape[1] for name, table in tables.items()}
    if len(set(dims.values())) > 1:
        each = ", ".join(f"{name} has {dim}" for name, dim in dims.items())
        raise ValueError(f"Points are compared in one space, but their dimensions differ: {each}.")


def directions(table: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of `table` at length 1; a zero row stays zero."""
    # Divided by the largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(table).max(axis=1, keepdims=True, initial=0)
    table = table / np.where(largest == 0, 1, largest)
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(lengths == 0, 1, lengths))
