"""Ids of indexed items: anything that can be a key of a dict, each id once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = (str, int, float, bool, type(None))
"""What JSON gives back as it was; tuples of these are kept as lists."""
LARGEST_INT = 2**63 - 1


def check_ids(name: str, ids: Any) -> list[Hashable]:
    """Return ids as plain Python objects that differ from each other and can be looked up."""
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {ids.shape}.")
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise TypeError(f"{name} must be a sequence with one id per item, got {ids!r}.")
    plain = ids.tolist() if isinstance(ids, np.ndarray) else [_plain(one) for one in ids]
    try:
        if len(set(plain)) == len(plain) and not any(one != one for one in plain):
            return plain
    except TypeError:
        row = next(row for row, one in enumerate(plain) if not _is_hashable(one))
        raise TypeError(
            f"{name} must be whole numbers, text or tuples of them; the one at row {row} is a "
            f"{type(plain[row]).__name__}, which cannot be used as an id."
        ) from None
    _refuse_repeated(name, plain)
    return plain


def _refuse_repeated(name: str, plain: list[Hashable]) -> None:
    seen: set[Hashable] = set()
    for row, one in enumerate(plain):
        if one != one:
            raise ValueError(f"{name} must not be NaN, first at row {row}: give that item an id.")
        if one in seen:
            raise ValueError(
                f"{name} must be different for every item; {len(plain) - len(set(plain))} are "
                f"repeated, first at row {row} ({one!r})."
            )
        seen.add(one)


def _plain(one: Any) -> Any:
    return one.item() if isinstance(one, np.generic) else one


def _is_hashable(one: Any) -> bool:
    try:
        hash(one)
    except TypeError:
        return False
    return True


def as_id_array(ids: Sequence[Hashable]) -> NDArray[Any]:
    """Return ids as an array: int64 where all are whole numbers that fit, else objects."""
    if all(type(one) is int and -LARGEST_INT <= one <= LARGEST_INT for one in ids):
        return np.array(ids, dtype=np.int64)
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def as_json(ids: Sequence[Hashable]) -> list[Any]:
    """Return ids as JSON takes them, tuples as lists; refuse what it would not give back."""
    return [_encoded(one) for one in ids]


def _encoded(one: Any) -> Any:
    if isinstance(one, tuple):
        return [_encoded(part) for part in one]
    if type(one) not in PLAIN or (isinstance(one, float) and not np.isfinite(one)):
        raise TypeError(
            f"The id {one!r} cannot be saved: ids in a file must be whole numbers, text, or "
            "tuples of these. Convert it to text."
        )
    return one


def from_json(values: Any) -> list[Hashable]:
    """Return ids as `as_json` was given them."""
    if not isinstance(values, list):
        raise ValueError("ids are not a list")
    return [_decoded(one) for one in values]


def _decoded(one: Any) -> Hashable:
    if isinstance(one, list):
        return tuple(_decoded(part) for part in one)
    if isinstance(one, dict):
        raise ValueError("an id is an object")
    return one  # type: ignore[no-any-return]
