"""The values of a column as text, as numbers or as moments, whatever Arrow type they have.

A missing value is a null, blank text, or what spreadsheets and programs write for one.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset(
    ("", "na", "n/a", "nan", "null", "none", "#n/a", "<na>", "-nan", "nat", "#na", "-", "--", "?")
)
"""Texts that stand for no value, in small letters."""
PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
CURRENCY = r"(?:[$€£¥]|usd|eur|gbp|chf)"
NUMBER = re.compile(
    rf"(?:{CURRENCY}\s*)?([+-]?(?:[0-9][0-9.,' ]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*(?:{CURRENCY}|%)?"
)
GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:[,' ][0-9]{3})+(?:\.[0-9]+)?")
GROUPED_BY_POINTS = re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")
DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
LARGEST_NUMBER = 1e30
"""Beyond it a number is taken for missing: features are float32."""


def one_array(column: Any) -> Any:
    """Return a column as one Arrow array of plain values."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_text(column: Any) -> bool:
    """Whether an Arrow array holds text."""
    import pyarrow as pa

    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind)) or str(kind) == (
        "string_view"
    )


def as_texts(column: Any) -> Any:
    """Return an Arrow array of strings without spaces around them, null where one is missing."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.string())
    if not is_text(column):
        return _cast_to_text(column)
    texts = compute.utf8_trim_whitespace(column.cast(pa.string()))
    missing = compute.is_in(compute.utf8_lower(texts), value_set=pa.array(sorted(MISSING)))
    return compute.if_else(compute.fill_null(missing, True), pa.scalar(None, pa.string()), texts)


def _cast_to_text(column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = column.to_pylist()
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def as_numbers(column: Any) -> NDArray[np.float64]:
    """Return a column as float64, NaN where a value is missing, is no number or is too large."""
    values = as_floats(column)
    values[is_too_large(values)] = np.nan
    return values


def is_too_large(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which numbers are infinite, or as good as that in float32."""
    return np.asarray(np.abs(values) > LARGEST_NUMBER)


def as_floats(column: Any) -> NDArray[np.float64]:
    """Return a column as float64 with infinite values, NaN where one is missing or no number."""
    import pyarrow as pa
    from pyarrow import compute

    if is_text(column):
        numbers = _parse_numbers(as_texts(column))
    else:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        elif pa.types.is_temporal(column.type):
            return as_days(column, "")
        try:
            numbers = compute.cast(column, pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return np.full(len(column), np.nan)
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _parse_numbers(texts: Any) -> Any:
    """Return text as float64: in compiled code what is written plainly, in Python the rest."""
    import pyarrow as pa
    from pyarrow import compute

    is_plain = compute.fill_null(compute.match_substring_regex(texts, PLAIN_NUMBER), False)
    plain = compute.if_else(is_plain, texts, pa.scalar(None, pa.string())).cast(pa.float64())
    rest = compute.if_else(is_plain, pa.scalar(None, pa.string()), texts)
    if rest.null_count == len(rest):
        return plain
    coded = rest.dictionary_encode()
    read = pa.array([_parse_number(text) for text in coded.dictionary.to_pylist()], pa.float64())
    return compute.coalesce(plain, read.take(coded.indices))


def _parse_number(text: str) -> float | None:
    """Return the number that a text is: "$1,299.00", "12 %", "1.299,00 €"; None if it is none."""
    found = NUMBER.fullmatch(text.casefold())
    if found is None:
        return None
    digits = found[1].strip()
    if GROUPED.fullmatch(digits):
        digits = re.sub(r"[,' ]", "", digits)
    elif GROUPED_BY_POINTS.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    try:
        return float(digits)
    except ValueError:
        return None


def as_days(column: Any, written: str) -> NDArray[np.float64]:
    """Return moments as days since 1970, NaN where there is none; text as `written` says."""
    import pyarrow as pa
    from pyarrow import compute

    if is_text(column):
        column = compute.strptime(as_texts(column), written or DATE_FORMATS[0], "s", True)
    elif pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    try:
        moments = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(column), np.nan)
    seconds = np.asarray(moments.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return np.asarray(seconds / 86400.0, dtype=np.float64)


def date_format(texts: Any, share: float) -> str | None:
    """Return how at least a `share` of texts are written as dates, None if they are not."""
    from pyarrow import compute

    there = texts.drop_null()
    for written in DATE_FORMATS:
        read = compute.strptime(there, written, "s", True)
        if len(there) and read.null_count <= (1 - share) * len(there):
            return written
    return None
