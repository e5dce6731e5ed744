"""Codes of bits: phase 1 from pairs, and exact search beside FAISS's binary index.

Search is timed in turns with `faiss.IndexBinaryFlat` in one process; what is compared is the ratio.
"""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np

from benchmarks.figures import Figure
from twofold import LabelRelation
from twofold.evaluation import pair_auroc
from twofold.search import NeighbourIndex
from twofold.targets import solve_codes

TITLE = "Codes of bits: phase 1, and exact search beside FAISS"
N_ITEMS, N_PARTNERS, N_BITS = 60_000, 10, 64
N_CODES, N_QUERIES, K, TURNS = 10_000_000, 1000, 100, 4
SETTING = {
    "phase 1": f"{N_ITEMS:,} items of ten classes, as many of each as in MNIST, {N_PARTNERS} "
    f"similar and {N_PARTNERS} dissimilar partners an item, {N_BITS} bits",
    "search": f"{N_CODES:,} random codes of 64 bits, {N_QUERIES:,} queries, k = {K}; {TURNS} turns "
    "of as many queries each, ours and FAISS's one after the other, the first to go by turns",
    "statistic": "seconds of one run after one that compiles; ratio of the sums of seconds",
}
MNIST_SIZES = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)


def why_not() -> str | None:
    return None if find_spec("faiss") else "FAISS is not installed"


def measure() -> list[Figure]:
    return [*_phase_1_figures(), *_search_figures()]


def _phase_1_figures() -> list[Figure]:
    relation = LabelRelation(np.repeat(np.arange(10), MNIST_SIZES))
    pairs = relation.sample_pairs(N_PARTNERS, N_PARTNERS, random_state=0)
    anew = relation.sample_pairs(N_PARTNERS, N_PARTNERS, random_state=1)
    solve_codes(pairs.take(np.arange(100)), 2, random_state=0)  # compiles
    began = time.perf_counter()
    solution = solve_codes(pairs, N_BITS, random_state=0)
    seconds = time.perf_counter() - began
    codes = solution.codes.astype(np.float32)
    aurocs = [
        pair_auroc(some.similar, np.einsum("ij,ij->i", codes[some.left], codes[some.right]))
        for some in (pairs, anew)
    ]
    return [
        Figure("two-step phase 1: seconds", seconds, 60, at_least=False, note=f"{pairs}"),
        Figure("AUROC on the pairs it was solved on", aurocs[0], 0.99),
        Figure("AUROC on pairs drawn anew", aurocs[1]),
    ]


def _search_figures() -> list[Figure]:
    import faiss

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (N_CODES, 8), dtype=np.uint8)
    queries = rng.integers(0, 256, (N_QUERIES, 8), dtype=np.uint8)
    flat = faiss.IndexBinaryFlat(64)
    flat.add(codes)
    index = NeighbourIndex("hamming", backend="faiss", approximate=False)
    index.add(range(N_CODES), codes)
    index.query(queries[:2], K)  # makes what it searches with
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
    return [
        Figure(
            "exact Hamming search: seconds beside IndexBinaryFlat",
            float(mine.sum() / theirs.sum()),
            1.2,
            at_least=False,
            note=f"{mine.sum():.1f} s beside {theirs.sum():.1f}; turns {np.median(ratios):.2f} "
            f"({ratios.min():.2f} to {ratios.max():.2f}); "
            f"{agreeing / (N_QUERIES * K):.5f} of the rows the same",
        ),
        Figure("codes: MB", index.points.nbytes / 1e6, 80, at_least=False),
    ]
