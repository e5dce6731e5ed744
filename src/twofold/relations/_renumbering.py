"""Restricting a relation to some items: which old item becomes which new one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_item_ids


def taken_items(items: ArrayLike, n_items: int) -> NDArray[np.int64]:
    """Return distinct item indices from indices or a mask over all items."""
    given = as_array("items", items)
    if given.dtype == bool:
        if given.shape != (n_items,):
            raise ValueError(f"A mask of items must have shape ({n_items},), got {given.shape}.")
        return np.flatnonzero(given)
    ids = check_item_ids("items", given, n_items)
    if np.unique(ids).size < ids.size:
        order = np.argsort(ids, kind="stable")
        repeated = order[1:][ids[order][1:] == ids[order][:-1]]
        raise ValueError(
            f"items must be distinct, but {repeated.size} are repeated, first at row "
            f"{repeated.min()} (item {ids[repeated.min()]})."
        )
    return ids


def taken_rows(name: str, rows: ArrayLike, n_rows: int) -> NDArray[np.int64] | NDArray[np.bool_]:
    """Return row numbers, or a mask over all rows, that lie within `n_rows`; some may repeat."""
    given = as_array(name, rows)
    if given.dtype == bool:
        if given.shape != (n_rows,):
            raise ValueError(f"A mask of {name} must have shape ({n_rows},), got {given.shape}.")
        return given
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"{name} must be row numbers, or a mask over all {n_rows}, got {given.dtype} of shape "
            f"{given.shape}."
        )
    wrong = np.flatnonzero((given < 0) | (given >= n_rows))
    if wrong.size:
        raise ValueError(
            f"{name} has {wrong.size} number(s) outside 0 .. {n_rows - 1}, first at position "
            f"{wrong[0]} ({given[wrong[0]]}): there are {n_rows} statements."
        )
    return given.astype(np.int64, copy=False)


def renumbering(items: ArrayLike, n_items: int) -> tuple[NDArray[np.int64], int]:
    """Return the new number of every old item (-1 if it is not taken) and how many are taken."""
    taken = taken_items(items, n_items)
    new_number = np.full(n_items, -1, dtype=np.int64)
    new_number[taken] = np.arange(taken.size)
    return new_number, taken.size
