"""CIFAR-10's Python batches: pickles, opened without running anything that they name.

A pickle is a small program: it may name any function of any module and have it called. Here the few
names that a batch needs lead to stand-ins, which only keep what they are given, and every other
name, and every instruction that no batch needs, is refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

N_PIXELS = 3 * 32 * 32
DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError,
    OverflowError, MemoryError, RecursionError,
)  # fmt: skip
"""What a stream that is no pickle, or no whole one, raises."""

PYTHON_2 = (
    "PROTO", "MARK", "STOP", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET",
    "NONE", "NEWFALSE", "NEWTRUE", "BININT", "BININT1", "BININT2", "SHORT_BINSTRING", "BINSTRING",
    "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS",
    "EMPTY_DICT", "SETITEM", "SETITEMS", "GLOBAL", "REDUCE", "BUILD",
)  # fmt: skip
PYTHON_3 = (
    "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "MEMOIZE", "FRAME",
    "STACK_GLOBAL",
)  # fmt: skip
INSTRUCTIONS = frozenset(PYTHON_2 + PYTHON_3)
"""What the official batches are written with, and those that Python 3 wrote again."""


def read_python_batch(content: bytes, place: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images, shape (n, 3072), and labels, shape (n,), of one batch."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes in names, which are refused anyway
            _check_instructions(content)
        batch = _BatchUnpickler(io.BytesIO(content), encoding="bytes").load()
        fields = {k.decode() if isinstance(k, bytes) else k: v for k, v in batch.items()}
        images, labels = _as_images(fields["data"]), _as_labels(fields["labels"])
    except DAMAGE as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"{place} cannot be read as a batch of CIFAR-10 ({reason}): get it again."
        ) from error
    if len(images) != len(labels):
        raise ValueError(
            f"{place} is damaged, it holds {len(images)} images but {len(labels)} labels: get it "
            "again."
        )
    return images, labels


def _check_instructions(content: bytes) -> None:
    """Refuse, before any is followed, instructions that no batch needs or that ask for the world.

    Python's own reader makes its memo as large as the largest place that is named, so that one
    changed byte can take all memory.
    """
    for instruction, argument, position in pickletools.genops(content):
        if instruction.name not in INSTRUCTIONS:
            raise pickle.UnpicklingError(
                f"it has {instruction.name} at byte {position}, which no batch needs and which was "
                "not run"
            )
        if instruction.name == "LONG_BINPUT" and (argument or 0) > len(content):
            raise pickle.UnpicklingError(f"it names place {argument} of its memo")


class _KeptDtype:
    """Stands in for numpy.dtype: keeps the code of the type."""

    def __init__(self, code: bytes | str, *_: object) -> None:
        self.code = code.decode() if isinstance(code, bytes) else code

    def __setstate__(self, state: object) -> None:
        """Byte order and the like, which say nothing of bytes."""


class _KeptArray:
    """Stands in for numpy.ndarray: keeps what the array is to be made of."""

    shape: tuple[int, ...] = ()
    dtype: _KeptDtype | None = None
    order: Literal["C", "F"] = "C"
    content: bytes = b""

    def __init__(self, *_: object) -> None:
        """As numpy's own: an empty array, which the state then fills."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.dtype, is_by_columns, self.content = state
        self.order = "F" if is_by_columns else "C"


STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _KeptArray,
    ("numpy._core.multiarray", "_reconstruct"): _KeptArray,
    ("numpy", "ndarray"): _KeptArray,
    ("numpy", "dtype"): _KeptDtype,
    # How Python 3 writes bytes for Python 2; of strings only, so none of the other codecs.
    ("_codecs", "encode"): str.encode,
}


class _BatchUnpickler(pickle.Unpickler):
    """Reads numbers, strings, lists, dicts and arrays, and refuses all else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in STAND_INS:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, which no batch needs and which was not run"
            )
        return STAND_INS[module, name]


def _as_images(kept: Any) -> NDArray[np.uint8]:
    if not isinstance(kept, _KeptArray) or kept.dtype is None or kept.dtype.code != "u1":
        raise ValueError("its data is no array of bytes")
    if len(kept.shape) != 2 or kept.shape[1] != N_PIXELS:
        raise ValueError(f"its data has shape {kept.shape}, not (n, {N_PIXELS})")
    return np.frombuffer(kept.content, dtype=np.uint8).reshape(kept.shape, order=kept.order)


def _as_labels(kept: Any) -> NDArray[np.int64]:
    if not isinstance(kept, list) or not all(type(label) is int for label in kept):
        raise ValueError("its labels are no list of integers")
    return np.array(kept, dtype=np.int64)
