"""Statements that come later, twenty at a time: what one batch takes, and what it comes to."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.figures import Figure
from benchmarks.sparse_pairs import few_pairs
from twofold import MetricLearner

TITLE = "Updates: batches of 20 pairs of digits"
SEEDS = 3
N_BATCHES, SIZE = 10, 20
TIMED, SCORED = (200, 500, 1000, 1590), (300, 900, 1797, 3600)
"""Pairs before the first batch, and after the last."""
SETTING = {
    "seeds": f"0; of AUROC {SEEDS}",
    "learner": "MetricLearner with its defaults, on a CPU, all its threads",
    "seconds": f"all 1,797 items, {N_BATCHES} batches; the slowest may be one after which as "
    "many statements are new as candidates were compared on, so that they are compared again",
    "AUROC": "70 % of the items to learn from, stratified, by seed; all pairs of the others; what "
    f"{N_BATCHES} batches came to less what a fit to all statements comes to",
}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    return [*map(_seconds, TIMED), *map(_beside_scratch, SCORED)]


def _seconds(n_before: int) -> Figure:
    X, y = load_digits(return_X_y=True)
    times, _ = _update(X, y, n_before + N_BATCHES * SIZE, 0)
    return Figure(
        f"seconds of the slowest batch after {n_before} pairs",
        max(times),
        1.0,
        at_least=False,
        note=f"median {np.median(times):.2f}",
    )


def _beside_scratch(n_after: int) -> Figure:
    X, y = load_digits(return_X_y=True)
    gains = []
    for seed in range(SEEDS):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed
        )
        _, learner = _update(X[train], y[train], n_after, seed)
        scratch = _learner(seed).fit(X[train], relation=few_pairs(y[train], n_after, seed))
        gains.append(learner.score(X[test], y[test]) - scratch.score(X[test], y[test]))
    return Figure(
        f"AUROC after {N_BATCHES} batches, to {n_after} pairs, less that from scratch",
        float(np.min(gains)),
        -0.005,
        note=f"the least of {SEEDS} seeds; mean {np.mean(gains):+.4f}",
    )


def _update(
    X: np.ndarray, y: np.ndarray, n_after: int, seed: int
) -> tuple[list[float], MetricLearner]:
    pairs = few_pairs(y, n_after, seed)
    order = np.random.default_rng(seed).permutation(pairs.n_pairs)
    n_before = pairs.n_pairs - N_BATCHES * SIZE
    learner = _learner(seed).fit(X, relation=pairs.take_pairs(np.sort(order[:n_before])))
    times = []
    for start in range(n_before, pairs.n_pairs, SIZE):
        began = time.perf_counter()
        learner.update(pairs.take_pairs(np.sort(order[start : start + SIZE])))
        times.append(time.perf_counter() - began)
    return times, learner


def _learner(seed: int) -> MetricLearner:
    return MetricLearner(random_state=seed, device="cpu")
