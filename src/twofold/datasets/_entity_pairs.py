"""Entity resolution: pairs of records, and whether both describe the same thing.

Three of Magellan's sets in Ditto's layout: amazon-google, dblp-acm, fodors-zagats.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.datasets._archives import open_gzip, read_at_most
from twofold.datasets._data_folder import data_folder
from twofold.datasets._places import place_of

if TYPE_CHECKING:
    import pyarrow

ENTITY_PAIR_SETS = ("amazon-google", "dblp-acm", "fodors-zagats")
MARKER = re.compile(r"\bCOL (\S+) VAL\b")
LABELS = ("0", "1")


@dataclass(frozen=True, slots=True, eq=False)
class RecordPairs:
    """Pairs of records.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Numbers of records.
    similar : ndarray of uint8, shape (n_pairs,)
        1 if both describe the same thing.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similar: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class EntityPairs:
    """One set of pairs of records, in its official parts.

    Attributes
    ----------
    records : tuple of str
        The text of every record that is in some pair, without the names of its columns. Records
        that differ only in the column a text stands in are two, of equal text.
    train, valid, test : RecordPairs
        The official parts, whose numbers all mean `records`.
    """

    records: tuple[str, ...]
    train: RecordPairs
    valid: RecordPairs
    test: RecordPairs


@dataclass(frozen=True, slots=True, eq=False)
class EntityTables:
    """One set of pairs of records, as two tables with their columns.

    Attributes
    ----------
    left, right : pyarrow.Table
        The records that stand first, or second, in some pair. Columns hold strings; a text that is
        empty or not there is null.
    train, valid, test : RecordPairs
        The official parts: `left` numbers rows of the left table, `right` of the right one.
    """

    left: pyarrow.Table
    right: pyarrow.Table
    train: RecordPairs
    valid: RecordPairs
    test: RecordPairs


def load_entity_tables(name: str, data_dir: str | os.PathLike[str] | None = None) -> EntityTables:
    """Read a set's three files as `load_entity_pairs` does, and keep the columns.

    Parameters
    ----------
    name, data_dir
        As for `load_entity_pairs`.
    """
    check_choice("name", name, ENTITY_PAIR_SETS)
    folder = data_folder(data_dir)
    left: dict[str, int] = {}
    right: dict[str, int] = {}
    train, valid, test = (
        _read_part(_find(folder, name, part), left, right) for part in ("train", "valid", "test")
    )
    return EntityTables(_table(left), _table(right), train, valid, test)


def load_entity_pairs(name: str, data_dir: str | os.PathLike[str] | None = None) -> EntityPairs:
    """Read a set's three files in ``entity_pairs/<name>/``.

    Parameters
    ----------
    name : {"amazon-google", "dblp-acm", "fodors-zagats"}
        Of the set.
    data_dir : path, optional
        A folder with ``entity_pairs/<name>/{train,valid,test}.txt.gz`` in it, by default the one in
        the variable TWOFOLD_DATA. A line is a record, a tab, a record, a tab, and 0 or 1; a record
        is ``COL name VAL text``, once per column.
    """
    check_choice("name", name, ENTITY_PAIR_SETS)
    folder = data_folder(data_dir)
    numbers: dict[str, int] = {}
    train, valid, test = (
        _read_part(_find(folder, name, part), numbers, numbers)
        for part in ("train", "valid", "test")
    )
    return EntityPairs(tuple(map(_text, numbers)), train, valid, test)


def _find(folder: Path, name: str, part: str) -> Path:
    path = folder / "entity_pairs" / name / f"{part}.txt.gz"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: {place_of(name, folder)}.")
    return path


def _read_part(path: Path, left: dict[str, int], right: dict[str, int]) -> RecordPairs:
    """Return the pairs of a file; a record that has no number yet gets the next one of its side."""
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) != 3:
            raise ValueError(
                f"{path}, line {number}: a line must have three fields separated by tabs (record, "
                f"record, and 0 or 1), but this one has {len(fields)}."
            )
        first, second, label = (field.strip() for field in fields)
        if label not in LABELS:
            raise ValueError(
                f"{path}, line {number}: the label must be 0 (not alike) or 1 (alike), got "
                f"{label!r}."
            )
        first_row = left.setdefault(first, len(left))
        second_row = right.setdefault(second, len(right))
        rows.append((first_row, second_row, int(label)))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return RecordPairs(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].astype(np.uint8))


def _lines(path: Path) -> list[str]:
    with open_gzip(path) as file:
        content = read_at_most(path, file)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} cannot be read (line {line} is not UTF-8): get it again."
        ) from error
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _text(record: str) -> str:
    """Return what a record says, without the names of its columns."""
    return " ".join(MARKER.sub(" ", record).split())


def _table(records: dict[str, int]) -> pyarrow.Table:
    """Return records as rows; their columns are those that any of them names, in that order."""
    import pyarrow

    rows = [_fields(record) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table(
        {name: pyarrow.array([row.get(name) for row in rows], pyarrow.string()) for name in names}
    )


def _fields(record: str) -> dict[str, str | None]:
    """Return what a record says in each of its columns, None for an empty text."""
    marks = list(MARKER.finditer(record))
    ends = [mark.start() for mark in marks[1:]] + [len(record)]
    return {
        mark[1]: " ".join(record[mark.end() : end].split()) or None
        for mark, end in zip(marks, ends, strict=True)
    }
