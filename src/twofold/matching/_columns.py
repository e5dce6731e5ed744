"""Tables of any kind as columns of texts and numbers.

A table is a pyarrow.Table, a pandas DataFrame or a dict of columns. Which kind a column is, is told
from its type and values; every column is also there as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.preparation import as_days, as_texts, one_array

if TYPE_CHECKING:
    pass

ColumnKind = Literal["text", "number", "date", "category"]
NUMBER = re.compile(
    r"(?:[A-Za-z]{3}\s+)?[^\w.,+-]*"
    r"([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"\s*(?:[^\W\d_]{1,5}|[^\w]*)"
)
"""A number, with commas between thousands; a currency may stand before it, a unit behind."""
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
        return Column(texts, as_days(one_array(column), ""))
    return Column(texts, None)


def _texts(name: str, column: Any) -> tuple[str | None, ...]:
    from pyarrow import types

    if types.is_nested(column.type) or types.is_binary(column.type):
        raise TypeError(
            f"Column {name!r} holds {column.type}, which cannot be compared: leave it out, or "
            "convert it to text or numbers."
        )
    return tuple(as_texts(one_array(column)).to_pylist())


def _numbers(texts: Sequence[str | None]) -> NDArray[np.float64]:
    values = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if text is not None and (match := NUMBER.fullmatch(text)):
            values[row] = float(match[1].replace(",", ""))
    values[~np.isfinite(values)] = np.nan
    return values
