"""How seconds and memory grow with the number of pairs; each size in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import classes_of_sizes
from twofold import solve_targets
from twofold.evaluation import pair_auroc, pair_similarity

TITLE = "Growth: 20 pairs an item, 10 classes, d = 16, contrastive, to convergence"
SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
REPEATS = {1_000_000: 5, 3_000_000: 5, 10_000_000: 3, 30_000_000: 2, 100_000_000: 1}
DIM = 16
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
                f"pair, AUROC {run['auroc']:.4f}, {run['gib']:.1f} GiB"
            ),
        )
        for run in runs
    ]
    large = [run for run in runs if run["pairs"] >= 3_000_000]
    exponent = np.polyfit(
        np.log([run["pairs"] for run in large]), np.log([run["seconds"] for run in large]), 1
    )[0]
    figures.append(Figure("exponent from 3 M pairs on", float(exponent), 1.1, at_least=False))
    figures.append(Figure("100,000,000 pairs: GiB", runs[-1]["gib"], 16, at_least=False))
    return figures


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
    some = slice(0, 1_000_000)
    similarity = pair_similarity(solutions[-1].points, relation.left[some], relation.right[some])
    return {
        "pairs": relation.n_pairs,
        "seconds": float(np.median([solution.seconds for solution in solutions])),
        "epochs": solutions[-1].n_epochs,
        "auroc": pair_auroc(relation.similar[some], similarity),
        "gib": gib,
    }


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]))))
