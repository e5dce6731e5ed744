"""A user's own items, a row each: CSV, TSV, Parquet, NumPy or a folder of images.

Whatever the file, what comes out is one type: ids, and a table of columns or a matrix of features.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.names import separate_names
from twofold.datasets._columns import (
    Columns,
    existing_file,
    read_columns,
    unique_ids,
)
from twofold.datasets._feature_table import read_matrix
from twofold.datasets._image_folder import read_image_folder
from twofold.datasets._table_files import TABLE_SUFFIXES

ID = "id"
"""The column that names the rows, if there is one; capitals do not count."""
MATRIX_SUFFIXES = (".npy", ".npz")


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Items as described in a file.

    Attributes
    ----------
    path : Path
        The file, or the folder of images.
    ids : ndarray of int64 or of str objects, shape (n_items,)
        Id of each row; its number, from 0, if the file has none.
    table : pyarrow.Table or None
        The columns without the one of ids; None for a matrix of features.
    features : ndarray or csr_array of float32, shape (n_items, n_features), or None
        The matrix in a NumPy file.
    notes : tuple of str
        Anything unusual about the file, one sentence each.
    id_column : str or None
        The column that the ids come from.
    first_row : int
        Number of the first row in the file, where that is read in pieces.
    """

    path: Path
    ids: NDArray[Any]
    table: Any = None
    features: Any = None
    notes: tuple[str, ...] = ()
    id_column: str | None = None
    first_row: int = 0

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return self.ids.size

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the table, in their order; none for a matrix."""
        return () if self.table is None else tuple(map(str, self.table.column_names))

    def place(self, row: int) -> str:
        """Return where a row stands: its line in a text, else its number from 0 on."""
        if self.path.is_dir():
            return f"image {self.ids[row]!r}"
        if self.table is None:
            return f"row {self.first_row + row}"
        return self._columns.place(row)

    def separate(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the columns that are meant: "a,b" is a and b, unless a column is called so."""
        return separate_names(names, (*self.column_names, *filter(None, [self.id_column])))

    def require(self, names: Collection[str], why: str = "") -> None:
        """Refuse records without a column, with the name of the nearest that is there.

        `why` is what it is needed for, as ", which …".
        """
        if self.table is None and names:
            raise ValueError(
                f"{self.path} is a matrix and does not have a column {next(iter(names))!r}: save "
                "a table with that column, as CSV or Parquet."
            )
        if self.id_column in names and self.id_column not in self.column_names:
            raise ValueError(
                f"The column {self.id_column!r} of {self.path} has the ids of its rows, so it "
                "cannot be a feature, a label or a column to show. If a model was fitted on it as "
                "a feature, give the same --id as then."
            )
        if self.table is not None:
            self._columns.require(names, why)

    def fields(self, row: int) -> dict[str, str]:
        """Return the values of a row as text to show; nothing for a matrix."""
        if self.table is None:
            return {}
        return {name: _shown(self.table[name][row].as_py()) for name in self.column_names}

    def take(self, rows: NDArray[np.int64]) -> Records:
        """Return some of the rows, in the order of `rows`."""
        return replace(
            self,
            ids=self.ids[rows],
            table=None if self.table is None else self.table.take(rows),
            features=None if self.features is None else self.features[rows],
        )

    def image_paths(self, column: str = "image") -> list[Path]:
        """Return the files that a column names, relative to the folder or to the table's own."""
        self.require([column])
        folder = self.path if self.path.is_dir() else self.path.parent
        return [folder / str(name) for name in self.table[column].to_pylist()]

    def has_image_bytes(self, column: str = "image") -> bool:
        """Whether a column holds files as bytes, and not their names."""
        import pyarrow as pa

        self.require([column])
        kind = self.table[column].type
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    def image_bytes(self, column: str = "image") -> list[bytes] | None:
        """Return the files that a column holds as bytes; None if it names files instead."""
        if not self.has_image_bytes(column):
            return None
        values = self.table[column]
        contents: list[bytes] = values.to_pylist()
        if values.null_count:
            row = contents.index(None)  # type: ignore[arg-type]
            raise ValueError(f"{self.path} has no image in {column!r} at {self.place(row)}.")
        return contents

    @property
    def _columns(self) -> Columns:
        return Columns(self.path, self.table, first_row=self.first_row)


def read_records(path: str | os.PathLike[str], *, id_column: str | None = None) -> Records:
    r"""Read items, one per row.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .parquet or .pq file with a heading; a .npy or .npz file with one matrix; or a
        folder of images. Text that is not UTF-8 is read as Western European, with a note.
    id_column : str, optional
        The column with the ids of the rows, all different. By default the one named "id"; without
        it, ids are row numbers. The ids of images are their paths.

    Returns
    -------
    Records
        With `table` for tables and images, `features` for matrices.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "products.csv"
    ...     _ = path.write_text("id,title,price\na7,red chair,$12\nb1,green table,$90\n")
    ...     records = read_records(path)
    >>> records.ids.tolist(), records.column_names, records.fields(1)["title"]
    (['a7', 'b1'], ('title', 'price'), 'green table')
    """
    place = Path(path)
    if place.is_dir():
        refuse_id_column(place, id_column)
        ids, table, notes = read_image_folder(place)
        return Records(place, ids, table, notes=notes)
    file = existing_file(place, (*MATRIX_SUFFIXES, *TABLE_SUFFIXES))
    if file.suffix.lower() in MATRIX_SUFFIXES:
        refuse_id_column(file, id_column)
        features = read_matrix(file)
        return Records(file, np.arange(features.shape[0]), features=features)
    columns = read_columns(file, text=id_names(id_column))
    named = id_column_of(columns, id_column)
    return without_ids(columns, named, None if named is None else unique_ids(columns, named))


def refuse_id_column(place: Path, id_column: str | None) -> None:
    """Refuse a column's name where there are no columns."""
    if id_column is not None:
        raise ValueError(
            f"id_column={id_column!r} is the name of a column, but {place} has none: leave it out."
        )


def id_names(id_column: str | None) -> tuple[str, ...]:
    """Return what the column of ids may be called."""
    return (ID, ID.upper(), ID.title()) if id_column is None else (id_column,)


def id_column_of(columns: Columns, id_column: str | None) -> str | None:
    """Return the column that names the rows, None if there is none."""
    if id_column is not None:
        columns.require([id_column])
        return id_column
    return next((name for name in id_names(None) if name in columns.names), None)


def without_ids(columns: Columns, named: str | None, ids: NDArray[Any] | None) -> Records:
    """Return records whose table lacks the column of ids."""
    if ids is None:
        ids = np.arange(columns.first_row, columns.first_row + columns.table.num_rows)
    table = columns.table if named is None else columns.table.drop_columns([named])
    if not table.num_columns:
        raise ValueError(f"{columns.path} has no column besides {named!r}.")
    return Records(
        columns.path, ids, table, None, columns.notes, named, first_row=columns.first_row
    )


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
