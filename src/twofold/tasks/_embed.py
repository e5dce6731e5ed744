"""`twofold embed`: the points of all rows of a file, a piece at a time, with their ids."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_file
from twofold.datasets import iterate_records
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._places import check_new_file, check_suffix
from twofold.tasks._points_files import N_ROWS, npy_file, parquet_file
from twofold.tasks._prepared_model import PreparedModel

SUFFIXES = (".parquet", ".pq", ".npy")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRequest:
    """The options of `twofold embed`; see the command's help."""

    model: Path
    data: Path
    out: Path
    id_column: str | None = None
    device: str = "auto"
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """What was written.

    Attributes
    ----------
    n_items, n_components : int
        Shape of the points.
    metric : str
        How to compare them.
    out : Path
        The file.
    ids_file : Path or None
        The file with the rows' ids, if `out` cannot hold them and they are not row numbers.
    seconds : dict of str to float
        Of each phase.
    """

    n_items: int
    n_components: int
    metric: str
    out: Path
    ids_file: Path | None
    seconds: dict[str, float]


def embed_file(request: EmbedRequest, progress: Progress | None = None) -> EmbedResult:
    """Embed the rows of a file that may be larger than memory.

    Parameters
    ----------
    request : EmbedRequest
        The model and the files.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    suffix = request.out.suffix.lower()
    check_suffix(request.out, SUFFIXES)
    check_new_file(request.out, request.overwrite)
    ids_file = request.out.with_name(f"{request.out.stem}-ids.csv") if suffix == ".npy" else None
    if ids_file is not None:
        check_new_file(ids_file, request.overwrite)
    phases = Phases(progress)
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
    n_components = model.learner.n_components_
    open_file = npy_file if suffix == ".npy" else parquet_file
    ids: list[NDArray[Any]] = []
    n_items = 0
    total = _n_rows(request.data)
    with phases.phase("embedding"), open_file(request.out) as write:
        for piece in iterate_records(request.data, id_column=request.id_column, n_rows=N_ROWS):
            write(piece.ids, model.embed(piece))
            n_items += piece.n_items
            if ids_file is not None:
                ids.append(piece.ids)
            if total:
                phases.tell("embedding", n_items / total)
    if ids_file is not None and not _write_ids(ids_file, ids):
        ids_file = None
    return EmbedResult(
        n_items=n_items,
        n_components=n_components,
        metric=model.learner.metric_,
        out=request.out,
        ids_file=ids_file,
        seconds=phases.seconds,
    )


def _write_ids(path: Path, parts: list[NDArray[Any]]) -> bool:
    """Write the ids of all rows beside a matrix; return whether they say more than the rows do."""
    ids = np.concatenate(parts)
    if ids.dtype.kind == "i" and (ids == np.arange(ids.size)).all():
        return False
    import pyarrow as pa
    from pyarrow import csv

    with new_file(path) as place:
        csv.write_csv(pa.table({"id": pa.array(ids)}), place)
    return True


def _n_rows(path: Path) -> int | None:
    """Return how many rows a file has, if it says so at once; a text does not."""
    if path.suffix.lower() in (".parquet", ".pq"):
        from pyarrow import ArrowException, parquet

        with suppress(OSError, ArrowException):  # whoever reads it says what is wrong
            return int(parquet.read_metadata(path).num_rows)
    return None
