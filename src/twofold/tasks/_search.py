"""`twofold search`: the rows of a table that are nearest to others, by an index that is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.datasets import Records, read_records
from twofold.search import IndexStore, NeighbourIndex, Neighbours, row_digest
from twofold.tasks._kept_index import model_fingerprint
from twofold.tasks._match import TABLE_SUFFIXES, write_table
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._places import check_new_file, check_suffix
from twofold.tasks._prepared_model import PreparedModel

N_EMBEDDED = 2**16
"""Rows that are embedded at a time."""


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
    neighbours : Neighbours
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
    query_images, index_images : tuple of Path
        Image files of the rows, if they are images.
    seconds : dict of str to float
        Of each phase.
    """

    query_ids: NDArray[Any]
    neighbours: Neighbours
    fields: dict[str, list[list[Any]]]
    n_items: int
    n_embedded: int
    metric: str
    store: Path
    title: str
    query_images: tuple[Path, ...]
    index_images: tuple[Path, ...]
    seconds: dict[str, float]

    @property
    def measure(self) -> Literal["distance", "similarity"]:
        """What to show for a neighbour: its distance, or for a dot product its similarity."""
        return "similarity" if self.metric == "dot" else "distance"


def search_files(request: SearchRequest, progress: Progress | None = None) -> SearchResult:
    """Find the nearest rows of a table, and keep the points of its rows for the next search.

    Parameters
    ----------
    request : SearchRequest
        The model and the files.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    store = request.store or request.index.with_name(f"{request.index.name}.index")
    _check_places(request, store)
    phases = Phases(progress)
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
    with phases.phase("reading"):
        items = read_records(request.index, id_column=request.id_column)
        items.require(request.columns)
        queries = items
        if request.query != request.index:
            queries = read_records(request.query, id_column=request.id_column)
        for table in (items, queries):
            model.check(table)
    with phases.phase("indexing"):
        index, n_embedded = _kept_index(store, request.model, model, items, phases)
    with phases.phase("searching"):
        neighbours = _nearest(index, model, queries, items, request.k)
    result = SearchResult(
        query_ids=queries.ids,
        neighbours=neighbours,
        fields=_fields(items, neighbours, request.columns),
        n_items=items.n_items,
        n_embedded=n_embedded,
        metric=model.learner.metric_,
        store=store,
        title=f"{request.query.name} in {request.index.name}",
        query_images=_images(model, queries),
        index_images=_images(model, items),
        seconds=phases.seconds,
    )
    if request.out is not None:
        _write(request.out, result)
    return result


def _check_places(request: SearchRequest, store: Path) -> None:
    """Refuse places that cannot be written, before the work."""
    if request.out is not None:
        check_suffix(request.out, TABLE_SUFFIXES)
    for file in (request.out, request.page):
        if file is not None:
            check_new_file(file, request.overwrite)
    IndexStore.check_place(store)


def _kept_index(
    place: Path, folder: Path, model: PreparedModel, items: Records, phases: Phases
) -> tuple[NeighbourIndex, int]:
    """Return the index of all rows; those that it has already are not embedded again."""
    fingerprint = model_fingerprint(folder)
    try:
        store = IndexStore.open(place, model=fingerprint)
    except (ValueError, FileNotFoundError):  # none yet, another model's, or damaged
        store = IndexStore(model.learner.metric_, model=fingerprint)
    update = store.update(items.ids.tolist(), row_digests(model, items))
    new = update.to_embed
    for first in range(0, new.size, N_EMBEDDED):
        rows = new[first : first + N_EMBEDDED]
        store.add(model.embed(items.take(rows)))
        phases.tell("indexing", (first + rows.size) / new.size)
    if new.size or update.n_gone:
        store.save(place)
    return store.index, int(new.size)


def row_digests(model: PreparedModel, records: Records) -> list[bytes]:
    """Return a digest of each row: its numbers, its fields, or its image's path, size and time."""
    if records.table is None:
        rows = records.features
        return [row_digest(row) for row in (rows.toarray() if sparse.issparse(rows) else rows)]
    if model.source == "images":
        states = [(path, path.stat()) for path in _images(model, records)]
        return [row_digest(path, facts.st_size, facts.st_mtime_ns) for path, facts in states]
    columns = [records.table[name].to_pylist() for name in records.column_names]
    return [row_digest(*row) for row in zip(*columns, strict=True)]


def _images(model: PreparedModel, records: Records) -> tuple[Path, ...]:
    """Return where the pictures of rows lie; nothing where rows are no images."""
    if model.source != "images":
        return ()
    return tuple(records.image_paths(model.image_column or "image"))


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
        "id": pa.array(found.ids.ravel()),
        "similarity": pa.array(found.similarity.ravel()),
        "distance": pa.array(found.distance.ravel()),
    }
    for name, values in result.fields.items():
        columns[name] = pa.array([value for row in values for value in row])
    write_table(path, pa.table(columns))
