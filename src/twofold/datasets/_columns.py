"""A user's own table, CSV or Parquet, column by column; whatever is wrong is named by its line."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (*DELIMITERS, *PARQUET)
ROW_NUMBER = r"^(0|[1-9][0-9]{0,17})$"
"""Text that is a whole number and is written in the only way it can be: 7, not 007."""
SHOWN_COLUMNS = 12
LARGEST_BLOCK = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one file.

    Attributes
    ----------
    path : Path
        Where they stand.
    table : pyarrow.Table
        At least one row.
    """

    path: Path
    table: Any

    @property
    def names(self) -> list[str]:
        """The columns' names, in their order."""
        return [str(name) for name in self.table.column_names]

    def require(self, names: Collection[str]) -> None:
        """Refuse a file in which a column is missing."""
        missing = [name for name in names if name not in self.names]
        if missing:
            there = ", ".join(self.names[:SHOWN_COLUMNS])
            more = len(self.names) - SHOWN_COLUMNS
            raise ValueError(
                f"{self.path} has no column {missing[0]!r}: its columns are {there}"
                f"{f' and {more} more' if more > 0 else ''}. Rename the one that is meant."
            )

    def place(self, row: int) -> str:
        """Return where a row stands: its line in a text, else its number from 0 on."""
        if self.path.suffix.lower() in PARQUET:
            return f"row {row}"
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.reader(file, delimiter=DELIMITERS[self.path.suffix.lower()])
            for number, _ in enumerate(filter(None, reader)):
                if number == row + 1:  # below the heading
                    return f"line {reader.line_num}"
        return f"row {row}"

    def ids(self, name: str) -> Any:
        """Return a column of ids as a pyarrow array of int64 or string, none of them missing."""
        import pyarrow as pa

        column = self.table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if not (is_text or pa.types.is_integer(column.type)):
            raise ValueError(
                f"The column {name!r} of {self.path} must hold row numbers or keys, whole numbers "
                f"or text, got {column.type}."
            )
        missing = np.flatnonzero(_is_missing(column, is_text))
        if missing.size:
            raise ValueError(
                f"The column {name!r} of {self.path} is empty at {missing.size} place(s), first at "
                f"{self.place(int(missing[0]))}: fill it, or drop the row."
            )
        return column.cast(pa.string() if is_text else pa.int64())

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of finite numbers, shape (n_rows,)."""
        import pyarrow as pa

        column = self.table[name].combine_chunks()
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if not (is_number or pa.types.is_null(column.type)):
            row, value = _first_text(column)
            raise ValueError(
                f"The column {name!r} of {self.path} must hold numbers, first not one at "
                f"{self.place(row)} ({value!r})."
            )
        numbers = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if wrong.size:
            raise ValueError(
                f"The column {name!r} of {self.path} must hold finite numbers; {wrong.size} are "
                f"missing or not finite, first at {self.place(int(wrong[0]))}: fill them, or drop "
                "the rows."
            )
        return numbers


def read_columns(path: str | os.PathLike[str], text: Collection[str] = ()) -> Columns:
    """Read a CSV, TSV or Parquet file with a heading.

    Parameters
    ----------
    path : path
        A file whose name ends in .csv, .tsv, .parquet or .pq.
    text : collection of str
        Columns of a text file that are kept as they are written, so that 007 is not 7.
    """
    file = existing_file(path, TABLE_SUFFIXES)
    try:
        table = _read(file, text)
    # Arrow's own errors are of many kinds; all of them are of this file.
    except Exception as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{file} cannot be read ({reason}): mend it, or get it again.") from error
    if not table.num_rows:
        raise ValueError(f"{file} has a heading but no row: there is nothing to read.")
    return Columns(file, table)


def existing_file(path: str | os.PathLike[str], suffixes: Collection[str]) -> Path:
    """Return a path to a file that is there and whose name ends in one of `suffixes`."""
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder: name a file in it.")
    if not file.is_file():
        raise FileNotFoundError(f"The file {file} does not exist.")
    if file.suffix.lower() not in suffixes:
        raise ValueError(
            f"{file} ends in {file.suffix!r}: it must be one of {', '.join(suffixes)}."
        )
    if not file.stat().st_size:
        raise ValueError(f"{file} is empty.")
    return file


def as_row_numbers(*columns: Any) -> list[Any]:
    """Return columns of ids as int64 if all of them are whole numbers, else all as text."""
    import pyarrow as pa
    from pyarrow import compute

    texts = [column for column in columns if not pa.types.is_integer(column.type)]
    are_numbers = all(
        compute.all(compute.match_substring_regex(column, ROW_NUMBER)).as_py() for column in texts
    )
    return [column.cast(pa.int64() if are_numbers else pa.string()) for column in columns]


def _read(file: Path, text: Collection[str]) -> Any:
    # Imported here, so that data sets load without waiting for Arrow.
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    if file.suffix.lower() in PARQUET:
        return parquet.read_table(file)
    # A column's type is seen in the first block, where 0 and 1 do not tell of a grade further down.
    block_size = min(file.stat().st_size + 1, LARGEST_BLOCK)
    return arrow_csv.read_csv(
        file,
        read_options=arrow_csv.ReadOptions(block_size=block_size),
        parse_options=arrow_csv.ParseOptions(delimiter=DELIMITERS[file.suffix.lower()]),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(text, pa.string()), strings_can_be_null=False
        ),
    )


def _is_missing(column: Any, is_text: bool) -> NDArray[np.bool_]:
    """Return which values are null, or empty text."""
    from pyarrow import compute

    missing = compute.fill_null(compute.equal(column, ""), True) if is_text else column.is_null()
    return np.asarray(missing.to_numpy(zero_copy_only=False), dtype=bool)


def _first_text(column: Any) -> tuple[int, Any]:
    """Return row and value of the first entry that is no number."""
    for row, value in enumerate(column):
        try:
            float(value.as_py())
        except (TypeError, ValueError):
            return row, value.as_py()
    return 0, column[0].as_py()
