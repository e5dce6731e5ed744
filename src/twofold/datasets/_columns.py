"""A user's own table, CSV or Parquet, column by column; whatever is wrong is named by its line."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.float32 import LARGEST
from twofold._core.names import SHOWN_CHARACTERS, nearest_name, shown_names
from twofold.datasets._table_files import PARQUET, TABLE_SUFFIXES, line_of, read_table

ROW_NUMBER = r"^(0|[1-9][0-9]{0,17})$"
"""Text that is a whole number and is written in the only way it can be: 7, not 007."""
WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""How people write alike and not alike, beside 1 and 0; capitals do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of one file.

    Attributes
    ----------
    path : Path
        Where they stand.
    table : pyarrow.Table
        At least one row.
    notes : tuple of str
        Anything unusual about the file, one sentence each.
    first_row : int
        Number of the table's first row in the file, which may be read in pieces.
    """

    path: Path
    table: Any
    notes: tuple[str, ...] = ()
    first_row: int = 0

    @property
    def names(self) -> list[str]:
        """The columns' names, in their order."""
        return [str(name) for name in self.table.column_names]

    def require(self, names: Collection[str], why: str = "") -> None:
        """Refuse a file in which a column is missing; `why` is what it is needed for."""
        missing = next((name for name in names if name not in self.names), None)
        if missing is not None:
            meant = nearest_name(missing, self.names)
            there = f"ts columns are {shown_names(self.names)}."
            said = f"{self.path} has no column {missing!r}{why}"
            raise ValueError(
                f"{said}: i{there} Rename the column that you mean."
                if meant is None
                else f"{said}. Did you mean {meant!r}? I{there}"
            )

    def one_of(self, names: Collection[str]) -> str:
        """Return the first of several names that is a column's; a file without any is refused."""
        for name in names:
            if name in self.names:
                return name
        self.require(names)
        raise AssertionError("require has said what is missing")

    def place(self, row: int) -> str:
        """Return where a row stands: its line in a text, else its number from 0 on."""
        row += self.first_row
        is_text = self.path.suffix.lower() not in PARQUET
        line = line_of(self.path, row) if is_text else None
        return f"row {row}" if line is None else f"line {line}"

    def ids(self, name: str) -> Any:
        """Return a column of ids as a pyarrow array of int64 or string, none of them missing."""
        import pyarrow as pa
        from pyarrow import compute

        column = self._column(name)
        is_text = _is_text(column.type)
        if not (is_text or pa.types.is_integer(column.type)):
            raise ValueError(
                f"The column {name!r} of {self.path} must contain row numbers or keys (whole "
                f"numbers or text), got {column.type}."
            )
        if is_text:
            # "a, b" are the keys a and b.
            column = compute.utf8_trim_whitespace(column.cast(pa.string()))
        missing = np.flatnonzero(_is_missing(column, is_text))
        if missing.size:
            raise ValueError(
                f"The column {name!r} of {self.path} is empty at {missing.size} place(s), first at "
                f"{self.place(int(missing[0]))}: fill it, or drop the row."
            )
        if is_text or _is_beyond_int64(column):
            return column.cast(pa.string())
        return column.cast(pa.int64())

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers that are finite as float32 too, shape (n_rows,)."""
        import pyarrow as pa

        column = self._column(name)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if not _is_number(column.type):
            row, value = _first_text(column)
            raise ValueError(
                f"The column {name!r} of {self.path} must contain numbers; the first that is not "
                f"a number is at {self.place(row)} ({value})."
            )
        # Not "safe": a whole number beyond 2**53 is rounded as any other number is.
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return self._finite(name, np.asarray(numbers))

    def grades(self, name: str) -> NDArray[np.float64]:
        """Return a column of 0 to 1 that may be written as true and false, or yes and no."""
        import pyarrow as pa

        column = self._column(name)
        if not _is_text(column.type):
            return self.numbers(name)
        coded = column.cast(pa.string()).fill_null("").dictionary_encode()
        values = [_as_grade(text) for text in coded.dictionary.to_pylist()]
        wrong = [code for code, value in enumerate(values) if value is None]
        codes = np.asarray(coded.indices.to_numpy())
        if wrong:
            row = int(np.flatnonzero(np.isin(codes, wrong))[0])
            raise ValueError(
                f"The column {name!r} of {self.path} must contain numbers, true and false, or yes "
                f"and no; the first that is none of these is at {self.place(row)} "
                f"({coded.dictionary[int(codes[row])].as_py()[:SHOWN_CHARACTERS]!r})."
            )
        return self._finite(name, np.array(values, dtype=np.float64)[codes])

    def _finite(self, name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        wrong = np.flatnonzero(~(np.abs(numbers) <= LARGEST))
        if wrong.size:
            first = numbers[wrong[0]]
            why = "missing or not finite" if not np.isfinite(first) else "beyond float32's"
            raise ValueError(
                f"The column {name!r} of {self.path} must hold finite numbers up to {LARGEST:.2g}; "
                f"{wrong.size} are {why}, first at {self.place(int(wrong[0]))}: fill or scale "
                "them, or drop the rows."
            )
        return numbers

    def _column(self, name: str) -> Any:
        """Return a column as one array of values."""
        import pyarrow as pa

        column = self.table[name].combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # in one piece but for texts beyond 2 GiB
            column = pa.concat_arrays(column.chunks)
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


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
    return Columns(file, *read_table(file, text))


def existing_file(path: str | os.PathLike[str], suffixes: Collection[str]) -> Path:
    """Return a path to a file that is there and whose name ends in one of `suffixes`."""
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder: give a file in it.")
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


def unique_ids(columns: Columns, name: str) -> NDArray[Any]:
    """Return what a column calls the rows, int64 or str objects, each row differently."""
    (ids,) = as_row_numbers(columns.ids(name))
    called = np.asarray(ids.to_numpy(zero_copy_only=False))
    codes = ids.dictionary_encode().indices.to_numpy()
    # Codes count up where an id is new, so the first that falls behind repeats one.
    repeated = np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1) == 0)
    if repeated.size:
        row = int(repeated[0])
        raise ValueError(
            f"The column {name!r} of {columns.path} must be different in every row; first "
            f"repeated at {columns.place(row)} ({called[row]!r}), {repeated.size} row(s) in all."
        )
    return called


def column_with(name: Any, table: Any) -> str | None:
    """Return the column that has a value and never has one twice, so that it may be the ids."""
    import pyarrow as pa
    from pyarrow import compute

    for column in table.column_names:
        values = table[column]
        is_whole = pa.types.is_integer(values.type)
        if not (is_text_type(values.type) or is_whole) or is_whole != isinstance(name, int):
            continue
        is_there = compute.any(compute.equal(values, name)).as_py()
        if is_there and compute.count_distinct(values, mode="all").as_py() == len(values):
            return str(column)
    return None


def is_text_type(kind: Any) -> bool:
    """Whether a column holds text, each value by itself or as the number of one."""
    import pyarrow as pa

    return _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind)) or str(kind) == (
        "string_view"
    )


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    )


def _as_grade(text: str) -> float | None:
    """Return what is meant by 1, 0.5, yes or FALSE; NaN if nothing is written, None if unclear."""
    word = text.strip().casefold()
    if not word:
        return float("nan")
    try:
        return WORDS[word] if word in WORDS else float(word)
    except ValueError:
        return None


def _is_beyond_int64(column: Any) -> bool:
    """Whether ids are unsigned and too large for a row number: then they are keys, as text."""
    from pyarrow import compute

    largest = compute.max(column).as_py()
    return largest is not None and largest > np.iinfo(np.int64).max


def _is_missing(column: Any, is_text: bool) -> NDArray[np.bool_]:
    """Return which values are null, or empty text."""
    from pyarrow import compute

    missing = compute.fill_null(compute.equal(column, ""), True) if is_text else column.is_null()
    return np.asarray(missing.to_numpy(zero_copy_only=False), dtype=bool)


def _first_text(column: Any) -> tuple[int, str]:
    """Return row and value of the first entry that is no number, as it is shown."""
    for row, value in enumerate(column):
        try:
            float(str(value))
        except ValueError:
            return row, repr(str(value)[:SHOWN_CHARACTERS])
    return 0, repr(str(column[0])[:SHOWN_CHARACTERS])
