"""Writes CIFAR-10's Python batches as Python 2 wrote the official ones, opcode by opcode."""

import struct

import numpy as np


def python_2_batch(data: np.ndarray, labels: list[int]) -> bytes:
    """Return the pickle, protocol 2, of {"batch_label", "labels", "data", "filenames"}."""
    return b"".join(
        [
            b"\x80\x02}(",
            _string(b"batch_label") + _string(b"training batch 1 of 5"),
            _string(b"labels") + b"](" + b"".join(map(_integer, labels)) + b"e",
            _string(b"data") + _array(data),
            _string(b"filenames") + b"](" + _string(b"a.png") * len(data) + b"e",
            b"u.",
        ]
    )


def _array(data: np.ndarray) -> bytes:
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" + _string(b"b")
    dtype = b"cnumpy\ndtype\n" + _string(b"u1") + b"K\0K\x01\x87R(K\x03" + _string(b"|")
    shape = b"".join(map(_integer, data.shape)) + b"\x86"
    state = b"(K\x01" + shape + dtype + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89"
    return empty + b"\x87R" + state + _string(data.tobytes()) + b"tb"


def _string(value: bytes) -> bytes:
    if len(value) < 256:
        return b"U" + bytes([len(value)]) + value
    return b"T" + struct.pack("<i", len(value)) + value


def _integer(value: int) -> bytes:
    return b"K" + bytes([value]) if value < 256 else b"J" + struct.pack("<i", value)
