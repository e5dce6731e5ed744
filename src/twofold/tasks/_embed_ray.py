"""Shards on Ray: a process per core, or a GPU, of one machine or of a cluster.

A worker that dies takes its shard with it; both are started again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from twofold.tasks._embed_shard import ShardEmbedder, ShardJob, ShardOutcome, Waiting
from twofold.tasks._shards import Shard

ADDRESS = "RAY_ADDRESS"
"""The variable that names a cluster; without it Ray is started on this machine."""
HERE = {"include_dashboard": False, "object_store_memory": 100 * 2**20, "log_to_driver": False}
"""Nothing goes through Ray's store but what came of a shard."""


def require_ray() -> None:
    """Refuse to begin without Ray."""
    if find_spec("ray") is None:
        raise ImportError("--engine ray needs Ray: pip install 'twofold[ray]'.")


class RayShardEmbedder(ShardEmbedder):
    """What Ray runs in a process of its own."""

    def __init__(self, job: ShardJob, n_threads: int) -> None:
        import torch

        torch.set_num_threads(n_threads)
        super().__init__(job)


def embed_by_ray(job: ShardJob, shards: Sequence[Shard]) -> Iterator[ShardOutcome]:
    """Embed shards side by side; Ray is started, and ended, if it is not there."""
    import ray

    is_ours = not ray.is_initialized()
    if is_ours:
        ray.init(**({} if os.environ.get(ADDRESS) else HERE))
    try:
        yield from _side_by_side(ray, job, shards)
    finally:
        if is_ours:
            ray.shutdown()


def _side_by_side(ray: Any, job: ShardJob, shards: Sequence[Shard]) -> Iterator[ShardOutcome]:
    there = ray.cluster_resources()
    is_on_gpu = bool(there.get("GPU")) and job.device != "cpu"
    n_workers = min(len(shards), max(1, int(there["GPU" if is_on_gpu else "CPU"])))
    kind = ray.remote(num_cpus=1, num_gpus=int(is_on_gpu), max_restarts=0)(RayShardEmbedder)
    waiting = Waiting(shards)
    at_work: dict[Any, tuple[Any, Shard]] = {}

    def begin(worker: Any) -> None:
        shard = waiting.take()
        at_work[worker.embed.remote(shard)] = (worker, shard)

    for _ in range(n_workers):
        begin(kind.remote(job, 1))
    while at_work:
        (done,), _ = ray.wait(list(at_work), num_returns=1)
        worker, shard = at_work.pop(done)
        try:
            outcome = ray.get(done)
        except ray.exceptions.RayError as error:
            with suppress(ray.exceptions.RayError):
                ray.kill(worker)  # it may be half dead: another one takes its place
            outcome = ShardOutcome(shard, 0, f"{shard.source}: {_died(error)}", can_retry=True)
            worker = None
        if waiting.is_final(outcome):
            yield outcome
        if waiting:
            begin(worker or kind.remote(job, 1))


def _died(error: Exception) -> str:
    """Return in a few words what became of a worker; Ray needs a page for it."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"its worker died ({type(error).__name__}: {first[:120]})"
