"""`twofold search`: the rows of a table, or of an index, that are nearest to others.

The index of a table is kept for the next search; one that is given is only read.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold._core.names import separate_names, shown_names
from twofold.datasets import Records, read_records
from twofold.search import IndexStore, NeighbourIndex, Neighbours
from twofold.search.stores import VectorStore, is_store
from twofold.tasks._kept_index import is_index, open_index
from twofold.tasks._match import TABLE_SUFFIXES, write_table
from twofold.tasks._nearest_rows import NearestRows, equally_many
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._places import check_new_file, check_suffix
from twofold.tasks._prepared_model import PreparedModel
from twofold.tasks._table_index import image_files, table_index


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The options of `twofold search`; see the command's help."""

    model: Path
    index: Path
    query: Path
    k: int = 10
    store: Path | None = None
    columns: tuple[str, ...] = ()
    id_column: str | None = None
    out: Path | None = None
    page: Path | None = None
    device: str = "auto"
    overwrite: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What was found.

    Attributes
    ----------
    query_ids : ndarray, shape (n_queries,)
        Ids of the queries.
    neighbours : NearestRows
        Ids, similarities and distances of the nearest, shape (n_queries, k).
    fields : dict of str to list
        For each column that was asked for, its values, shape (n_queries, k).
    n_items, n_embedded : int
        Numbers of rows in the index, and of those that were embedded now.
    metric : str
        How points are compared.
    store : Path
        Where the index is kept.
    title : str
        A title that names both files.
    query_images : tuple of Path
        Image files of the queries, if they are images.
    index_images : mapping of ids to Path
        Those of the rows that were searched, if these are images in files.
    seconds : dict of str to float
        Of each phase.
    """

    query_ids: NDArray[Any]
    neighbours: NearestRows
    fields: dict[str, list[list[Any]]]
    n_items: int
    n_embedded: int
    metric: str
    store: Path
    title: str
    query_images: tuple[Path, ...]
    index_images: Mapping[Hashable, Path]
    seconds: dict[str, float]

    @property
    def measure(self) -> Literal["distance", "similarity"]:
        """What to show for a neighbour: its distance, or for a dot product its similarity."""
        return "similarity" if self.metric == "dot" else "distance"


def search_files(request: SearchRequest, progress: Progress | None = None) -> SearchResult:
    """Find the nearest rows of a table, and keep the points of its rows for the next search.

    Where `request.index` is an index already, as `twofold index` writes, it is searched as it is.

    Parameters
    ----------
    request : SearchRequest
        The model and the files.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    _check_places(request)
    phases = Phases(progress)
    search = _search_index if is_index(request.index) else _search_table
    result = search(request, phases)
    if request.out is not None:
        _write(request.out, result)
    return result


def _search_index(request: SearchRequest, phases: Phases) -> SearchResult:
    """Search an index that is there: only the queries are embedded, and nothing is written."""
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
        store = open_index(request.index, request.model, model)
    with closing(store):
        with phases.phase("reading"):
            columns = _kept_columns(request.index, store, request.columns)
            queries = read_records(request.query, id_column=request.id_column)
            model.check(queries)
        with phases.phase("searching"):
            hits = equally_many(store.query(model.embed(queries), request.k))
        return SearchResult(
            query_ids=queries.ids,
            neighbours=NearestRows.of_hits(hits),
            fields={name: [[hit.fields[name] for hit in row] for row in hits] for name in columns},
            n_items=store.n_items,
            n_embedded=0,
            metric=store.metric,
            store=request.index,
            title=f"{request.query.name} in {request.index.name}",
            query_images=image_files(model, queries),
            index_images={},
            seconds=phases.seconds,
        )


