"""How seconds and memory grow with the number of pairs; each size in a process of its own.

Beside it stands the floor under any solver that goes over the pairs: the time to read each
partner's row once, with the same prefetching and nothing worked out. It grows faster than the
pairs too, as the table of points leaves the processor's caches. Where there is a GPU, it is
measured on both.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np
from numba import njit, prange

from benchmarks.figures import Figure
from benchmarks.relations import classes_of_sizes
from twofold import PairRelation, solve_targets
from twofold.evaluation import pair_auroc, pair_similarity
from twofold.targets._links import link_pairs
from twofold.targets._prefetch import prefetch_row
from twofold.targets._sweeps import AHEAD

TITLE = "Growth: 20 pairs an item, 10 classes, d = 16, contrastive, to convergence"
SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
REPEATS = {1_000_000: 5, 3_000_000: 5, 10_000_000: 3, 30_000_000: 2, 100_000_000: 1}
DIM = 16
BLOCK = 4096
SETTING = {"pairs": SIZES, "repeats": list(REPEATS.values()), "statistic": "median seconds"}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    import torch  # not in the processes that measure the CPU's memory

    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    return [figure for device in devices for figure in _measure_on(device)]


def _measure_on(device: str) -> list[Figure]:
    where = "" if device == "cpu" else "GPU, "
    runs = [_in_own_process(size, device) for size in SIZES]
    figures = [
        Figure(f"{where}{run['pairs']:,} pairs: seconds", run["seconds"], note=_note(run))
        for run in runs
    ]
    large = [run for run in runs if run["pairs"] >= 3_000_000]
    exponent = _exponent([(run["pairs"], run["seconds"]) for run in large])
    figures.append(Figure(f"{where}exponent from 3 M pairs on", exponent, 1.1, at_least=False))
    if device == "cpu":
        floor = _exponent([(run["pairs"], run["pairs"] * run["read_ns"]) for run in large])
        figures.append(Figure("exponent of a mere reading of all partners", floor))
    gib = runs[-1]["gib"]
    figures.append(Figure(f"{where}{SIZES[-1]:,} pairs: GiB", gib, 16, at_least=False))
    return figures


def _note(run: dict[str, float]) -> str:
    note = (
        f"{run['epochs']} epochs, {1e9 * run['seconds'] / run['pairs']:.0f} ns a pair, AUROC "
        f"{run['auroc']:.4f}, {run['gib']:.1f} GiB"
    )
    if "read_ns" in run:
        note += f"; a mere reading of all partners takes {run['read_ns']:.1f} ns a pair"
    return note


def _exponent(sizes_and_seconds: list[tuple[float, float]]) -> float:
    sizes, seconds = np.log(sizes_and_seconds).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def _in_own_process(size: int, device: str) -> dict[str, float]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", str(size), device],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(answer.stdout)  # type: ignore[no-any-return]


def _run(size: int, device: str) -> dict[str, float]:
    relation = classes_of_sizes((size // 200,) * 10).sample_pairs(random_state=0)
    solve_targets(relation.take(np.arange(1000)), DIM, device=device, random_state=0)  # compiles
    solutions = [
        solve_targets(relation, DIM, device=device, random_state=seed)
        for seed in range(REPEATS[size])
    ]
    gib = _peak_gib(device)
    some = slice(0, 1_000_000)
    similarity = pair_similarity(solutions[-1].points, relation.left[some], relation.right[some])
    found = {
        "pairs": relation.n_pairs,
        "seconds": float(np.median([solution.seconds for solution in solutions])),
        "epochs": solutions[-1].n_epochs,
        "auroc": pair_auroc(relation.similar[some], similarity),
        "gib": gib,
    }
    if device == "cpu":
        seconds = _seconds_to_read(solutions[-1].points, relation)
        found["read_ns"] = 1e9 * seconds / relation.n_pairs
    return found


def _peak_gib(device: str) -> float:
    """Return the most memory that was in use so far: the process's, or its share of the GPU's."""
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _seconds_to_read(points: np.ndarray, relation: PairRelation) -> float:
    links = link_pairs(relation).links
    blocks = np.empty(-(-links.size // BLOCK), dtype=np.float32)
    times = []
    for _ in range(4):  # the first compiles
        began = time.perf_counter()
        _read(links, points, blocks)
        times.append(time.perf_counter() - began)
    return float(np.median(times[1:]))


@njit(parallel=True, fastmath=True)
def _read(links, points, blocks):
    last = links.size - 1
    for block in prange(blocks.size):
        total = np.float32(0)
        for e in range(block * BLOCK, min(links.size, (block + 1) * BLOCK)):
            prefetch_row(points, links[min(e + AHEAD, last)].neighbour)
            total += points[links[e].neighbour, 0]
        blocks[block] = total


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]), sys.argv[2])))
