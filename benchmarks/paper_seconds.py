"""The paper's table of phase-1 seconds, beside ours."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from scipy import stats

from benchmarks.figures import Figure
from benchmarks.relations import (
    CIFAR10,
    MNIST,
    PUBFIG83,
    classes_of_sizes,
    nus_wide,
    why_no_data,
)
from twofold import LabelRelation, solve_targets
from twofold.evaluation import pair_auroc, pair_similarity

TITLE = "Phase-1 seconds, sampling counted in, beside the paper's (i7-4770, one thread)"
RUNS = 10
SETTING = {
    "runs": RUNS,
    "spread": "95 % interval of the mean",
    "pairs an item": "10 + 10",
    "PubFig83": "10,518 items here, fewer than the paper trained on",
}

PAPER = {
    "MNIST": (6.90, 21.77),
    "CIFAR-10": (5.19, 15.89),
    "PubFig83": (1.94, 6.86),
    "NUS-WIDE": (46.43, 152.30),
}
DIMS = {"MNIST": 16, "CIFAR-10": 16, "PubFig83": 64, "NUS-WIDE": 32}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    relations = {
        "MNIST": classes_of_sizes(MNIST),
        "CIFAR-10": classes_of_sizes(CIFAR10),
        "PubFig83": classes_of_sizes(PUBFIG83),
    }
    if why_no_data() is None:
        relations["NUS-WIDE"] = nus_wide()
    figures = []
    for name, relation in relations.items():
        for label, loss, paper in zip(
            ("FML-C", "FML-DP"), ("contrastive", "dot"), PAPER[name], strict=True
        ):
            figures.append(_figure(f"{label} {name}", relation, DIMS[name], loss, paper))  # type: ignore[arg-type]
    return figures


def _figure(
    name: str, relation: LabelRelation, dim: int, loss: Literal["contrastive", "dot"], paper: float
) -> Figure:
    seconds = []
    for seed in range(-1, RUNS):  # the first compiles
        began = time.perf_counter()
        pairs = relation.sample_pairs(random_state=max(seed, 0))
        solution = solve_targets(pairs, dim, loss=loss, device="cpu", random_state=max(seed, 0))
        if seed >= 0:
            seconds.append(time.perf_counter() - began)
    mean = float(np.mean(seconds))
    half = float(stats.sem(seconds) * stats.t.ppf(0.975, RUNS - 1))
    similarity = pair_similarity(
        solution.points, pairs.left, pairs.right, "euclidean" if loss == "contrastive" else "dot"
    )
    return Figure(
        f"{name}: times faster than the paper",
        paper / mean,
        5,
        note=(
            f"{mean:.3f} ± {half:.3f} s against {paper} s; {solution.n_epochs} epochs, AUROC on "
            f"its pairs {pair_auroc(pairs.similar, similarity):.4f}"
        ),
    )
