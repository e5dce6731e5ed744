"""`twofold embed` of 64 shards, here and on Ray with a worker killed: every row, equal points."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet

from benchmarks.figures import Figure
from twofold import MetricLearner, Network
from twofold.preparation import TablePreparation
from twofold.tasks import (
    Decision,
    EmbedShardsRequest,
    EmbedShardsResult,
    PreparedModel,
    embed_shards,
)

TITLE = "Shards in, shards out: 2 M rows here and on Ray, a worker killed"
N_ROWS, N_SHARDS, N_COLUMNS, N_CLASSES = 2_000_000, 64, 16, 10
KILL_AFTER = 8
"""Shards that are done when a worker is killed."""
MARK = "TWOFOLD_BENCHMARK"
SETTING = {
    "rows": f"{N_ROWS:,} in {N_SHARDS} Parquet shards of {N_COLUMNS} columns of numbers, made up, "
    "seed 0",
    "model": f"table to features to a default network of 8 outputs, fitted to 5,000 rows of "
    f"{N_CLASSES} classes, three epochs",
    "killed": f"one of Ray's workers, by SIGKILL, when {KILL_AFTER} shards are done",
    "threads": "one here (OMP_NUM_THREADS=1), one in each of Ray's workers",
    "rounding": "the largest difference of a number of a point",
}


def why_not() -> str | None:
    return None if find_spec("ray") else "Ray is not installed"


def measure() -> list[Figure]:
    os.environ[MARK] = str(os.getpid())
    with tempfile.TemporaryDirectory(prefix="twofold-shards-") as name:
        folder = Path(name)
        model = _model(folder)
        _write_shards(folder / "in")
        here = _embed(model, folder, "local")
        killed: list[int] = []

        def watch(phase: str, share: float) -> None:
            if phase == "embedding" and share >= KILL_AFTER / N_SHARDS and not killed:
                killed.append(0)
                threading.Thread(target=_kill_a_worker, args=(killed,)).start()

        on_ray = _embed(model, folder, "ray", watch)
        return _figures(folder, here, on_ray, sum(pid > 0 for pid in killed))


def _table(rng: np.random.Generator, n_rows: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    classes = rng.integers(0, N_CLASSES, n_rows)
    centres = np.random.default_rng(1).standard_normal((N_CLASSES, N_COLUMNS))
    values = centres[classes] + rng.standard_normal((n_rows, N_COLUMNS))
    return {f"x{column}": values[:, column] for column in range(N_COLUMNS)}, classes


def _model(folder: Path) -> Path:
    columns, classes = _table(np.random.default_rng(0), 5000)
    preparation = TablePreparation().fit(pa.table(columns))
    learner = MetricLearner(8, embedder=Network(max_epochs=3), random_state=0)
    learner.fit(preparation.transform(pa.table(columns)), classes)
    model = PreparedModel(learner, "table", preparation, Decision("embedding", None))
    return model.save(folder / "model")


def _write_shards(folder: Path) -> None:
    folder.mkdir()
    rng = np.random.default_rng(0)
    n_each = N_ROWS // N_SHARDS
    for shard in range(N_SHARDS):
        columns, _ = _table(rng, n_each)
        ids = np.arange(shard * n_each, (shard + 1) * n_each)
        parquet.write_table(pa.table({"id": ids, **columns}), folder / f"{shard:02}.parquet")


def _embed(model: Path, folder: Path, engine: str, progress=None) -> EmbedShardsResult:
    request = EmbedShardsRequest(
        model=model, data=(folder / "in" / "*.parquet",), out=folder / engine, engine=engine
    )
    began = time.perf_counter()
    result = embed_shards(request, progress)
    print(engine, f"{time.perf_counter() - began:.0f} s", result.seconds, flush=True)
    return result


def _kill_a_worker(killed: list[int]) -> None:
    mark = f"{MARK}={os.getpid()}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_worker = (place / "cmdline").read_bytes().startswith(b"ray::RayShardEmbedder")
            if is_worker and mark in (place / "environ").read_bytes().split(b"\0"):
                os.kill(int(place.name), signal.SIGKILL)
                killed.append(int(place.name))
                return
        except OSError:
            continue


def _points(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return ids, and points in the order of ids."""
    table = dataset.dataset(folder).to_table()
    ids = table["id"].to_numpy()
    points = table["point"].combine_chunks().flatten().to_numpy().reshape(len(ids), -1)
    order = np.argsort(ids, kind="stable")
    return ids[order], points[order]


def _figures(
    folder: Path, here: EmbedShardsResult, on_ray: EmbedShardsResult, n_killed: int
) -> list[Figure]:
    ids, points = _points(folder / "local")
    ray_ids, ray_points = _points(folder / "ray")
    every = np.arange(N_ROWS)
    n_once = len(every) if np.array_equal(ray_ids, every) else len(np.unique(ray_ids))
    difference = float(np.abs(points - ray_points).max())
    seconds, ray_seconds = here.seconds["embedding"], on_ray.seconds["embedding"]
    load = f"load average of the machine {os.getloadavg()[0]:.1f}"
    return [
        Figure("workers killed", n_killed, 1),
        Figure("rows that are there once", n_once, N_ROWS, note=f"of {len(ray_ids):,}"),
        Figure("files that failed", len(here.failures) + len(on_ray.failures), 0, False),
        Figure(
            "largest difference of a number",
            difference,
            1e-5,
            at_least=False,
            note=f"largest number {np.abs(points).max():.2f}; ids equal: "
            f"{np.array_equal(ids, ray_ids)}",
        ),
        Figure("rows a second, here", N_ROWS / seconds, note=f"{seconds:.0f} s; {load}"),
        Figure(
            "rows a second, Ray",
            N_ROWS / ray_seconds,
            note=f"{ray_seconds:.0f} s, in which it starts and a worker is replaced",
        ),
    ]
