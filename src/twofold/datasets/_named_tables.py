"""One table of records or two, whose ids may be in whatever column the pairs name."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

from twofold.datasets._columns import column_with
from twofold.datasets._pairs_file import read_pair_columns
from twofold.datasets._records import Records, read_records

Place = str | os.PathLike[str]


def read_tables(
    left: Place,
    right: Place | None = None,
    *,
    id_column: str | None = None,
    pairs: Place | None = None,
    features: Collection[str] = (),
) -> tuple[Records, Records | None]:
    """Read one table of records, or two with the same columns.

    Parameters
    ----------
    left, right : path
        As in `read_records`.
    id_column : str, optional
        The column with the ids of the rows. By default the one named "id"; without it, the column
        of text that has what the pairs name, with a note.
    pairs : path, optional
        Statements about the rows.
    features : collection of str
        Columns that are no ids, whatever the pairs name.

    Returns
    -------
    tuple of Records
        The second is None without `right`.
    """
    places = [left] if right is None else [left, right]
    tables = [read_records(place, id_column=id_column) for place in places]
    if pairs is not None and all(table.id_column is None for table in tables):
        named = _named_by(pairs, tables[0])
        if (
            named
            and named not in tables[0].separate(features)
            and all(named in one.column_names for one in tables)
        ):
            tables = [_called_by(table, named, pairs) for table in tables]
    return tables[0], tables[1] if len(tables) > 1 else None


def _named_by(pairs: Place, records: Records) -> str | None:
    """Return the column of text that has the first id of the pairs, and no value twice.

    None if that id is a row number.
    """
    if records.table is None or records.path.is_dir():  # where images are called by their paths
        return None
    ids = read_pair_columns(pairs).ids("left")
    first = str(ids[0].as_py()) if len(ids) else ""
    return None if not first or first.isdigit() else column_with(first, records.table)


def _called_by(records: Records, named: str, pairs: Place) -> Records:
    again = read_records(records.path, id_column=named)
    note = f"The ids of {records.path} are those in its column {named!r}, which {pairs} names."
    return replace(again, notes=(*again.notes, note))
