"""What a fitted preparation is on disk: plain facts for a JSON file, and arrays beside it.

Whatever comes back was written by a stranger: each fact and each array is checked as it is taken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from twofold._core.reasons import reason_of
from twofold._core.text_files import parse_json

Facts = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
MOST_FEATURES = 2**24


def texts_to_array(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts as the bytes of a JSON list."""
    return np.frombuffer(json.dumps(list(texts)).encode("ascii"), dtype=np.uint8).copy()


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Facts and arrays of one thing, and what it is called where it is damaged.

    Attributes
    ----------
    name : str
        Such as "The preparation in model/, column 'title'".
    facts : mapping
        From JSON.
    arrays : mapping of str to ndarray
        From safetensors.
    """

    name: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def refuse(self, why: str) -> NoReturn:
        """Say what is damaged."""
        raise ValueError(f"{self.name} is damaged: {why}. Fit and save it again.")

    def within(self, key: str, label: str) -> Stored:
        """Return a mapping inside the facts, and the arrays whose names start with its key."""
        inner = self.facts.get(key)
        if not isinstance(inner, dict):
            self.refuse(f"{key!r} is missing")
        return Stored(label, inner, self.arrays_of(key))

    def arrays_of(self, prefix: str) -> Arrays:
        """Return the arrays whose names start with a prefix and a point, without it."""
        start = f"{prefix}."
        return {
            name.removeprefix(start): array
            for name, array in self.arrays.items()
            if name.startswith(start)
        }

    def fact(self, key: str, kind: type) -> Any:
        """Return a fact of a type; a whole number is a float too."""
        value: Any = self.facts.get(key)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            self.refuse(f"{key!r} must be {kind.__name__}, got {str(value)[:40]!r}")
        if isinstance(value, float) and not math.isfinite(value):
            self.refuse(f"{key!r} is not finite")
        return value

    def count(self, key: str) -> int:
        """Return a whole number that is not negative."""
        value: int = self.fact(key, int)
        if not 0 <= value <= 2**53:
            self.refuse(f"{key!r} is {value}")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Return one of a few words."""
        value: str = self.fact(key, str)
        if value not in choices:
            self.refuse(f"{key!r} is {value[:40]!r}")
        return value

    def numbers(self, key: str, size: int) -> NDArray[np.float32]:
        """Return an array of finite float32, shape (size,)."""
        array = self._array(key)
        if array.dtype != np.float32 or array.shape != (size,) or not np.isfinite(array).all():
            self.refuse(f"{key!r} must be {size} finite numbers, got {array.dtype}{array.shape}")
        return array

    def texts(self, key: str) -> tuple[str, ...]:
        """Return texts, each of them once."""
        array = self._array(key)
        if array.dtype != np.uint8 or array.ndim != 1:
            self.refuse(f"{key!r} must be bytes, got {array.dtype}{array.shape}")
        try:
            text = array.tobytes().decode("ascii")
            values = parse_json(text, key, "fit and save it again")
        except ValueError as error:
            self.refuse(reason_of(error))
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            self.refuse(f"{key!r} must be strings")
        if len(set(values)) != len(values) or len(values) > MOST_FEATURES:
            self.refuse(f"{key!r} has a string twice, or too many")
        return tuple(values)

    def _array(self, key: str) -> NDArray[Any]:
        array = self.arrays.get(key)
        if array is None:
            self.refuse(f"the array {key!r} is missing")
        return array


def write_arrays(file: Path, arrays: Arrays) -> None:
    """Write arrays to a .safetensors file."""
    from safetensors.numpy import save_file

    save_file(arrays, file)


def read_arrays(file: Path) -> Arrays:
    """Return the arrays of a .safetensors file."""
    from safetensors.numpy import load_file

    try:
        return dict(load_file(file))
    # safetensors' own errors are of several kinds; all of them are of this file.
    except Exception as error:
        raise ValueError(
            f"{file} cannot be read ({reason_of(error)}): fit and save the preparation again."
        ) from error
