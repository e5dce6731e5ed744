"""What items are called: whole numbers or text, each name once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array
from twofold._core.frozen import frozen_copy


def check_keys(name: str, keys: ArrayLike, n_items: int | None = None) -> NDArray[Any]:
    """Return the names of items as a read-only array of int64 or str objects, shape (n_items,)."""
    called = as_array(name, keys)
    if called.ndim != 1 or n_items not in (None, called.size):
        wanted = "one name per item" if n_items is None else f"each of the {n_items} items"
        raise ValueError(f"{name} must name {wanted}, got shape {called.shape}.")
    called = _of_one_kind(name, called)
    _, first = np.unique(called, return_index=True)
    if first.size < called.size:
        again = np.setdiff1d(np.arange(called.size), first)
        raise ValueError(
            f"{name} must be different for every item; {again.size} are repeated, first at row "
            f"{again[0]} ({called[again[0]]!r})."
        )
    return frozen_copy(called)


def _of_one_kind(name: str, called: NDArray[Any]) -> NDArray[Any]:
    """Return keys as int64, or as str objects."""
    largest = np.iinfo(np.int64).max
    if called.dtype.kind in "iu":
        if called.size and called.max() > largest:
            raise ValueError(f"{name} must be at most {largest}, got {called.max()}: pass text.")
        return called.astype(np.int64)
    texts = called.astype(object)
    for key in texts:
        if not isinstance(key, str):
            raise TypeError(
                f"{name} must all be whole numbers or all be text, got {key!r} "
                f"({type(key).__name__})."
            )
    return texts
