"""Exact targets for the whole relation of NUS-WIDE's labels."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from benchmarks.figures import Figure
from benchmarks.relations import MNIST, classes_of_sizes, nus_wide, why_no_data
from twofold import solve_targets

TITLE = "Exact targets, d = 32 (classes: 16)"
SETTING = {"runs": 1, "memory": "largest resident size of a fresh process"}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.exact"], capture_output=True, text=True, check=True
    )
    seconds, gib, loss = (float(number) for number in answer.stdout.split())
    relation = classes_of_sizes(MNIST)
    began = time.perf_counter()
    solve_targets(relation, 16, loss="dot")
    milliseconds = 1000 * (time.perf_counter() - began)
    return [
        Figure(
            "NUS-WIDE, 13,409 label vectors: seconds",
            seconds,
            12,
            at_least=False,
            note=f"mean loss over all pairs {loss:.2g}",
        ),
        Figure("NUS-WIDE: GiB", gib, 4, at_least=False),
        Figure("60,000 items of 10 classes: milliseconds", milliseconds, 100, at_least=False),
    ]


if __name__ == "__main__":
    labels = nus_wide()
    solution = solve_targets(labels, 32, loss="dot")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(solution.seconds, peak, solution.loss)
