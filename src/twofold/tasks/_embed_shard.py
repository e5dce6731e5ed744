"""The points of one shard: what every engine does, on whichever machine."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.datasets import Records, iterate_records
from twofold.preparation import ImagePreparation
from twofold.tasks._points_files import N_ROWS, parquet_file
from twofold.tasks._prepared_model import PreparedModel
from twofold.tasks._shards import NOTE, Shard

N_TRIES = 3
"""Of a shard that fails by chance: a disk that is away, a worker that dies."""
MISTAKES = (ValueError, TypeError)
"""What trying again does not change: what is wrong with a file."""


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What is to be done to each shard.

    Attributes
    ----------
    model : Path
        The folder, which every worker must be able to read.
    fingerprint : str
        Of the model.
    id_column : str or None
        That names the rows.
    device : str
        Where to embed.
    """

    model: Path
    fingerprint: str
    id_column: str | None
    device: str


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """What came of one shard.

    Attributes
    ----------
    shard : Shard
        Which.
    n_items : int
        Rows that were embedded.
    why_not : str
        Why there are none, empty if there are.
    can_retry : bool
        Whether another try may succeed.
    """

    shard: Shard
    n_items: int
    why_not: str = ""
    can_retry: bool = False


class Waiting:
    """Shards that are still to be embedded, those that failed by chance among them again."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = deque(shards)
        self._n_tries: Counter[Shard] = Counter()

    def __len__(self) -> int:
        return len(self._shards)

    def take(self) -> Shard:
        """Return the next one."""
        return self._shards.popleft()

    def is_final(self, outcome: ShardOutcome) -> bool:
        """Whether a shard is done with; else it waits again."""
        self._n_tries[outcome.shard] += 1
        is_final = not outcome.can_retry or self._n_tries[outcome.shard] >= N_TRIES
        if not is_final:
            self._shards.append(outcome.shard)
        return is_final


class ShardEmbedder:
    """A model that is opened once, and embeds shard after shard."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._model = PreparedModel.open(job.model, device=job.device)
        if isinstance(self._model.preparation, ImagePreparation):
            self._model.preparation.set_params(cache=False)  # else a copy of all is left behind

    def embed(self, shard: Shard) -> ShardOutcome:
        """Write the points of a shard, whole or not at all; what is wrong is in the outcome."""
        try:
            return ShardOutcome(shard, self._written(shard))
        except MISTAKES as mistake:
            return ShardOutcome(shard, 0, str(mistake))
        except Exception as error:
            return ShardOutcome(shard, 0, str(error) or type(error).__name__, can_retry=True)

    def _written(self, shard: Shard) -> int:
        note = {NOTE: shard.note(self._job.fingerprint, self._job.id_column)}
        shard.target.parent.mkdir(parents=True, exist_ok=True)
        parts: list[Any] = []
        n_items = 0
        with parquet_file(shard.target, note) as write:
            pieces = iterate_records(shard.source, id_column=self._job.id_column, n_rows=N_ROWS)
            for piece in pieces:
                ids = names_of(shard, piece)
                write(ids, self._model.embed(piece))
                parts.append(ids)
                n_items += piece.n_items
            refuse_repeated(shard.source, np.concatenate(parts))
        return n_items


def names_of(shard: Shard, piece: Records) -> NDArray[Any]:
    """Return what rows are called; without ids of their own, by their shard and number."""
    if piece.id_column is not None or piece.ids.dtype == object:
        return piece.ids
    return np.array([f"{shard.name}:{row}" for row in piece.ids.tolist()], dtype=object)


def refuse_repeated(source: Path, ids: NDArray[Any]) -> None:
    """Refuse ids of which one comes again."""
    import pyarrow as pa

    counts = pa.array(ids).value_counts()
    if len(counts) == ids.size:
        return
    first = next(one["values"].as_py() for one in counts if one["counts"].as_py() > 1)
    raise ValueError(
        f"{source} has {ids.size - len(counts)} row(s) with an id that occurs before, first "
        f"{first!r}: every row needs its own id."
    )
