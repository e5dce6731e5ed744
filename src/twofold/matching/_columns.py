"""Tables of any kind as columns of texts and numbers.

A table is a pyarrow.Table, a pandas DataFrame or a dict of columns. Which kind a column is, is told
from its type and values; every column is also there as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold._core.reasons import reason_of

if TYPE_CHECKING:
    import pyarrow

ColumnKind = Literal["text", "number", "date", "category"]
NUMBER = re.compile(r"[^\d.,+-]*([+-]?[\d,]*\.?\d+(?:[eE][+-]?\d+)?)[^\d.,]*")
"""A number with a currency or a unit around it, and commas between thousands."""
SHARE_OF_NUMBERS = 0.9
"""Of the values that are there, so that a few "call us" leave a column of prices one of numbers."""


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column, as they are compared.

    Attributes
    ----------
    texts : tuple of str or None
        Each value as text, None where it is missing.
    numbers : ndarray of float64, shape (n_rows,), or None
        Each value as a number (a date as days), NaN where it is missing or none; None if the column
        is of another kind.
    """

    texts: tuple[str | None, ...]
    numbers: NDArray[np.float64] | None


def as_arrow(name: str, table: Any) -> pyarrow.Table:
    """Return a table of any kind as an Arrow table."""
    import pyarrow

    if isinstance(table, pyarrow.Table):
        return table
    try:
        if isinstance(table, Mapping):
            return pyarrow.table({str(key): _as_column(table[key]) for key in table})
        if hasattr(table, "iloc") and hasattr(table, "columns"):
            return pyarrow.Table.from_pandas(table, preserve_index=False)
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise ValueError(
            f"{name} cannot be read as a table ({reason_of(error)}): columns of one length, each "
            "of texts, numbers or dates, are wanted."
        ) from error
    raise TypeError(
        f"{name} must be a pyarrow.Table, a pandas DataFrame or a dict of columns, got "
        f"{type(table).__name__}."
    )


def _as_column(values: Any) -> Any:
    """Return values that Arrow takes: those of several types are texts."""
    import pyarrow

    try:
        return pyarrow.array(values, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return pyarrow.array(
            [None if value is None else str(value) for value in values], pyarrow.string()
        )


def tell_kind(name: str, column: Any, hint: str | None = None) -> ColumnKind:
    """Return the kind of an Arrow column: as hinted, or told from its type and values."""
    from pyarrow import types

    if hint is not None:
        check_choice(f"kinds[{name!r}]", hint, get_args(ColumnKind))
        return hint  # type: ignore[return-value]
    if types.is_temporal(column.type):
        return "date"
    if types.is_boolean(column.type):
        return "category"
    if types.is_integer(column.type) or types.is_floating(column.type):
        return "number"
    if types.is_decimal(column.type):
        return "number"
    values = [value for value in _texts(name, column) if value is not None]
    n_numbers = sum(NUMBER.fullmatch(value) is not None for value in values)
    return "number" if values and n_numbers >= SHARE_OF_NUMBERS * len(values) else "text"


def read_column(name: str, column: Any, kind: ColumnKind) -> Column:
    """Return an Arrow column as texts, and as numbers if it is of numbers or dates."""
    texts = _texts(name, column)
    if kind == "number":
        return Column(texts, _numbers(texts))
    if kind == "date":
        return Column(texts, _days(name, column))
    return Column(texts, None)


def _texts(name: str, column: Any) -> tuple[str | None, ...]:
    import pyarrow
    from pyarrow import types

    if types.is_nested(column.type) or types.is_binary(column.type):
        raise TypeError(
            f"Column {name!r} holds {column.type}, which cannot be compared: leave it out, or make "
            "it texts or numbers."
        )
    try:
        values: Sequence[str | None] = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException:
        values = [None if value is None else str(value) for value in column.to_pylist()]
    return tuple(value if value and value != "nan" else None for value in values)


def _numbers(texts: Sequence[str | None]) -> NDArray[np.float64]:
    values = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if text is not None and (match := NUMBER.fullmatch(text)):
            values[row] = float(match[1].replace(",", ""))
    values[~np.isfinite(values)] = np.nan
    return values


def _days(name: str, column: Any) -> NDArray[np.float64]:
    import pyarrow

    try:
        moments = column.cast(pyarrow.timestamp("us"))
        values = np.asarray(moments.to_numpy(), dtype="datetime64[us]")
    except (pyarrow.ArrowException, ValueError) as error:
        raise ValueError(
            f"Column {name!r} cannot be read as dates ({reason_of(error)}): name it 'text' in "
            "kinds, or write dates as 2024-12-31."
        ) from error
    days = values.astype(np.int64) / 86_400e6
    days[np.isnat(values)] = np.nan
    return days
