"""Statements about a user's own records: pairs and triplets that name rows by id or by number."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.datasets._columns import Columns, as_row_numbers, read_columns
from twofold.datasets._pairs_file import (
    look_up,
    read_pair_columns,
    read_weight,
    read_within,
    refuse_self_pairs,
)
from twofold.datasets._records import Records

TRIPLET = ("anchor", "positive", "negative")


@dataclass(frozen=True, slots=True, eq=False)
class NamedPairs:
    """Statements about pairs of rows, of one table or of two.

    Attributes
    ----------
    left : ndarray of int64, shape (n_pairs,)
        Rows of the left records.
    right : ndarray of int64, shape (n_pairs,)
        Rows of the right records, or of the left ones where there is one table.
    similar : ndarray of float32, shape (n_pairs,)
        1 for alike, 0 for not alike, a grade in between.
    weight : ndarray of float32, shape (n_pairs,), or None
        How much each statement counts, if the file has weights.
    notes : tuple of str
        Anything unusual about the file, one sentence each.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similar: NDArray[np.float32]
    weight: NDArray[np.float32] | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_pairs(self) -> int:
        """Number of statements."""
        return self.left.size


@dataclass(frozen=True, slots=True, eq=False)
class NamedTriplets:
    """Statements "the anchor is more like the positive than the negative", as rows of a table.

    Attributes
    ----------
    anchor, positive, negative : ndarray of int64, shape (n_triplets,)
        Rows of the records.
    notes : tuple of str
        Anything unusual about the file, one sentence each.
    """

    anchor: NDArray[np.int64]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    notes: tuple[str, ...] = ()


def read_pairs(
    path: str | os.PathLike[str], left: Records, right: Records | None = None
) -> NamedPairs:
    """Read statements about pairs of records.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .parquet or .pq file with columns left, right, similar and, optionally weight.
        Similar is 1, true or yes; 0, false or no; or a grade between 0 and 1.
    left : Records
        What the left column names, by id; by row number, from 0, if no id of the file is known.
    right : Records, optional
        What the right column names; by default `left` too.

    Returns
    -------
    NamedPairs
        Rows of `left` and of `right`.
    """
    columns = read_pair_columns(path)
    left_rows, left_notes = _rows_of(columns, "left", left)
    right_rows, right_notes = _rows_of(columns, "right", left if right is None else right)
    if right is None:
        refuse_self_pairs(columns, left_rows, right_rows, left.ids)
    return NamedPairs(
        left_rows,
        right_rows,
        read_within(columns, "similar", 1.0),
        read_weight(columns),
        tuple(dict.fromkeys((*columns.notes, *left_notes, *right_notes))),
    )


def read_triplets(path: str | os.PathLike[str], records: Records) -> NamedTriplets:
    """Read statements about triplets of records.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .parquet or .pq file with columns anchor, positive and negative.
    records : Records
        What the columns name, by id or by row number, from 0.
    """
    columns = read_columns(path, text=TRIPLET)
    columns.require(TRIPLET)
    rows = {name: _rows_of(columns, name, records) for name in TRIPLET}
    (anchor, _), (positive, _), (negative, _) = rows.values()
    wrong = np.flatnonzero((anchor == positive) | (anchor == negative) | (positive == negative))
    if wrong.size:
        raise ValueError(
            f"{wrong.size} triplet(s) of {columns.path} contain an item twice, first at "
            f"{columns.place(int(wrong[0]))}. Drop them: they say nothing about the relation."
        )
    notes = (*columns.notes, *(note for _, said in rows.values() for note in said))
    return NamedTriplets(anchor, positive, negative, tuple(dict.fromkeys(notes)))


def _rows_of(
    columns: Columns, name: str, records: Records
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the rows that a column names, and what is to be said of how."""
    import pyarrow as pa

    names = [key.strip() if isinstance(key, str) else key for key in records.ids.tolist()]
    given = columns.ids(name)
    ids, known = as_row_numbers(given, pa.array(names))
    if _are_row_numbers(given, ids, known, records.n_items):
        note = (
            f"The column {name!r} of {columns.path} contains row numbers of {records.path}, not "
            "ids."
        )
        (numbers,) = as_row_numbers(given)
        return np.asarray(numbers.to_numpy(), dtype=np.int64), (note,)
    return look_up(columns, name, ids, known, str(records.path), records.table), ()


def _are_row_numbers(given: Any, ids: Any, known: Any, n_items: int) -> bool:
    """Whether no id is known, but all of them are numbers of rows."""
    import pyarrow as pa
    from pyarrow import compute

    if compute.any(compute.is_in(ids, value_set=known)).as_py():
        return False
    (numbers,) = as_row_numbers(given)
    if not pa.types.is_integer(numbers.type):
        return False
    bounds = compute.min_max(numbers).as_py()
    return bool(bounds["min"] >= 0 and bounds["max"] < n_items)
