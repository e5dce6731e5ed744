"""CSV, TSV and Parquet files as Arrow tables: the one place that reads them.

Whatever is wrong with a file is one sentence with its name and line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from twofold._core.limits import refuse_bomb
from twofold._core.reasons import reason_of
from twofold._core.text_files import encoding_of

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEMICOLON = ";"
"""What spreadsheets write into a .csv where the comma is for decimals."""
PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (*DELIMITERS, *PARQUET)
HEADING_CHARACTERS = 2**20
"""Of a heading that are looked at for what separates its names."""
QUOTED = re.compile(r'"[^"]*"')
LARGEST_BLOCK = 2**30
PIECE_BYTES = 2**22
"""Of a text that is read in pieces: the more, the longer may one row be."""
MOST_COLUMNS = 2**16
"""Of a text: Arrow needs some kilobytes for each, however few rows there are."""
NUMBER_BYTES = 8
READ_BYTES = 2**16
"""Of a column of Parquet that are read at a time: else a row group, which may be the whole file, is
held packed while it is unpacked."""


def read_table(file: Path, text: Collection[str]) -> tuple[Any, tuple[str, ...]]:
    """Return a file's table, and notes on how it was read.

    Its headings come without spaces around them, each of them once.

    Parameters
    ----------
    file : Path
        It exists, and its name ends in one of `TABLE_SUFFIXES`.
    text : collection of str
        Columns of a text file that are kept as they are written, so that 007 is not 7.
    """
    with _named(file):
        if file.suffix.lower() in PARQUET:
            return checked_table(file, _read_parquet(file)), ()
        encoding = encoding_of(file)
        table = checked_table(file, _read_text(file, text, encoding))
    return table, reading_notes(file, encoding)


def iterate_table(file: Path, n_rows: int, only: Collection[str] | None = None) -> Iterator[Any]:
    """Yield a file's table, or some columns, in pieces of `n_rows` rows at most.

    Every column of a text is text here: whether all of it is numbers is known only at its end.
    """
    n_read = 0
    read_pieces = _parquet_pieces if file.suffix.lower() in PARQUET else _text_pieces
    with _named(file):
        for piece in read_pieces(file, n_rows, only):
            if piece.num_rows:
                yield checked_table(file, piece)
                n_read += piece.num_rows
    if not n_read:
        raise ValueError(f"{file} has a heading but no row: there is nothing to read.")


def checked_table(file: Path, table: Any) -> Any:
    """Return a table, each column one array, its offsets and letters checked."""
    # Arrow trusts the offsets and the UTF-8 of a file.
    table = table.combine_chunks()
    table.validate(full=True)
    names = [str(name).strip() for name in table.column_names]
    _refuse_repeated(file, names)
    if not table.num_rows:
        raise ValueError(f"{file} has a heading but no row: there is nothing to read.")
    return table.rename_columns(names)


def reading_notes(file: Path, encoding: str) -> tuple[str, ...]:
    """Say of a text that is not UTF-8, or not separated by commas, how it was read."""
    notes = []
    if encoding != "utf-8":
        notes.append(
            f"{file} is not UTF-8 and was read as {encoding}: save it as UTF-8 to be sure."
        )
    if _delimiter(file, encoding) == SEMICOLON:
        notes.append(f"{file} was read as separated by semicolons.")
    return tuple(notes)


def line_of(file: Path, row: int) -> int | None:
    """Return the line of a text on which a row, from 0 below the heading, ends; None if unsure."""
    for number, (line, _) in enumerate(_rows(file, "utf-8")):
        if number == row + 1:
            return line
    return None


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Turn what is wrong with a file into one sentence with its name."""
    try:
        yield
    except _TableError as error:
        raise ValueError(f"{file} {error}") from error
    # Arrow's own errors are of many kinds; all of them are of this file.
    except Exception as error:
        if str(file) in str(error) and isinstance(error, ValueError):
            raise
        raise _unreadable(file, error) from error


class _TableError(ValueError):
    """What is wrong with a table, without its name."""


def _unreadable(file: Path, error: Exception) -> ValueError:
    return ValueError(f"{file} cannot be read ({reason_of(error)}): fix it, or get it again.")


def _read_parquet(file: Path) -> Any:
    with _opened_parquet(file) as opened:
        return opened.read()


def _parquet_pieces(file: Path, n_rows: int, only: Collection[str] | None) -> Iterator[Any]:
    import pyarrow as pa

    with _opened_parquet(file) as opened:
        columns = _called(only, opened.schema_arrow.names)
        for batch in opened.iter_batches(n_rows, columns=columns):
            yield pa.Table.from_batches([batch])


