"""`twofold embed` of many files: shards in, shards out; an interrupted run continues.

A shard of points records what it was made from, so that nothing else has to be stored: a later run
makes the shards that are missing, or whose file has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from twofold._core.files import check_folder_place
from twofold.tasks._embed_ray import embed_by_ray, require_ray
from twofold.tasks._embed_shard import ShardEmbedder, ShardJob, ShardOutcome, Waiting
from twofold.tasks._kept_index import model_fingerprint
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._prepared_model import PreparedModel
from twofold.tasks._shards import Shard, find_shards, undone

MOST_COMPARED = 2**26
"""Rows whose ids are compared across shards: they are held in memory, some GB of them."""
EngineName = Literal["local", "ray"]
Engine = Callable[[ShardJob, Sequence[Shard]], Iterator[ShardOutcome]]
"""Yields the last outcome of each shard, in any order, as they come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedShardsRequest:
    """The options of `twofold embed` for several files; see the command's help."""

    model: Path
    data: tuple[Path, ...]
    out: Path
    id_column: str | None = None
    device: str = "auto"
    engine: EngineName = "local"
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class EmbedShardsResult:
    """What was written, and what failed.

    Attributes
    ----------
    n_items, n_components : int
        Rows embedded now, and components of a point.
    metric : str
        How to compare points.
    out : Path
        The folder.
    n_shards, n_done_before : int
        Number of all files, and of those that were already done.
    failures : tuple of ShardOutcome
        Files without points.
    are_ids_compared : bool
        Whether ids were compared across files, which needs memory.
    seconds : dict of str to float
        Of each phase.
    """

    n_items: int
    n_components: int
    metric: str
    out: Path
    n_shards: int
    n_done_before: int
    failures: tuple[ShardOutcome, ...]
    are_ids_compared: bool
    seconds: dict[str, float]

    @property
    def why_incomplete(self) -> str | None:
        """A sentence about the files that failed; None if there are none."""
        if not self.failures:
            return None
        listed = "; ".join(one.why_not.rstrip(".") for one in self.failures[:10])
        more = f"; and {len(self.failures) - 10} more" if len(self.failures) > 10 else ""
        return (
            f"{len(self.failures)} of {self.n_shards} files failed: {listed}{more}. The others "
            f"are in {self.out}: run the same command again for the missing ones."
        )


def embed_shards(
    request: EmbedShardsRequest, progress: Progress | None = None
) -> EmbedShardsResult:
    """Embed the rows of many files, writing one file of points for each.

    Parameters
    ----------
    request : EmbedShardsRequest
        The model and the files.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    if request.engine == "ray":
        require_ray()
    phases = Phases(progress)
    with phases.phase("opening"):
        shards = find_shards(request.data, request.out)
        check_folder_place(request.out)
        learner = PreparedModel.open(request.model, device=request.device).learner
        job = ShardJob(
            request.model.absolute(),
            model_fingerprint(request.model),
            request.id_column,
            request.device,
        )
        left = undone(shards, job.fingerprint, job.id_column, request.overwrite)
    engine: Engine = embed_by_ray if request.engine == "ray" else embed_here
    outcomes = []
    with phases.phase("embedding"):
        for outcome in engine(job, left) if left else ():
            outcomes.append(outcome)
            phases.tell("embedding", len(outcomes) / len(left))
    failures = tuple(sorted((one for one in outcomes if one.why_not), key=_name))
    failed = {one.shard for one in failures}
    with phases.phase("checking"):
        are_compared = refuse_shared_ids([one for one in shards if one not in failed])
    return EmbedShardsResult(
        n_items=sum(one.n_items for one in outcomes),
        n_components=learner.n_components_,
        metric=learner.metric_,
        out=request.out,
        n_shards=len(shards),
        n_done_before=len(shards) - len(left),
        failures=failures,
        are_ids_compared=are_compared,
        seconds=phases.seconds,
    )


def embed_here(job: ShardJob, shards: Sequence[Shard]) -> Iterator[ShardOutcome]:
    """Embed one shard after the other, in this process and on all its cores."""
    embedder, waiting = ShardEmbedder(job), Waiting(shards)
    while waiting:
        outcome = embedder.embed(waiting.take())
        if waiting.is_final(outcome):
            yield outcome


def refuse_shared_ids(shards: Sequence[Shard]) -> bool:
    """Refuse ids that stand in two shards; return whether there was room to compare them."""
    import pyarrow as pa
    from pyarrow import parquet

    n_rows = sum(parquet.read_metadata(shard.target).num_rows for shard in shards)
    if n_rows > MOST_COMPARED:
        return False
    columns = [parquet.read_table(shard.target, columns=["id"])["id"] for shard in shards]
    kinds = {str(column.type): shard for column, shard in zip(columns, shards, strict=True)}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise ValueError(
            f"Ids are {one} in {first.source} and {other} in {second.source}: use the same form "
            "in both."
        )
    chunks = [chunk for column in columns for chunk in column.chunks]
    counts = pa.chunked_array(chunks).value_counts() if chunks else []
    if len(counts) == n_rows:
        return True
    repeated = next(one["values"] for one in counts if one["counts"].as_py() > 1)
    where = [
        str(shard.source)
        for column, shard in zip(columns, shards, strict=True)
        if column.index(repeated).as_py() >= 0
    ]
    raise ValueError(
        f"{n_rows - len(counts)} id(s) occur in more than one file, first {repeated.as_py()!r} in "
        f"{' and '.join(where[:2])}: every row needs its own id."
    )


def _name(outcome: ShardOutcome) -> str:
    return outcome.shard.name
