"""How seconds and memory grow with the number of pairs; each size in a process of its own.

Beside it stands the floor under any solver that goes over the pairs: the time to read each
partner's row once, with the same prefetching and nothing worked out. It grows faster than the
pairs too, as the table of points leaves the processor's caches.
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
    runs = [_in_own_process(size) for size in SIZES]
    figures = [
        Figure(
            f"{run['pairs']:,} pairs: seconds",
            run["seconds"],
            note=(
                f"{run['epochs']} epochs, {1000 * run['seconds'] / run['pairs'] * 1e6:.0f} ns a "
                f"pair, AUROC {run['auroc']:.4f}, {run['gib']:.1f} GiB; a mere reading of all "
                f"partners takes {run['read_ns']:.1f} ns a pair"
            ),
        )
        for run in runs
    ]
    large = [run for run in runs if run["pairs"] >= 3_000_000]
    exponent = _exponent([(run["pairs"], run["seconds"]) for run in large])
    floor = _exponent([(run["pairs"], run["pairs"] * run["read_ns"]) for run in large])
    figures.append(Figure("exponent from 3 M pairs on", exponent, 1.1, at_least=False))
    figures.append(Figure("exponent of a mere reading of all partners", floor))
    figures.append(Figure("100,000,000 pairs: GiB", runs[-1]["gib"], 16, at_least=False))
    return figures


def _exponent(sizes_and_seconds: list[tuple[float, float]]) -> float:
    sizes, seconds = np.log(sizes_and_seconds).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def _in_own_process(size: int) -> dict[str, float]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", str(size)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(answer.stdout)  # type: ignore[no-any-return]


def _run(size: int) -> dict[str, float]:
    relation = classes_of_sizes((size // 200,) * 10).sample_pairs(random_state=0)
    solve_targets(relation.take(np.arange(1000)), DIM, device="cpu", random_state=0)  # compiles
    solutions = [
        solve_targets(relation, DIM, device="cpu", random_state=seed)
        for seed in range(REPEATS[size])
    ]
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    read_ns = 1e9 * _seconds_to_read(solutions[-1].points, relation) / relation.n_pairs
    some = slice(0, 1_000_000)
    similarity = pair_similarity(solutions[-1].points, relation.left[some], relation.right[some])
    return {
        "pairs": relation.n_pairs,
        "seconds": float(np.median([solution.seconds for solution in solutions])),
        "epochs": solutions[-1].n_epochs,
        "auroc": pair_auroc(relation.similar[some], similarity),
        "gib": gib,
        "read_ns": read_ns,
    }


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
    print(json.dumps(_run(int(sys.argv[1]))))
