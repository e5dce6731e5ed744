"""What a column of an index holds: the kinds, and whether a value fits the kind of its column.

Text that is written as a number in the usual way is one; 0012 is not, nor is what float64 rounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHOLE, NUMBER, TEXT, TRUTH = "whole numbers", "numbers", "text", "true or false"
NOTHING = ""
"""Of a column without any value, which fits every kind. Any other kind is Arrow's name of a type,
such as "date32[day]"."""
WRITTEN_WHOLE = r"^(0|-?[1-9][0-9]{0,14})$"
"""Up to 15 digits: float64 and the numbers of JSON hold all of these exactly."""
WRITTEN_NUMBER = r"^-?((0|[1-9][0-9]{0,14})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
LARGEST_WHOLE = 2**53
"""Beyond it float64 skips whole numbers."""


def kind_of(arrow_type: Any) -> str:
    """Return the kind of a column of an Arrow type."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_null(arrow_type):
        return NOTHING
    if types.is_boolean(arrow_type):
        return TRUTH
    if types.is_integer(arrow_type) and arrow_type != pa.uint64():
        return WHOLE
    if types.is_floating(arrow_type):
        return NUMBER
    if types.is_string(arrow_type) or types.is_large_string(arrow_type):
        return TEXT
    return TEXT if str(arrow_type) == "string_view" else str(arrow_type)


def written_kind(texts: Any) -> str:
    """Return the kind of a column of a text file: numbers, where all values are written as such."""
    from pyarrow import compute

    texts = _present(texts).drop_null()
    if not len(texts):
        return NOTHING
    if compute.all(compute.match_substring_regex(texts, WRITTEN_WHOLE)).as_py():
        return WHOLE
    return NUMBER if not _written_numbers(texts).null_count else TEXT


def joined_kind(kinds: Iterable[str]) -> str:
    """Return the kind that keeps the values of several: text, if no other does."""
    there = set(kinds) - {NOTHING}
    if len(there) < 2:
        return next(iter(there), NOTHING)
    return NUMBER if there == {WHOLE, NUMBER} else TEXT


def as_kind(column: Any, kind: str) -> tuple[Any, NDArray[np.int64]]:
    """Return a column as its kind is kept, null where a value does not fit, and those rows.

    Where numbers are kept, text that stands for no value, such as NA in a CSV, is a null that fits.
    """
    import pyarrow as pa

    column = one_array(column)
    own = kind_of(column.type)
    arrow_type = _arrow_types().get(kind, pa.null())
    there = column
    if own == kind:
        kept = column.cast(arrow_type) if kind in _arrow_types() else column
    elif own == TEXT and kind in (WHOLE, NUMBER):
        there = _present(column)
        numbers = _written_numbers(there)
        kept = numbers if kind == NUMBER else _whole(numbers).cast(arrow_type)
    elif {own, kind} == {WHOLE, NUMBER}:
        numbers = column.cast(pa.float64(), safe=False)
        there = _without_nan(numbers)
        kept = _whole(numbers).cast(arrow_type)
    elif kind == TEXT:
        kept = _as_text(column)
    else:
        kept = pa.nulls(len(column), arrow_type)
    unfit = _is_there(there) & ~_is_there(kept)
    return kept, np.flatnonzero(unfit)


def one_array(column: Any) -> Any:
    """Return a column as one Arrow array of plain values."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def arrow_type_of(kind: str) -> Any:
    """Return the Arrow type that a kind is kept as; None for kinds that are Arrow's own types."""
    return _arrow_types().get(kind)


def _arrow_types() -> dict[str, Any]:
    import pyarrow as pa

    return {WHOLE: pa.int64(), NUMBER: pa.float64(), TEXT: pa.string(), TRUTH: pa.bool_()}


def _present(texts: Any) -> Any:
    """Return texts without spaces around them, null where one stands for no value."""
    import pyarrow as pa
    from pyarrow import compute, csv

    texts = compute.utf8_trim_whitespace(one_array(texts).cast(pa.string()))
    # The same that are missing where Arrow reads a whole file.
    missing = compute.is_in(texts, value_set=pa.array(csv.ConvertOptions().null_values))
    return _where(compute.invert(missing), texts)


def _written_numbers(texts: Any) -> Any:
    """Return texts as float64, null where one is no number."""
    import pyarrow as pa
    from pyarrow import compute

    is_number = compute.match_substring_regex(texts, WRITTEN_NUMBER)
    numbers = _where(is_number, texts).cast(pa.float64())
    return _where(compute.is_finite(numbers), numbers)


def _whole(numbers: Any) -> Any:
    """Return numbers, null where one is not whole or too large to be exact."""
    from pyarrow import compute

    is_whole = compute.equal(compute.floor(numbers), numbers)
    is_exact = compute.less(compute.abs(numbers), float(LARGEST_WHOLE))
    return _where(compute.and_(is_whole, is_exact), numbers)


def _without_nan(numbers: Any) -> Any:
    from pyarrow import compute

    return _where(compute.invert(compute.is_nan(numbers)), numbers)


def _as_text(column: Any) -> Any:
    """Return a column as text; null where it has what cannot be written as such."""
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(column), pa.string())


def _where(condition: Any, values: Any) -> Any:
    """Return values, null where a condition does not hold."""
    import pyarrow as pa
    from pyarrow import compute

    return compute.if_else(
        compute.fill_null(condition, False), values, pa.scalar(None, values.type)
    )


def _is_there(column: Any) -> NDArray[np.bool_]:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
