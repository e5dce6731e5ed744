"""What a client sends as items: rows of a table, vectors, or pictures, as the model takes them.

Each kind is read from JSON, and becomes features later, in the thread that embeds.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from twofold._core.float32 import as_float32
from twofold._core.names import shown_names
from twofold._core.numpy_files import parse_npy
from twofold.datasets import Records
from twofold.preparation import ImagePreparation
from twofold.tasks import PreparedModel

Schema = dict[str, Any]
Features = Callable[[], Any]
"""Makes features of items."""
NAME = Path("The request")
PLAIN = (str, int, float, bool, type(None), list)


class Items(Protocol):
    """How one kind of items is read."""

    @property
    def schema(self) -> Schema:
        """JSON schema of one item."""

    @property
    def example(self) -> Any:
        """One item, short enough to be shown."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """Of bodies that are no JSON."""

    def read(self, items: list[Any]) -> Features:
        """Return what makes features of items from JSON; refuse those that are none."""

    def parse(self, content: bytes) -> tuple[int, Features]:
        """Return the number of items in a body that is no JSON, and what makes their features."""


def items_of(model: PreparedModel) -> Items:
    """Return how a model's items are read."""
    learner = model.learner
    if isinstance(model.preparation, ImagePreparation):
        return Pictures(model.preparation)
    if model.source == "table":
        return TableRows(model)
    n_features = getattr(learner, "n_features_in_", None)
    shape = tuple(learner.input_shape_) or (() if n_features is None else (n_features,))
    return Vectors(shape)


@dataclass(frozen=True, slots=True)
class Vectors:
    """Features as numbers: a list for each item, in the shape that was fitted or flat.

    Attributes
    ----------
    shape : tuple of int
        Of one item.
    media_types : tuple of str
        Of bodies that are a .npy file.
    """

    shape: tuple[int, ...]
    media_types: tuple[str, ...] = ("application/x-npy", "application/octet-stream")

    @property
    def n_numbers(self) -> int:
        """Numbers of one item."""
        return math.prod(self.shape)

    @property
    def schema(self) -> Schema:
        """JSON schema of one item."""
        n = self.n_numbers
        flat: Schema = {"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n}
        if len(self.shape) == 1:
            return flat
        nested: Schema = {"type": "number"}
        for side in reversed(self.shape):
            nested = {"type": "array", "items": nested, "minItems": side, "maxItems": side}
        return {"anyOf": [flat, nested]}

    @property
    def example(self) -> list[float]:
        """One item."""
        return [0.5] * self.n_numbers

    def read(self, items: list[Any]) -> Features:
        """Return the numbers of all items; see `Items`."""
        try:
            array = np.asarray(items)
        except (ValueError, TypeError, OverflowError):  # of other lengths
            array = np.empty(0, dtype=object)
        if array.dtype.kind not in "iuf":
            raise ValueError(f"Each item must be a list of {self._wanted}, all of them numbers.")
        features = self._shaped(as_float32("items", array.astype(np.float64)))
        return lambda: features

    def parse(self, content: bytes) -> tuple[int, Features]:
        """Return the rows of a .npy file; see `Items`."""
        array = parse_npy("The body", content)
        if array.dtype.kind not in "iuf" or array.ndim < 2 or not len(array):
            raise ValueError(
                f"The body must be a .npy file of numbers with one row per item, {self._wanted} "
                f"each, got {array.dtype} of shape {array.shape}."
            )
        numbers = array if array.dtype == np.uint8 else as_float32("The array", array)
        features = self._shaped(numbers)
        return len(features), lambda: features

    def _shaped(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.shape[1:] not in (self.shape, (self.n_numbers,)):
            raise ValueError(
                f"Each item must be {self._wanted}, got items of shape {array.shape[1:]}."
            )
        return array.reshape(len(array), *self.shape)

    @property
    def _wanted(self) -> str:
        shape = f" in the shape {self.shape}, or flat" if len(self.shape) > 1 else ""
        return f"{self.n_numbers} numbers{shape}"


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Rows of a table: an object for each item, with a value for each column that was fitted."""

    model: PreparedModel
    columns: tuple[str, ...] = field(init=False)
    media_types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.model.column_names))

    @property
    def schema(self) -> Schema:
        """JSON schema of one item."""
        value: Schema = {"type": ["string", "number", "boolean", "null", "array"]}
        return {
            "type": "object",
            "properties": dict.fromkeys(self.columns, value),
            "required": list(self.columns),
        }

    @property
    def example(self) -> dict[str, Any]:
        """One item."""
        return dict.fromkeys(self.columns)

    def read(self, items: list[Any]) -> Features:
        """Return what prepares the rows; see `Items`."""
        records = self.records(items)
        return lambda: self.model.features(records)

    def records(self, items: list[Any]) -> Records:
        """Return rows as a table; columns that were not fitted are left out."""
        import pyarrow as pa

        names = shown_names(list(self.columns))
        for row, item in enumerate(items):
            if not isinstance(item, dict):
                raise ValueError(f"Item {row} must be an object with the columns {names}.")
            missing = next((name for name in self.columns if name not in item), None)
            if missing is not None:
                raise ValueError(
                    f"Item {row} has no {missing!r}: the columns are {names}; "
                    "write null where there is no value."
                )
            wrong = next((n for n in self.columns if not isinstance(item[n], PLAIN)), None)
            if wrong is not None:
                raise ValueError(
                    f"{wrong!r} of item {row} must be text, a number, true, false, null or a list "
                    "of numbers."
                )
        columns = {name: _as_arrow([item[name] for item in items]) for name in self.columns}
        return Records(NAME, np.arange(len(items)), pa.table(columns))

    def parse(self, content: bytes) -> tuple[int, Features]:
        """Rows come as JSON only."""
        raise ValueError("Rows of a table must be sent as JSON.")


def _as_arrow(values: Sequence[Any]) -> Any:
    """Return values as an Arrow array: of text, if they are of several kinds."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        texts = [None if value is None else _as_text(value) for value in values]
        return pa.array(texts, pa.string())


def _as_text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()  # JSON may bring half a character


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """Pictures: in JSON a file in base64 each, else a body that is one file."""

    preparation: ImagePreparation
    media_types: tuple[str, ...] = (
        *("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff"),
        "application/octet-stream",
    )

    @property
    def schema(self) -> Schema:
        """JSON schema of one item."""
        return {"type": "string", "contentEncoding": "base64"}

    @property
    def example(self) -> str:
        """One item: a picture of one pixel."""
        return (
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5E"
            "rkJggg=="
        )

    def read(self, items: list[Any]) -> Features:
        """Return what decodes the pictures; see `Items`."""
        contents = [_from_base64(row, item) for row, item in enumerate(items)]
        return lambda: self.preparation.decode_bytes(contents)

    def parse(self, content: bytes) -> tuple[int, Features]:
        """Return what decodes one picture; see `Items`."""
        return 1, lambda: self.preparation.decode_bytes([content])


def _from_base64(row: int, item: Any) -> bytes:
    try:
        return base64.b64decode(item, validate=True)
    except (ValueError, TypeError):
        raise ValueError(f"Item {row} must be an image file in base64.") from None
