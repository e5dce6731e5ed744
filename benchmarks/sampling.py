"""Drawing 10 + 10 partners an item."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import MNIST, classes_of_sizes, nus_wide, why_no_data
from twofold import LabelRelation

TITLE = "Sampling pairs"
SETTING = {"runs": 5, "statistic": "median seconds"}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    figures = [_seconds("60,000 items, 10 classes", classes_of_sizes(MNIST), bar=0.5)]
    if why_no_data() is None:
        figures.append(_seconds("NUS-WIDE, 161,789 × 81", nus_wide(), bar=6.0))
    return figures


def _seconds(name: str, relation: LabelRelation, bar: float) -> Figure:
    times = []
    for seed in range(5):
        began = time.perf_counter()
        pairs = relation.sample_pairs(random_state=seed)
        times.append(time.perf_counter() - began)
    note = f"{pairs.n_pairs:,} pairs; first call {times[0]:.2f} s"
    return Figure(f"{name}: seconds", float(np.median(times)), bar, at_least=False, note=note)
