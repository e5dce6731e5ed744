"""`twofold index`: the points of a table, or of shards that were embedded, in a store."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.datasets import iterate_records
from twofold.search.stores import Card, StoreName, VectorStore, create_store, is_store, open_store
from twofold.tasks._index_columns import column_kinds
from twofold.tasks._kept_index import model_fingerprint
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._points_files import N_ROWS
from twofold.tasks._prepared_model import PreparedModel
from twofold.tasks._shards import find_shards, read_note


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """The options of `twofold index`; see the command's help."""

    model: Path
    data: tuple[Path, ...]
    out: Path
    store: StoreName | None = None
    columns: tuple[str, ...] = ()
    id_column: str | None = None
    url: str | None = None
    factory: str | None = None
    memory: str | None = None
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class IndexResult:
    """What was indexed.

    Attributes
    ----------
    n_taken_in, n_items : int
        Numbers of rows in the files, and of items now in the index.
    store : str
        Type of the store.
    metric : str
        How points are compared.
    out : Path
        The folder of the index.
    columns : dict of str to str
        What each column that is kept holds: "numbers", "text" and others, as `Card.kinds`.
    seconds : dict of str to float
        Of each phase.
    """

    n_taken_in: int
    n_items: int
    store: str
    metric: str
    out: Path
    columns: dict[str, str]
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    ids: list[Hashable]
    points: NDArray[Any]
    columns: Any


def index_files(request: IndexRequest, progress: Progress | None = None) -> IndexResult:
    """Add the rows of files to an index; rows with existing ids are replaced.

    Parameters
    ----------
    request : IndexRequest
        The model, the files and the index.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    phases = Phases(progress)
    with phases.phase("opening"):
        files = [shard.source for shard in find_shards(request.data, request.out)]
        model = PreparedModel.open(request.model, device=request.device)
        request = replace(request, columns=_columns_of(request, files[0]))
        store, card = _store(request, model, files)
    with closing(store):
        n_taken_in, seen = 0, set[Hashable]()
        with phases.phase("indexing"):
            for number, file in enumerate(files):
                for piece in _pieces(request, model, card, file):
                    _refuse_repeated(file, piece.ids, seen)
                    store.upsert(piece.ids, piece.points, piece.columns)
                    n_taken_in += len(piece.ids)
                phases.tell("indexing", (number + 1) / len(files))
        with phases.phase("saving"):
            store.flush()
        return IndexResult(
            n_taken_in=n_taken_in,
            n_items=store.n_items,
            store=card.store,
            metric=card.metric,
            out=request.out,
            columns=dict(zip(card.columns, card.kinds, strict=False)),
            seconds=phases.seconds,
        )


def _columns_of(request: IndexRequest, first: Path) -> tuple[str, ...]:
    """Return the columns to keep one by one; where commas join them, the first file has names."""
    if not any("," in name for name in request.columns):
        return request.columns
    records = next(iterate_records(first, id_column=request.id_column, n_rows=1))
    return records.separate(request.columns)


def _store(
    request: IndexRequest, model: PreparedModel, files: list[Path]
) -> tuple[VectorStore, Card]:
    """Open the index that is there, or make it; refuse files whose columns it cannot keep."""
    fingerprint = model_fingerprint(request.model)
    if not is_store(request.out):
        card = Card(
            store=request.store or "folder",
            model=fingerprint,
            metric=model.learner.metric_,
            dim=model.learner.n_components_,
            columns=request.columns,
            kinds=_kinds(request.columns, files),
            url=request.url,
            factory=request.factory,
            memory=request.memory,
        )
        return create_store(request.out, card), card
    store, card = open_store(request.out, model=fingerprint)
    asked = {
        "--store": (request.store, card.store),
        "--url": (request.url, card.url),
        "--factory": (request.factory, card.factory),
        "--memory": (request.memory, card.memory),
        "--columns": (request.columns, card.columns),
    }
    for option, (wanted, there) in asked.items():
        if wanted and wanted != there:
            store.close()
            raise ValueError(
                f"{request.out} was made with {option} {there}, not {wanted}: leave that out, or "
                "choose another folder."
            )
    try:
        _kinds(card.columns, files, card.kinds)
    except Exception:
        store.close()
        raise
    return store, card


def _kinds(
    columns: tuple[str, ...], files: list[Path], there: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the kinds of columns; points that `twofold embed` made are refused later on."""
    rows = [file for file in files if _note(file) is None]
    return column_kinds(rows, columns, there) if columns and rows else there


def _note(file: Path) -> dict[str, Any] | None:
    """Return what a file of points was made of; None for rows."""
    return read_note(file) if file.suffix.lower() in (".parquet", ".pq") else None


def _pieces(
    request: IndexRequest, model: PreparedModel, card: Card, file: Path
) -> Iterator[_Piece]:
    """Yield the rows of a file; points that `twofold embed` made are not made again."""
    note = _note(file)
    if note is not None:
        if note.get("model") != card.model:
            raise ValueError(f"{file} holds points of another model than {request.model}.")
        yield from _embedded_pieces(file, card)
        return
    for records in iterate_records(file, id_column=request.id_column, n_rows=N_ROWS):
        records.require(card.columns)
        columns = records.table.select(list(card.columns)) if card.columns else None
        yield _Piece(records.ids.tolist(), model.embed(records), columns)


def _embedded_pieces(file: Path, card: Card) -> Iterator[_Piece]:
    from pyarrow import parquet

    if card.columns:
        raise ValueError(
            f"{file} contains points, but no column {card.columns[0]!r}: index the rows "
            "themselves, or leave --columns out."
        )
    with parquet.ParquetFile(file) as opened:
        for batch in opened.iter_batches(N_ROWS):
            points = np.asarray(batch["point"].flatten().to_numpy(zero_copy_only=False))
            table = points.reshape(batch.num_rows, -1)
            yield _Piece(batch["id"].to_pylist(), table, None)


def _refuse_repeated(file: Path, ids: list[Hashable], seen: set[Hashable]) -> None:
    for one in ids:
        if one in seen:
            raise ValueError(
                f"The id {one!r} in {file} occurs in more than one row: every row needs its own "
                "id. Rows without ids are numbered from 0 in every file."
            )
        seen.add(one)
