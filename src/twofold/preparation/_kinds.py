"""Detects the kinds of columns: number, category, date, text, vector, image, id, or useless."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.preparation._plan import Kind
from twofold.preparation._values import (
    LARGEST_NUMBER,
    as_floats,
    as_numbers,
    as_texts,
    date_format,
    is_text,
    is_too_large,
)

MOSTLY = 0.95
"""The share of values from which on a column of text is one of numbers, dates or images."""
MOST_CATEGORIES = 64
ROWS_A_CATEGORY = 3
"""A value has to come so often, on average, for its column to be categories."""
LONGEST_CATEGORY = 40
"""Characters, on average: longer values are read, not counted."""
ID_NAME = re.compile(
    r"(^|.*[_\W])(id|ids|uuid|guid|key|index|row|rownum|unnamed: 0)", re.IGNORECASE
)
SHOWN_VALUE = 40
"""Characters of a value in a note."""
UUID = r"^\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?$"
IMAGE_NAME = r"(?i)\.(png|jpe?g|bmp|gif|tiff?|webp|ppm|pgm)$"


@dataclass(frozen=True, slots=True)
class Told:
    """What a column is, why, and how its dates are written."""

    kind: Kind
    note: str = ""
    written: str = ""


def tell(name: str, column: Any, n_left: int | None = None) -> Told:
    """Say what a column is, of an Arrow array of plain values.

    `n_left` is how many of its rows are of the first table, where there are two.
    """
    import pyarrow as pa

    if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        return _tell_list(column)
    texts = as_texts(column)
    n_there = len(texts) - texts.null_count
    if not n_there:
        return Told("dropped", "no row has a value")
    n_values = len(texts.drop_null().dictionary_encode().dictionary)
    if n_values == 1 and n_there == len(texts):
        return Told("dropped", "the same value in every row")
    if pa.types.is_boolean(column.type):
        return Told("category")
    if pa.types.is_temporal(column.type):
        return Told("date")
    if not is_text(column):
        return _tell_number(name, column, n_values == len(texts), n_left)
    return _tell_text(name, column, texts.drop_null(), n_values, n_left)


def odd_numbers(column: Any, n_left: int | None = None) -> str:
    """Say which values of a column of numbers count as missing though they are there.

    Nothing, if none does; `n_left` as in `tell`.
    """
    said, values = [], as_floats(column)
    if is_text(column):
        texts = as_texts(column)
        odd = np.isnan(values) & np.asarray(texts.is_valid())
        if odd.any():
            first = texts[int(np.argmax(odd))].as_py()[:SHOWN_VALUE]
            said.append(
                f"{odd.sum()} value(s) are not numbers and count as missing, first {first!r}"
            )
    odd = is_too_large(values)
    if odd.any():
        row = int(np.argmax(odd))
        first = str(column[row].as_py()).strip()[:SHOWN_VALUE]
        place = f"row {row}"
        if n_left is not None and row >= n_left:
            place = f"row {row - n_left} of the second table"
        said.append(
            f"{odd.sum()} value(s) are infinite or beyond {LARGEST_NUMBER:g} and count as missing, "
            f"first at {place} ({first})"
        )
    return "; ".join(said)


def _tell_list(column: Any) -> Told:
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type.value_type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        return Told("dropped", f"lists of {kind} cannot be features")
    lengths = compute.unique(compute.list_value_length(column).drop_null())
    if len(lengths) != 1:
        return Told("dropped", f"lists of {len(lengths)} different lengths cannot be features")
    return Told("vector")


def _tell_number(name: str, column: Any, all_differ: bool, n_left: int | None) -> Told:
    import pyarrow as pa

    numbers = as_numbers(column)
    if np.isnan(numbers).all():
        is_float = pa.types.is_floating(column.type)
        why = "no row has a finite number" if is_float else f"{column.type} cannot be a feature"
        return Told("dropped", why)
    if all_differ and pa.types.is_integer(column.type):
        steps = np.diff(numbers)
        if ID_NAME.fullmatch(name) or (len(numbers) > 2 and bool((steps == 1).all())):
            return Told("id", "whole numbers that differ in every row, as ids do")
    return Told("number", odd_numbers(column, n_left))


def _tell_text(name: str, column: Any, texts: Any, n_values: int, n_left: int | None) -> Told:
    from pyarrow import compute

    all_differ = n_values == len(column)
    if _share(compute.match_substring_regex(texts, IMAGE_NAME)) >= MOSTLY:
        return Told("image", "file names of images, which ImagePreparation reads")
    is_id = all_differ and (ID_NAME.fullmatch(name) is not None)
    if is_id and not _share(compute.match_substring_regex(texts, r"\s")):
        return Told("id", "one word that differs in every row, as ids do")
    if all_differ and _share(compute.match_substring_regex(texts, UUID)) >= MOSTLY:
        return Told("id", "UUIDs")
    written = date_format(texts, MOSTLY)
    if written is not None:
        return Told("date", f"dates written as {written}", written)
    if 1 - np.isnan(as_numbers(texts)).mean() >= MOSTLY:
        odd = odd_numbers(column, n_left)
        return Told("number", "; ".join(filter(None, ["numbers written as text", odd])))
    length = compute.mean(compute.utf8_length(texts)).as_py()
    are_few = n_values <= MOST_CATEGORIES and n_values * ROWS_A_CATEGORY <= len(texts)
    return Told("category" if are_few and length <= LONGEST_CATEGORY else "text")


def _share(matches: Any) -> float:
    from pyarrow import compute

    return float(compute.mean(matches).as_py() or 0.0)
