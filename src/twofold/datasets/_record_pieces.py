"""A user's own items in pieces, for files that are larger than memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold._core.float32 import as_float32
from twofold._core.numpy_files import map_npy
from twofold._core.text_files import encoding_of
from twofold.datasets._columns import Columns, as_row_numbers, existing_file
from twofold.datasets._records import (
    MATRIX_SUFFIXES,
    Records,
    id_column_of,
    read_records,
    refuse_id_column,
    without_ids,
)
from twofold.datasets._table_files import (
    PARQUET,
    TABLE_SUFFIXES,
    iterate_table,
    reading_notes,
)


def iterate_records(
    path: str | os.PathLike[str], *, id_column: str | None = None, n_rows: int = 65536
) -> Iterator[Records]:
    """Read items in blocks.

    Parameters
    ----------
    path, id_column
        As in `read_records`, but ids that come again in another piece are not noticed.
    n_rows : int
        Maximum number of rows of a block.

    Yields
    ------
    Records
        One after the other. All columns of a text file are text here, numbers too, since what a
        column holds is known only at its end: a fitted preparation reads both alike.
    """
    check_count("n_rows", n_rows)
    place = Path(path)
    if place.is_dir():
        yield from _cut(read_records(place, id_column=id_column), n_rows)
        return
    file = existing_file(place, (*MATRIX_SUFFIXES, *TABLE_SUFFIXES))
    if file.suffix.lower() == ".npy":
        refuse_id_column(file, id_column)
        yield from _matrix_pieces(file, n_rows)
    elif file.suffix.lower() in MATRIX_SUFFIXES:
        yield from _cut(read_records(file, id_column=id_column), n_rows)
    else:
        yield from _table_pieces(file, id_column, n_rows)


def iterate_columns(
    path: str | os.PathLike[str], names: Collection[str], *, n_rows: int = 65536
) -> Iterator[Columns]:
    """Read some columns of a CSV, TSV or Parquet file in blocks of `n_rows` rows at most.

    Yields
    ------
    Columns
        One after the other; those of a text file are text, as in `iterate_records`.
    """
    file, start = existing_file(path, TABLE_SUFFIXES), 0
    Columns(file, next(iterate_table(file, 1))).require(names)
    for table in iterate_table(file, n_rows, only=names):
        yield Columns(file, table, first_row=start)
        start += table.num_rows


def _cut(records: Records, n_rows: int) -> Iterator[Records]:
    for start in range(0, records.n_items, n_rows):
        rows = slice(start, min(start + n_rows, records.n_items))
        yield replace(
            records,
            ids=records.ids[rows],
            table=None if records.table is None else records.table[rows],
            features=None if records.features is None else records.features[rows],
            first_row=start,
        )


def _matrix_pieces(file: Path, n_rows: int) -> Iterator[Records]:
    matrix = map_npy(file)
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{file} must hold (n_items, n_features) numbers, got {matrix.dtype}{matrix.shape}."
        )
    for start in range(0, len(matrix), n_rows):
        piece = np.asarray(matrix[start : start + n_rows])
        if not np.isfinite(piece).all():
            row = start + int(np.flatnonzero(~np.isfinite(piece).all(axis=1))[0])
            raise ValueError(f"{file} must hold finite numbers, first not so in row {row}.")
        ids = np.arange(start, start + len(piece))
        yield Records(file, ids, features=as_float32(str(file), piece), first_row=start)


def _table_pieces(file: Path, id_column: str | None, n_rows: int) -> Iterator[Records]:
    notes: tuple[str, ...] = ()
    if file.suffix.lower() not in PARQUET:
        notes = reading_notes(file, encoding_of(file))
    are_numbers, start = None, 0
    for table in iterate_table(file, n_rows):
        columns = Columns(file, table, notes, start)
        named = id_column_of(columns, id_column)
        if are_numbers is None and named is not None:
            are_numbers = _are_numbers(file, named, n_rows)
        ids = None if named is None else _ids(columns, named, bool(are_numbers))
        yield without_ids(columns, named, ids)
        start += table.num_rows


def _are_numbers(file: Path, named: str, n_rows: int) -> bool:
    """Whether all ids of a file are whole numbers, so that those of each piece are of one kind."""
    import pyarrow as pa

    start = 0
    for table in iterate_table(file, n_rows, only=[named]):
        if pa.types.is_signed_integer(table[0].type):
            return True
        columns = Columns(file, table, first_row=start)
        (ids,) = as_row_numbers(columns.ids(named))
        if not pa.types.is_integer(ids.type):
            return False
        start += table.num_rows
    return True


def _ids(columns: Columns, named: str, are_numbers: bool) -> NDArray[Any]:
    import pyarrow as pa

    ids = columns.ids(named).cast(pa.int64() if are_numbers else pa.string())
    return np.asarray(ids.to_numpy(zero_copy_only=False))
