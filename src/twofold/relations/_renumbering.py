"""Restricting a relation to some items: which old item becomes which new one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_item_ids


def taken_items(items: ArrayLike, n_items: int) -> NDArray[np.int64]:
    """Return distinct item indices from indices or a mask over all items."""
    given = np.asarray(items)
    if given.dtype == bool:
        if given.shape != (n_items,):
            raise ValueError(f"A mask of items must have shape ({n_items},), got {given.shape}.")
        return np.flatnonzero(given)
    ids = check_item_ids("items", given, n_items)
    if np.unique(ids).size < ids.size:
        order = np.argsort(ids, kind="stable")
        repeated = order[1:][ids[order][1:] == ids[order][:-1]]
        raise ValueError(
            f"items must be distinct, but {repeated.size} come again, first at row "
            f"{repeated.min()} (item {ids[repeated.min()]})."
        )
    return ids


def renumbering(items: ArrayLike, n_items: int) -> tuple[NDArray[np.int64], int]:
    """Return the new number of every old item (-1 if it is not taken) and how many are taken."""
    taken = taken_items(items, n_items)
    new_number = np.full(n_items, -1, dtype=np.int64)
    new_number[taken] = np.arange(taken.size)
    return new_number, taken.size
