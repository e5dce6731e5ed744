"""Processes that fit together must be given the same: this is refused before they wait."""

from __future__ import annotations

import zlib
from dataclasses import fields
from typing import Any

import numpy as np

from twofold.regression import item_shape, n_rows, workers
from twofold.relations import Relation

N_COMPARED = 64
"""Rows of features, spread evenly, whose bytes are compared."""


def refuse_different_data(X: Any, relation: Relation, device: str) -> None:
    """Refuse features or statements that are others than the first process has.

    Such as a part for each, as data loaders have it: here every process is given all.
    """
    together = workers(device)
    if together.n_processes == 1:
        return
    together.refuse_different(
        {
            "rows of X": n_rows(X),
            "shape of an item": item_shape(X),
            "items in the labels or statements": relation.n_items,
        }
    )
    together.refuse_different(
        {
            "checksum of the features": _checksum(_some_rows(X)),
            "checksum of the labels or statements": _checksum_of_all(relation),
        }
    )


def _some_rows(X: Any) -> Any:
    if not isinstance(X, np.ndarray):
        return None
    return X[np.linspace(0, len(X) - 1, min(len(X), N_COMPARED)).astype(int)]


def _checksum_of_all(relation: Relation) -> int:
    parts = [_checksum(getattr(relation, field.name)) for field in fields(relation)]
    return _checksum(np.array(parts))


def _checksum(values: Any) -> int:
    """Return a number that other arrays hardly have; 0 for what is no array of numbers."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufU":
        return 0
    return zlib.crc32(np.ascontiguousarray(values).tobytes())
