"""A folder of our own: `NeighbourIndex` and a Parquet file of columns, held in memory.

The definition of what the other stores do; and where FAISS is to have the points, their FAISS file.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.search._index import NeighbourIndex
from twofold.search._space import Metric
from twofold.search.stores._card import CARD, Card
from twofold.search.stores._columns import take_columns
from twofold.search.stores._faiss_file import write_faiss
from twofold.search.stores._kinds import arrow_type_of
from twofold.search.stores._protocol import (
    ID,
    Condition,
    Hit,
    Points,
    check_condition,
)

INDEX, COLUMNS, FAISS_FILE = "index", "columns.parquet", "points.faiss"
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class FolderStore:
    """See `VectorStore`; nothing is on the disk before `flush`.

    Parameters
    ----------
    folder : path or None
        Where it is kept; None keeps it in memory.
    card : Card
        What it says of itself.
    index : NeighbourIndex, optional
        Points that are there already.
    columns : pyarrow.Table, optional
        Their columns.
    """

    def __init__(
        self,
        folder: Path | None,
        card: Card,
        index: NeighbourIndex | None = None,
        columns: Any = None,
    ) -> None:
        self._folder, self._card = folder, card
        if index is None:
            index = NeighbourIndex(card.metric, memory=card.memory)
        self._index = index
        self._rows: dict[Hashable, dict[str, Any]] = {}
        self._table: Any = None
        if columns is not None and card.columns:
            rows = columns.to_pylist()
            self._rows = dict(zip(self._index.ids.tolist(), rows, strict=True))

    @classmethod
    def open(cls, folder: Path, card: Card) -> FolderStore:
        """Open what `flush` wrote."""
        from pyarrow import parquet

        index = NeighbourIndex.open(folder / INDEX)
        columns = parquet.read_table(folder / COLUMNS) if card.columns else None
        if index.metric != card.metric or (columns is not None and len(columns) != len(index)):
            raise ValueError(
                f"{folder} is damaged: its parts do not fit together. Rebuild the index."
            )
        return cls(folder, card, index, columns)

    @property
    def metric(self) -> Metric:
        """How points are compared."""
        return self._index.metric

    @property
    def n_items(self) -> int:
        """How many there are."""
        return self._index.n_items

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are kept with the points."""
        return self._card.columns

    def upsert(self, ids: Sequence[Hashable], points: Points, columns: Any) -> None:
        """Take in points; see `VectorStore`."""
        card, columns = take_columns(self._card, self.n_items, columns)
        self._index.add(ids, points, replace=True)
        if card.columns:
            self._card = card
            self._rows.update(zip(ids, columns.to_pylist(), strict=True))
            self._table = None

    def query(self, points: Points, k: int, where: Sequence[Condition] = ()) -> list[list[Hit]]:
        """Return the nearest; see `VectorStore`. With conditions the search is always exact."""
        index = self._index
        if where:
            index = NeighbourIndex(self.metric, approximate=False)
            kept = self._meeting(where)
            index.add([self._index.ids[row] for row in kept], self._index.points[kept])
        if not index.n_items:
            return [[] for _ in points]
        found = index.query(points, k)
        columns = (found.ids.tolist(), found.similarity.tolist(), found.distance.tolist())
        return [
            [Hit(*one, self._rows.get(one[0], {})) for one in zip(*row, strict=True)]
            for row in zip(*columns, strict=True)
        ]

    def _meeting(self, where: Sequence[Condition]) -> NDArray[np.int64]:
        kept = np.ones(self.n_items, dtype=bool)
        for condition in where:
            check_condition(condition, self._card)
            kept &= self._meets(condition)
        return np.flatnonzero(kept)

    def _meets(self, condition: Condition) -> NDArray[np.bool_]:
        import pyarrow as pa
        from pyarrow import compute

        if condition.column == ID:
            return _ids_meet(self._index.ids.tolist(), condition)
        column = self._arrow()[condition.column]
        try:
            value = pa.scalar(condition.value)
            if pa.types.is_temporal(column.type):
                value = value.cast(column.type)
            compared = getattr(compute, COMPARISONS[condition.operator])(column, value)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"The column {condition.column!r} holds {column.type}, which cannot be compared "
                f"with {condition.value!r}."
            ) from error
        return np.asarray(compute.fill_null(compared, False).to_numpy())

    def _arrow(self) -> Any:
        """Return the columns as a table, in the order of the index."""
        import pyarrow as pa

        if self._table is None:
            rows = [self._rows[one] for one in self._index.ids.tolist()]
            kinds = self._card.kinds or len(self._card.columns) * ("",)
            self._table = pa.table(
                {
                    name: pa.array([row[name] for row in rows], arrow_type_of(kind))
                    for name, kind in zip(self._card.columns, kinds, strict=True)
                }
            )
        return self._table

    def flush(self) -> None:
        """Write the folder, whole or not at all."""
        from pyarrow import parquet

        from twofold._core.files import new_folder

        if self._folder is None:
            return
        with new_folder(self._folder, CARD) as place:
            self._index.save(place / INDEX)
            if self._card.columns:
                parquet.write_table(self._arrow(), place / COLUMNS)
            if self._card.store == "faiss":
                write_faiss(self._index, place / FAISS_FILE, self._card.factory)
            self._card.write(place)

    def close(self) -> None:
        """There is nothing to let go of."""


def _ids_meet(ids: list[Hashable], condition: Condition) -> NDArray[np.bool_]:
    """Return which ids meet a condition: numbers are compared with numbers, text with text."""
    meets, value = OPERATORS[condition.operator], condition.value
    kinds: tuple[type, ...] = (str,) if isinstance(value, str) else (int, float)
    return np.array([isinstance(one, kinds) and meets(one, value) for one in ids], dtype=bool)


COMPARISONS = {
    "=": "equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