def _kept_columns(place: Path, store: VectorStore, columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns to show; refuse one that the index does not keep."""
    names = separate_names(columns, store.columns)
    missing = next((name for name in names if name not in store.columns), None)
    if missing is not None:
        kept = shown_names(list(store.columns)) if store.columns else "none"
        raise ValueError(
            f"{place} does not keep the column {missing!r} (it keeps {kept}): index the rows "
            f"with --columns {missing!r} into another folder, or give their file as --index."
        )
    return names


def _search_table(request: SearchRequest, phases: Phases) -> SearchResult:
    """Search the rows of a file; its index is brought up to date and kept."""
    store = _place_of(request)
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
    with phases.phase("reading"):
        items = read_records(request.index, id_column=request.id_column)
        columns = items.separate(request.columns)
        items.require(columns)
        queries = items
        if request.query != request.index:
            queries = read_records(request.query, id_column=request.id_column)
        for table in (items, queries):
            model.check(table)
    with phases.phase("indexing"):
        index, n_embedded = table_index(store, request.model, model, items, phases)
    with phases.phase("searching"):
        found = _nearest(index, model, queries, items, request.k)
    return SearchResult(
        query_ids=queries.ids,
        neighbours=NearestRows.of_neighbours(found),
        fields=_fields(items, found, columns),
        n_items=items.n_items,
        n_embedded=n_embedded,
        metric=model.learner.metric_,
        store=store,
        title=f"{request.query.name} in {request.index.name}",
        query_images=image_files(model, queries),
        index_images=dict(zip(items.ids.tolist(), image_files(model, items), strict=False)),
        seconds=phases.seconds,
    )


def _place_of(request: SearchRequest) -> Path:
    """Return where the index of a table is kept."""
    return request.store or request.index.with_name(f"{request.index.name}.index")


def _check_places(request: SearchRequest) -> None:
    """Refuse indexes where rows are needed, and places that cannot be written: before the work."""
    if request.out is not None:
        check_suffix(request.out, TABLE_SUFFIXES)
    for file in (request.out, request.page):
        if file is not None:
            check_new_file(file, request.overwrite)
    if is_index(request.query):
        raise ValueError(
            f"{request.query} is an index, which has points but not the rows that they are of: "
            "give the rows to search for as --query."
        )
    if not is_index(request.index):
        _check_kept_place(_place_of(request))
    elif request.store is not None:
        raise ValueError(
            f"--store says where to keep the index of a file, but {request.index} is an index "
            "itself: leave it out."
        )


def _check_kept_place(store: Path) -> None:
    if is_store(store):
        raise ValueError(
            f"{store} was written by twofold index: search it with --index {store}, or keep "
            "another index with --store."
        )
    IndexStore.check_place(store)


def _nearest(
    index: NeighbourIndex, model: PreparedModel, queries: Records, items: Records, k: int
) -> Neighbours:
    """Return the nearest rows of the table, which may stand in another order in the index."""
    if queries is items:
        rows = {one: row for row, one in enumerate(index.ids.tolist())}
        points = index.points[[rows[one] for one in items.ids.tolist()]]
    else:
        points = model.embed(queries)
    return index.query(points, k)


def _fields(
    items: Records, neighbours: Neighbours, columns: tuple[str, ...]
) -> dict[str, list[list[Any]]]:
    """Return the values of columns for the rows found, shape (n_queries, k) each."""
    row_of = {one: row for row, one in enumerate(items.ids.tolist())}
    rows = [[row_of[one] for one in found] for found in neighbours.ids.tolist()]
    values = {name: items.table[name].to_pylist() for name in columns}
    return {
        name: [[column[row] for row in found] for found in rows] for name, column in values.items()
    }


def _write(path: Path, result: SearchResult) -> None:
    """Write a row for each query and neighbour."""
    import pyarrow as pa

    found = result.neighbours
    n_queries, k = found.ids.shape
    columns = {
        "query": pa.array(np.repeat(result.query_ids, k)),
        "rank": pa.array(np.tile(np.arange(1, k + 1), n_queries)),
        "id": _id_column(found.ids.ravel()),
        "similarity": pa.array(found.similarity.ravel()),
        "distance": pa.array(found.distance.ravel()),
    }
    for name, values in result.fields.items():
        columns[name] = pa.array([value for row in values for value in row])
    write_table(path, pa.table(columns))


def _id_column(ids: NDArray[Any]) -> Any:
    """Return ids as an Arrow array: as text, where an index has numbers from one file and text."""
    import pyarrow as pa

    kinds = set(map(type, ids.tolist()))
    return pa.array(ids if len(kinds) < 2 else [str(one) for one in ids.tolist()])
