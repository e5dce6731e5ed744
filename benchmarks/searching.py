"""`NeighbourIndex` beside FAISS's flat index, and all pairs over a threshold.

Exact search is timed in turns with `faiss.IndexFlatL2`, a thousand queries at a time, in one
process; what is compared is the ratio. Matching runs in a process of its own, whose memory it is.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np

from benchmarks.figures import Figure
from twofold.search import NeighbourIndex

TITLE = "Search: neighbours beside FAISS, and all pairs over a threshold"
N_POINTS, N_QUERIES, DIM, K = 1_000_000, 10_000, 64, 10
TURNS = 10
N_MATCHED = 100_000
SETTING = {
    "search": f"{N_POINTS:,} Gaussian points of {DIM} numbers, {N_QUERIES:,} queries, k = {K}, "
    f"Euclidean; {TURNS} turns of {N_QUERIES // TURNS:,} queries, ours and FAISS's one after the "
    "other, the first to go by turns",
    "statistic": "ratio of the sums of seconds; in the note the median and the range of the turns'",
    "matching": f"{N_MATCHED:,} rows that are found again, moved a little, among {N_MATCHED:,}; "
    f"{DIM} numbers, cosine",
}


def why_not() -> str | None:
    return None if find_spec("faiss") else "FAISS is not installed"


def measure() -> list[Figure]:
    return [*_search_figures(), *_approximate_figures(), *_matching_figures()]


def _tables() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((N_POINTS, DIM), dtype=np.float32)
    return points, rng.standard_normal((N_QUERIES, DIM), dtype=np.float32)


def _search_figures() -> list[Figure]:
    import faiss

    points, queries = _tables()
    flat = faiss.IndexFlatL2(DIM)
    flat.add(points)
    figures = []
    for backend, bar in (("faiss", 1.2), ("torch", None)):
        index = NeighbourIndex("euclidean", backend=backend, approximate=False)
        index.add(np.arange(N_POINTS), points)
        index.query(queries[:10], K)  # makes what it searches with
        seconds, agreeing = [], 0
        for turn, some in enumerate(np.split(queries, TURNS)):
            ours_first = turn % 2 == 0
            taken, rows = {}, {}
            for ours in (ours_first, not ours_first):
                began = time.perf_counter()
                rows[ours] = index.query(some, K).rows if ours else flat.search(some, K)[1]
                taken[ours] = time.perf_counter() - began
            seconds.append((taken[True], taken[False]))
            agreeing += int((rows[True] == rows[False]).sum())
        mine, theirs = np.array(seconds).T
        ratios = mine / theirs
        figures.append(
            Figure(
                f"exact, backend {backend}: seconds beside IndexFlatL2",
                float(mine.sum() / theirs.sum()),
                bar,
                at_least=False,
                note=f"{mine.sum():.1f} s beside {theirs.sum():.1f}; turns {np.median(ratios):.2f} "
                f"({ratios.min():.2f} to {ratios.max():.2f}); "
                f"{agreeing / (N_QUERIES * K):.5f} of the rows the same",
            )
        )
        print(figures[-1], flush=True)
    return figures


def _approximate_figures() -> list[Figure]:
    """Return what lists give on points that lie in groups, as embeddings do."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((1000, DIM), dtype=np.float32)
    points = np.repeat(centres, N_POINTS // 1000, axis=0)
    points += 0.5 * rng.standard_normal(points.shape, dtype=np.float32)
    queries = points[:: N_POINTS // 1000] + np.float32(0.1)
    index = NeighbourIndex("euclidean", backend="faiss", approximate=True)
    index.add(np.arange(N_POINTS), points)
    began = time.perf_counter()
    recall = index.recall
    built = time.perf_counter() - began
    began = time.perf_counter()
    index.query(queries, K)
    seconds = time.perf_counter() - began
    return [
        Figure(
            "approximate: recall at 10 on a sample, as the index says",
            float(recall or 0),
            0.95,
            note=f"made in {built:.0f} s; {1e3 * seconds / len(queries):.2f} ms a query",
        )
    ]


def _matching_figures() -> list[Figure]:
    command = [sys.executable, "-m", "benchmarks.searching"]
    run = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    note = f"{run['pairs']:,} pairs, of which {run['true']:,} of {N_MATCHED:,} true ones"
    return [
        Figure(
            "all pairs over a threshold: seconds", run["seconds"], 300, at_least=False, note=note
        ),
        Figure("all pairs over a threshold: GiB", run["gib"], 4, at_least=False),
    ]


def _match() -> dict[str, float]:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((N_MATCHED, DIM), dtype=np.float32)
    queries = points + 0.3 * rng.standard_normal(points.shape, dtype=np.float32)
    index = NeighbourIndex("cosine")
    index.add(np.arange(N_MATCHED), points)
    began = time.perf_counter()
    pairs = index.within(queries, 0.6)
    return {
        "seconds": time.perf_counter() - began,
        "pairs": pairs.n_pairs,
        "true": int((pairs.left == pairs.right).sum()),
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


if __name__ == "__main__":
    print(json.dumps(_match()))
