"""What is asked about: the items of a user's files, what is shown of them, their features."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from twofold.ask._request import AskRequest
from twofold.ask._store import ItemId
from twofold.datasets import Records, read_records
from twofold.preparation import ImagePreparation, TablePreparation
from twofold.tasks import read_items

LONGEST_FIELD = 2000
"""Letters of a value that are shown."""


@dataclass(eq=False)
class Items:
    """Items of one or two tables, numbered through, with what a person sees of them.

    Attributes
    ----------
    tables : tuple of Records
        One, or the left and the right one.
    features : array or sparse matrix, n_items rows
        What is learnt from.
    source : {"table", "images", "features"}
        Where the features come from.
    preparation : TablePreparation, ImagePreparation or None
        From rows to features; None where the user brought them.
    image_column : str or None
        The column that names an item's picture.
    shown : tuple of str
        The columns that are shown.
    notes : list of str
        What the user should know about the files.
    """

    tables: tuple[Records, ...]
    features: Any
    source: str
    preparation: TablePreparation | ImagePreparation | None = None
    image_column: str | None = None
    shown: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def n_items(self) -> int:
        """Items of all tables."""
        return sum(table.n_items for table in self.tables)

    @property
    def n_left(self) -> int | None:
        """Items of the left of two tables, which come first; None if there is one table."""
        return self.tables[0].n_items if len(self.tables) == 2 else None

    def ids(self) -> list[ItemId]:
        """Return what the items are called: the table, and the id in it."""
        return [(side, str(name)) for side, table in enumerate(self.tables) for name in table.ids]

    def name(self, item: int) -> str:
        """Return the id of an item."""
        table, row = self._place(item)
        return str(table.ids[row])

    def describe(self, item: int) -> dict[str, Any]:
        """Return what the page shows of an item."""
        table, row = self._place(item)
        fields = {name: _shown(table.table[name][row].as_py()) for name in self.shown}
        return {
            "name": str(table.ids[row]),
            "image": self.image_column is not None,
            "fields": {name: value for name, value in fields.items() if value},
        }

    def image_path(self, item: int) -> Path | None:
        """Return the file with an item's picture; None where there are no pictures."""
        if self.image_column is None:
            return None
        table, row = self._place(item)
        folder = table.path if table.path.is_dir() else table.path.parent
        return folder / str(table.table[self.image_column][row].as_py())

    def image_folders(self) -> tuple[Path, ...]:
        """Return the folders that pictures may be served from."""
        return tuple(
            table.path if table.path.is_dir() else table.path.parent for table in self.tables
        )

    def find(self, text: str, n: int) -> list[int]:
        """Return the first items that hold all words of a text, in a name or a shown column."""
        words = text.casefold().split()
        hits = (
            item for item, said in enumerate(self._texts) if all(word in said for word in words)
        )
        return [item for item, _ in zip(hits, range(n), strict=False)] if words else []

    @cached_property
    def _texts(self) -> list[str]:
        texts = []
        for table in self.tables:
            columns = [table.table[name].to_pylist() for name in self.shown]
            rows = zip(map(str, table.ids), *columns, strict=True)
            texts += [" ".join(_shown(value) for value in row).casefold() for row in rows]
        return texts

    def _place(self, item: int) -> tuple[Records, int]:
        first = self.tables[0].n_items
        return (self.tables[0], item) if item < first else (self.tables[1], item - first)


def read_ask_items(request: AskRequest) -> Items:
    """Read what is to be asked about; what cannot be asked about is a sentence."""
    if request.features is not None:
        items = _with_given_features(request)
    else:
        given = read_items(request.fit_request(), _refuse_nameless)
        image_column = request.image or ("image" if given.source == "images" else None)
        items = Items(
            given.tables,
            given.features,
            given.source,
            given.preparation,
            image_column,
            _shown_columns(request, given.tables[0], image_column),
            given.notes,
        )
    if items.n_items < 2 or (items.n_left is not None and not all(t.n_items for t in items.tables)):
        raise ValueError(f"{request.data} holds {items.n_items} item(s): at least two are needed.")
    return items


def _with_given_features(request: AskRequest) -> Items:
    """Return items whose features the user brings as a matrix, a row per item."""
    assert request.features is not None
    paths = [request.data] if request.right is None else [request.data, request.right]
    tables = tuple(read_records(path, id_column=request.id_column) for path in paths)
    columns = tables[0].separate((*request.text, *request.columns))
    named = [*columns, *filter(None, [request.image])]
    for table in tables:
        _refuse_nameless(table)
        table.require(named)
    matrix = read_records(request.features).features
    if matrix is None:
        raise ValueError(f"--features must be a .npy or .npz file, but {request.features} is not.")
    n_items = sum(table.n_items for table in tables)
    if matrix.shape[0] != n_items:
        raise ValueError(
            f"{request.features} has {matrix.shape[0]:,} rows, and there are {n_items:,} items: "
            "it needs one row per item, in the same order, for both tables if there are two."
        )
    is_folder = request.data.is_dir()
    image_column = request.image or ("image" if is_folder else None)
    shown = _shown_columns(request, tables[0], image_column)
    notes = [note for table in tables for note in table.notes]
    return Items(tables, matrix, "features", None, image_column, shown, notes)


def _shown_columns(
    request: AskRequest, table: Records, image_column: str | None
) -> tuple[str, ...]:
    """Return the columns that a person sees: those named, else all; of a folder of images none."""
    if table.path.is_dir():
        return ()
    named = table.separate((*request.text, *request.columns))
    return named or tuple(name for name in table.column_names if name != image_column)


def _refuse_nameless(table: Records) -> None:
    if table.table is None:
        raise ValueError(
            f"{table.path} is a matrix of numbers, which cannot be shown: give a table or a "
            "folder of images, and the matrix with --features."
        )
    if not table.path.is_dir() and table.id_column is None:
        raise ValueError(
            f"{table.path} has no column of ids, which are needed to store answers: give one with "
            "--id COLUMN."
        )


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    text = str(value)
    return text if len(text) <= LONGEST_FIELD else text[: LONGEST_FIELD - 1] + "…"
