"""`twofold search`: the rows of a table that are nearest to others, by an index that is kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.datasets import Records, read_records
from twofold.search import Neighbours
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._places import check_new_file
from twofold.tasks._prepared_model import PREPARED, PreparedModel

N_EMBEDDED = 2**16
"""Rows that are embedded at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a user asks `twofold search` for; see the command for each."""

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
        What the queries are called.
    neighbours : Neighbours
        Ids, similarities and distances of the nearest, shape (n_queries, k).
    fields : dict of str to list
        For each column that was asked for, its values, shape (n_queries, k).
    n_items, n_embedded : int
        Rows of the index, and how many of them had to be embedded now.
    metric : str
        How points are compared.
    store : Path
        Where the index is kept.
    title : str
        What was searched by what.
    query_images, index_images : tuple of Path
        Where the pictures of rows lie, if they are images.
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


def search_files(request: SearchRequest, progress: Progress | None = None) -> SearchResult:
    """Find the nearest rows of a table, and keep the points of its rows for the next time.

    Parameters
    ----------
    request : SearchRequest
        The model and the files.
    progress : callable (what, share), optional
        Called as the work goes on.
    """
    for place in (request.out, request.page):
        if place is not None:
            check_new_file(place, request.overwrite)
    phases = Phases(progress)
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
    with phases.phase("reading"):
        items = read_records(request.index, id_column=request.id_column)
        items.require(request.columns)
        queries = items
        if request.query != request.index:
            queries = read_records(request.query, id_column=request.id_column)
    place = request.store or request.index.with_name(f"{request.index.name}.index")
    with phases.phase("indexing"):
        index, n_embedded = _kept_index(place, request.model, model, items, phases)
    with phases.phase("searching"):
        neighbours = _nearest(index, model, queries, items, request.k)
    result = SearchResult(
        query_ids=queries.ids,
        neighbours=neighbours,
        fields=_fields(items, neighbours, request.columns),
        n_items=items.n_items,
        n_embedded=n_embedded,
        metric=model.learner.metric_,
        store=place,
        title=f"{request.query.name} in {request.index.name}",
        query_images=_images(model, queries),
        index_images=_images(model, items),
        seconds=phases.seconds,
    )
    if request.out is not None:
        _write(request.out, result)
    return result
