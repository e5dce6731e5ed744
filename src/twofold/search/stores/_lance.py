"""LanceDB, which lives in this process and keeps its tables in a folder."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from twofold.search._space import Metric
from twofold.search.stores._card import Card
from twofold.search.stores._columns import take_columns
from twofold.search.stores._protocol import (
    ID,
    VECTOR,
    Condition,
    Hit,
    Points,
    check_condition,
    distance_from,
)

FOLDER, TABLE = "lance", "points"
KINDS: dict[Metric, str] = {"cosine": "cosine", "euclidean": "l2", "dot": "dot"}
KINDS_OF_IDS = {"int64": "whole numbers", "string": "text"}


def require_lance() -> None:
    """Refuse to begin without LanceDB."""
    if find_spec("lancedb") is None:
        raise ImportError(
            "An index with --store lance needs LanceDB: pip install 'twofold[lance]'."
        )


class LanceStore:
    """See `VectorStore`. The table is `points`, its columns `id`, `vector` and those of the rows.

    Search compares all points until LanceDB is told to make an index of its own.
    """

    def __init__(self, folder: Path, card: Card) -> None:
        require_lance()
        import lancedb

        self._folder, self._card = folder, card
        self._database = lancedb.connect(folder / FOLDER)
        is_there = (folder / FOLDER / f"{TABLE}.lance").exists()
        self._table: Any = self._database.open_table(TABLE) if is_there else None

    @property
    def metric(self) -> Metric:
        """How points are compared."""
        return self._card.metric

    @property
    def n_items(self) -> int:
        """How many there are."""
        return 0 if self._table is None else int(self._table.count_rows())

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are kept with the points."""
        return self._card.columns

    def upsert(self, ids: Sequence[Hashable], points: Points, columns: Any) -> None:
        """Take in points; see `VectorStore`."""
        import pyarrow as pa

        card, columns = take_columns(self._card, self.n_items, columns)
        if card != self._card:
            card.write(self._folder)
            self._card = card
        vectors = pa.FixedSizeListArray.from_arrays(points.ravel(), points.shape[1])
        kept = {name: columns[name] for name in self._card.columns}
        rows = pa.table({ID: pa.array(ids), VECTOR: vectors, **kept})
        if self._table is None:
            self._table = self._database.create_table(TABLE, rows)
            return
        held = self._table.schema.field(ID).type
        if rows.schema.field(ID).type != held:
            raise ValueError(
                f"The ids in this index are {KINDS_OF_IDS.get(str(held), held)}, but the new rows "
                f"have {ids[0]!r}: LanceDB keeps ids of one kind, so give all files such ids, or "
                "use another --store."
            )
        rows = rows.cast(self._table.schema)
        merge = self._table.merge_insert(ID)
        merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def query(self, points: Points, k: int, where: Sequence[Condition] = ()) -> list[list[Hit]]:
        """Return the nearest; see `VectorStore`."""
        if self._table is None:
            return [[] for _ in points]
        for condition in where:
            check_condition(condition, self._card)
        return [self._nearest(point, k, where) for point in points]

    def _nearest(self, point: Any, k: int, where: Sequence[Condition]) -> list[Hit]:
        search = self._table.search(point, vector_column_name=VECTOR)
        search = search.distance_type(KINDS[self.metric]).limit(k)
        sql = " AND ".join(map(_as_sql, where))
        if where:
            search = search.where(sql, prefilter=True)
        try:
            found = search.select([ID, *self._card.columns, "_distance"]).to_arrow()
        except (ValueError, RuntimeError) as error:
            if not where:
                raise
            raise ValueError(
                f"LanceDB cannot compare these as {sql} asks: compare ids and columns with values "
                "of their own type."
            ) from error
        return [self._hit(row) for row in found.to_pylist()]

    def _hit(self, row: dict[str, Any]) -> Hit:
        distance = row["_distance"]
        similarity = -(max(distance, 0.0) ** 0.5) if self.metric == "euclidean" else 1 - distance
        fields = {name: row[name] for name in self._card.columns}
        return Hit(row[ID], similarity, distance_from(self.metric, similarity), fields)

    def flush(self) -> None:
        """LanceDB has written what it took in; small pieces are joined."""
        if self._table is not None:
            self._table.optimize()

    def close(self) -> None:
        """There is nothing to let go of."""


def _as_sql(condition: Condition) -> str:
    value = condition.value
    if isinstance(value, str):
        literal = "'" + value.replace("'", "''") + "'"
    else:
        literal = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"`{condition.column}` {condition.operator} {literal}"
