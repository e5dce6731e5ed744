"""CSV, TSV and Parquet files as Arrow tables: the one place that reads them.

Whatever is wrong with a file is one sentence with its name and line.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from twofold._core.limits import refuse_bomb
from twofold._core.reasons import reason_of
from twofold._core.text_files import refuse_not_utf8

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (*DELIMITERS, *PARQUET)
LARGEST_BLOCK = 2**30
MOST_COLUMNS = 2**16
"""Of a text: Arrow needs some kilobytes for each, however few rows there are."""
NUMBER_BYTES = 8


def read_table(file: Path, text: Collection[str]) -> Any:
    """Return a file's table, its headings without spaces around them, each of them once.

    Parameters
    ----------
    file : Path
        It exists, and its name ends in one of `TABLE_SUFFIXES`.
    text : collection of str
        Columns of a text file that are kept as they are written, so that 007 is not 7.
    """
    is_parquet = file.suffix.lower() in PARQUET
    if not is_parquet:
        refuse_not_utf8(file)
    try:
        table = _read_parquet(file) if is_parquet else _read_text(file, text)
        # Arrow trusts the offsets and the UTF-8 of a file; a column is one array from here on.
        table = table.combine_chunks()
        table.validate(full=True)
        names = [str(name).strip() for name in table.column_names]
    except _TableError as error:
        raise ValueError(f"{file} {error}") from error
    # Arrow's own errors are of many kinds; all of them are of this file.
    except Exception as error:
        if str(file) in str(error) and isinstance(error, ValueError):
            raise
        raise _unreadable(file, error) from error
    _refuse_repeated(file, names)
    if not table.num_rows:
        raise ValueError(f"{file} has a heading but no row: there is nothing to read.")
    return table.rename_columns(names)


def line_of(file: Path, row: int) -> int | None:
    """Return the line of a text on which a row, from 0 below the heading, ends; None if unsure."""
    for number, (line, _) in enumerate(_rows(file)):
        if number == row + 1:
            return line
    return None


class _TableError(ValueError):
    """What is wrong with a table, without its name."""


def _unreadable(file: Path, error: Exception) -> ValueError:
    return ValueError(f"{file} cannot be read ({reason_of(error)}): mend it, or get it again.")


def _read_parquet(file: Path) -> Any:
    # Imported here, so that data sets load without waiting for Arrow.
    from pyarrow import parquet

    # Not parquet.read_table, which makes columns of folders that are called like key=value.
    with parquet.ParquetFile(file) as opened:
        facts = opened.metadata
        packed = sum(facts.row_group(k).total_byte_size for k in range(facts.num_row_groups))
        numbers = NUMBER_BYTES * facts.num_rows * facts.num_columns
        refuse_bomb(file, max(packed, numbers), "Write it as CSV if it is truly that large.")
        return opened.read()


def _read_text(file: Path, text: Collection[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    heading = next((row for _, row in _rows(file)), [])
    if len(heading) > MOST_COLUMNS:
        raise _TableError(
            f"has {len(heading):,} columns, and {MOST_COLUMNS:,} are the most of a text: save it "
            "by np.save, or as Parquet."
        )
    kept = [name for name in heading if name.strip() in text]
    # A column's type is seen in the first block, where 0 and 1 do not tell of a grade further down.
    block_size = min(file.stat().st_size + 1, LARGEST_BLOCK)
    try:
        return arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(block_size=block_size),
            parse_options=arrow_csv.ParseOptions(delimiter=DELIMITERS[file.suffix.lower()]),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(kept, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        _refuse_ragged(file, len(heading))
        raise


def _refuse_ragged(file: Path, n_columns: int) -> None:
    """Refuse rows that are longer or shorter than the heading."""
    for line, row in _rows(file):
        if len(row) != n_columns:
            raise _TableError(
                f"has {len(row)} field(s) at line {line}, and {n_columns} in its heading: mend "
                "that line, or quote the text that holds a comma."
            )


def _refuse_repeated(file: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"{file} has {names.count(name)} columns that are called {name!r}: rename or drop "
                "all but one."
            )
        seen.add(name)


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a text that is not empty, with the line it ends on."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        reader = csv.reader(opened, delimiter=DELIMITERS[file.suffix.lower()])
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error:  # a field beyond Python's limit: Arrow says what it thinks of it
            return
