"""A million vectors of 10³, 10⁴ and 10⁵ classes: what an epoch costs, the whole fit and its memory.

Each size has a process of its own, which is warmed up by a small fit. Every vector is its class's
mean and noise. Training is the network's; the whole fit is from the arrays to a learner that is
ready: of `metric="seen"`, and of the default, which trains a second time to choose its metric.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.figures import Figure

TITLE = "A million vectors of many classes: one epoch, the whole fit, memory"
N_ITEMS = int(os.environ.get("MANY_KINDS_ITEMS", "1000000"))
N_COLUMNS = 128
SIZES = (1_000, 10_000, 100_000)
METRICS = ("seen", "auto")
SPREAD, WHOLE, MOST_GIB = 1.3, 2.0, 8.0
SETTING = {
    "items": f"{N_ITEMS:,} × {N_COLUMNS}",
    "network": "mlp, one epoch, batches and components as by default",
    "statistic": "one fit of each, after a small one",
    "bars": "those of issue 15, of one H200",
}


def why_not() -> str | None:
    import torch  # not in the processes that are measured, before their own

    return None if torch.cuda.is_available() else "torch sees no CUDA device"


def measure() -> list[Figure]:
    runs = {size: _in_own_process(size) for size in SIZES}
    figures = []
    for size, run in runs.items():
        where = f"{size:,} classes"
        for metric in METRICS:
            one = run[metric]
            whole, training = one["whole"], one["regression"]
            bar = WHOLE if metric == "seen" else None
            note = ", ".join(f"{part} {one[part]:.2f}" for part in one)
            figures += [
                Figure(f'{where}, metric="{metric}": whole fit over training',
                       whole / training, bar, at_least=False, note=note),
            ]  # fmt: skip
        figures.append(Figure(f"{where}: GiB of main memory", run["gib"], MOST_GIB, at_least=False))
    for part in ("regression", "whole"):
        seconds = [run["seen"][part] for run in runs.values()]
        figures.append(
            Figure(f'{part}, metric="seen": slowest size over fastest',
                   max(seconds) / min(seconds), SPREAD, at_least=False,
                   note="seconds " + ", ".join(f"{value:.2f}" for value in seconds)),
        )  # fmt: skip
    return figures


def _in_own_process(size: int) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.many_kinds", str(size)],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    run: dict[str, Any] = json.loads(answer.stdout)
    return run


def _run(n_classes: int) -> dict[str, Any]:
    import torch

    from twofold import MetricLearner
    from twofold.regression import Network

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    means = rng.standard_normal((n_classes, N_COLUMNS), dtype=np.float32)
    classes = rng.permutation(np.arange(N_ITEMS) % n_classes)
    X = rng.standard_normal((N_ITEMS, N_COLUMNS), dtype=np.float32)
    X += means[classes]
    few = np.flatnonzero(classes < 100)[:20_000]
    found: dict[str, Any] = {}
    for metric in METRICS:
        for rows in (few, slice(None)):
            learner = MetricLearner(
                embedder=Network("mlp", max_epochs=1), metric=metric, random_state=0
            )
            began = time.perf_counter()
            learner.fit(X[rows], classes[rows])
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            found[metric] = {**learner.timing_, "whole": time.perf_counter() - began}
    found["gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]))))
