"""Phase 1 of a million classes: the relation, targets on a sphere and their standardisation.

In a process of its own, so that its memory is that of this work alone. How good they are is the
mean cosine to the nearest target of another class, of some classes, beside that of targets drawn at
random.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.figures import Figure
from twofold import LabelRelation, solve_targets
from twofold.targets import standardise_solution

TITLE = "A million classes, five million items: phase 1"
N_CLASSES, N_ITEMS, DIM, N_LOOKED_AT = 1_000_000, 5_000_000, 256, 200
MOST_SECONDS, MOST_GIB = 10.0, 4.0
SETTING = {
    "classes": N_CLASSES,
    "items": N_ITEMS,
    "components": f"{DIM}, the most that the default takes",
    "bars": "those of issue 15, of two cores: 10 s and 4 GiB",
}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.many_classes"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    run = json.loads(answer.stdout)
    parts = ("relation", "targets", "standardised")
    note = ", ".join(f"{part} {run[part]:.1f}" for part in parts)
    nearest = (
        f"nearest other target: cosine {run['nearest']:.3f}, drawn at random {run['drawn']:.3f}"
    )
    return [
        Figure(
            "seconds", sum(run[part] for part in parts), MOST_SECONDS, at_least=False, note=note
        ),
        Figure("seconds of processors", run["cpu"], note="of both cores together"),
        Figure("GiB", run["gib"], MOST_GIB, at_least=False, note=nearest),
    ]


def _run() -> dict[str, float]:
    rng = np.random.default_rng(0)
    classes = np.concatenate(
        [np.arange(N_CLASSES), rng.integers(N_CLASSES, size=N_ITEMS - N_CLASSES)]
    )
    times, began_cpu = [time.perf_counter()], time.process_time()
    relation = LabelRelation(classes)
    times.append(time.perf_counter())
    solution = solve_targets(relation, DIM, loss="dot", random_state=0)
    times.append(time.perf_counter())
    standardise_solution(solution, np.ones(N_ITEMS, dtype=bool))
    times.append(time.perf_counter())
    found = dict(zip(("relation", "targets", "standardised"), np.diff(times).tolist(), strict=True))
    found["cpu"] = time.process_time() - began_cpu
    found["gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    assert solution.table is not None
    drawn = rng.standard_normal((N_CLASSES, DIM), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return found | {"nearest": _nearest(solution.table), "drawn": _nearest(drawn)}


def _nearest(points: np.ndarray) -> float:
    """Return the mean cosine of some points, of length 1, to the nearest other."""
    rows = np.arange(N_LOOKED_AT)
    cosines = points[rows] @ points.T
    cosines[rows, rows] = -1
    return float(cosines.max(axis=1).mean())


if __name__ == "__main__":
    print(json.dumps(_run()))
