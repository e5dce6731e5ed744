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
    seconds: dict[str, float]
