"""Codes of bits, eight to a byte: packed, unpacked, compared.

Bit r of a code is bit 7 − r mod 8 of byte r // 8, as `numpy.packbits` has it; what is left of the
last byte is 0, so that codes differ in no bit there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
CHUNK_BYTES = 2**24
"""Of the differences that are counted at a time."""


def pack_signs(values: NDArray[Any]) -> Codes:
    """Return a set bit for every number that is at least 0, shape (n, ⌈n_bits / 8⌉)."""
    return np.packbits(values >= 0, axis=1)


def unpack_signs(codes: Codes) -> NDArray[np.float32]:
    """Return 1 for a bit that is set and −1 for one that is not, 8 numbers a byte."""
    return np.unpackbits(codes, axis=1).astype(np.float32) * np.float32(2) - np.float32(1)


def bits_apart(left: Codes, right: Codes) -> NDArray[np.int64]:
    """Return in how many bits row k of both differ."""
    differences = np.bitwise_count(np.bitwise_xor(left, right))
    return np.asarray(differences.sum(axis=-1, dtype=np.int64))


def check_codes(name: str, codes: Any, n_bytes: int | None = None) -> Codes:
    """Return packed codes of shape (n, n_bytes), in C order; n may be 0."""
    table = np.asarray(codes)
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"{name} must have shape (n_items, n_bytes), got {table.shape}.")
    if table.dtype != np.uint8:
        raise TypeError(
            f"{name} must be codes packed into bytes (uint8) where metric='hamming', got "
            f"{table.dtype}: numpy.packbits(points >= 0, axis=1) takes signs."
        )
    if n_bytes is not None and table.shape[1] != n_bytes:
        raise ValueError(
            f"{name} has codes of {table.shape[1]} bytes, but the others have {n_bytes}: make "
            "both with the same model."
        )
    return np.ascontiguousarray(table)