@contextmanager
def _opened_parquet(file: Path) -> Iterator[Any]:
    # Imported here, so that data sets load without waiting for Arrow.
    from pyarrow import parquet

    # Not parquet.read_table, which makes columns of folders that are called like key=value.
    with parquet.ParquetFile(file, pre_buffer=False, buffer_size=READ_BYTES) as opened:
        facts = opened.metadata
        packed = sum(facts.row_group(k).total_byte_size for k in range(facts.num_row_groups))
        numbers = NUMBER_BYTES * facts.num_rows * facts.num_columns
        refuse_bomb(file, max(packed, numbers), "Write it as CSV if it is truly that large.")
        yield opened


def _read_text(file: Path, text: Collection[str], encoding: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    heading = _heading(file, encoding)
    kept = [name for name in heading if name.strip() in text]
    # A column's type is seen in the first block, where 0 and 1 do not tell of a grade further down.
    block_size = min(file.stat().st_size + 1, LARGEST_BLOCK)
    try:
        return arrow_csv.read_csv(file, **_options(file, kept, encoding, block_size))
    except pa.ArrowInvalid:
        _refuse_ragged(file, len(heading), encoding)
        raise


def _text_pieces(file: Path, n_rows: int, only: Collection[str] | None) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    encoding = encoding_of(file)
    heading = _heading(file, encoding)
    waiting: list[Any] = []
    try:
        options = _options(file, heading, encoding, PIECE_BYTES)
        options["convert_options"].include_columns = _called(only, heading) or []
        with arrow_csv.open_csv(file, **options) as opened:
            for batch in opened:
                waiting.append(batch)
                if sum(one.num_rows for one in waiting) >= n_rows:
                    yield from _cut(pa.Table.from_batches(waiting), n_rows)
                    waiting = []
    except pa.ArrowInvalid:
        _refuse_ragged(file, len(heading), encoding)
        raise
    if waiting:
        yield from _cut(pa.Table.from_batches(waiting), n_rows)


def _called(only: Collection[str] | None, names: list[str]) -> list[str] | None:
    """Return columns as their file spells them, spaces and all; None if all are wanted."""
    return None if only is None else [name for name in names if name.strip() in only]


def _cut(table: Any, n_rows: int) -> Iterator[Any]:
    for start in range(0, table.num_rows, n_rows):
        yield table.slice(start, n_rows)


def _heading(file: Path, encoding: str) -> list[str]:
    heading = next((row for _, row in _rows(file, encoding)), [])
    if len(heading) > MOST_COLUMNS:
        raise _TableError(
            f"has {len(heading):,} columns, and {MOST_COLUMNS:,} is the limit for a text file: "
            "save it with np.save, or as Parquet."
        )
    return heading


def _options(file: Path, kept: Collection[str], encoding: str, block_size: int) -> dict[str, Any]:
    """Return how Arrow is to read a text, `kept` being columns that stay as they are written."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return {
        "read_options": arrow_csv.ReadOptions(block_size=block_size, encoding=encoding),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=_delimiter(file, encoding), newlines_in_values=True
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(kept, pa.string()), strings_can_be_null=False
        ),
    }


def _refuse_ragged(file: Path, n_columns: int, encoding: str) -> None:
    """Refuse rows that are longer or shorter than the heading."""
    mark = "semicolon" if _delimiter(file, encoding) == SEMICOLON else "comma"
    ended = 0
    for line, row in _rows(file, encoding):
        if len(row) != n_columns:
            # A quote that nothing closes takes in what follows, often to the end of the file.
            if any("\n" in field or "\r" in field for field in row):
                raise _TableError(
                    f"has {len(row)} field(s) in the row from line {ended + 1} to line {line}, and "
                    f"{n_columns} in its heading: close the quote that opens in that row."
                )
            raise _TableError(
                f"has {len(row)} field(s) at line {line}, and {n_columns} in its heading: fix "
                f"that line, or put quotes around text that contains a {mark}."
            )
        ended = line


def _refuse_repeated(file: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"{file} has {names.count(name)} columns with the name {name!r}: rename or drop "
                "all but one."
            )
        seen.add(name)


def _delimiter(file: Path, encoding: str) -> str:
    """Return what stands between the fields of a text: of a .csv, what its heading shows."""
    usual = DELIMITERS[file.suffix.lower()]
    if usual != ",":
        return usual
    with _opened_text(file, encoding) as opened:
        heading = QUOTED.sub("", opened.readline(HEADING_CHARACTERS))
    return SEMICOLON if SEMICOLON in heading and usual not in heading else usual


def _opened_text(file: Path, encoding: str) -> TextIO:
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    return file.open(encoding=encoding, errors="replace", newline="")


def _rows(file: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a text that is not empty, with the line it ends on."""
    with _opened_text(file, encoding) as opened:
        reader = csv.reader(opened, delimiter=_delimiter(file, encoding))
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error:  # a field beyond Python's limit: Arrow says what it thinks of it
            return
