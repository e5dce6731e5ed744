"""Recipes of training on a GPU, one thing changed at a time, scored on training images held out.

The defaults of `Network` for "fast-conv" and the recipes of `benchmarks.engine` were chosen by it.
"""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from benchmarks.changing import changed
from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import MetricLearner
from twofold.datasets import load_cifar10
from twofold.evaluation import knn_accuracy
from twofold.regression import Augment, Network

TITLE = "Recipes on a GPU, scored on training images held out: 5-NN accuracy"
N_HELD_OUT, SPLIT_SEED, N_SEEDS = 5000, 123, 2
VIEWS = (1, 2, 6)
SETTING = {"seeds": N_SEEDS, "data": f"CIFAR-10 less {N_HELD_OUT:,} training images held out"}
BESIDE, MOMENTUM, ROUNDS, NORMS, SMOOTHING = (
    f"regression.{name}"
    for name in ("_optimisers.BESIDE_MUON", "_optimisers.MUON_MOMENTUM", "_optimisers.N_ITERATIONS",
                 "_fast_networks.NORM_MOMENTUM", "_expected_target.SMOOTHING")
)  # fmt: skip
_FAST = {"architecture": "fast-conv", "max_epochs": 8, "augment": "photographs"}
_PAPER = {"architecture": "cifar10", "max_epochs": 6, "batch_size": 512, "augment": "flips"}
_DEEP = {"architecture": "deep-conv", "max_epochs": 16, "learning_rate": 0.16}


@dataclass(frozen=True, slots=True)
class Trial:
    """A recipe: parameters of `Network`, and constants of the package that are changed for it."""

    title: str
    network: dict[str, Any]
    constants: dict[str, Any] = field(default_factory=dict)


TRIALS = (
    Trial("fast-conv", _FAST),
    *(Trial(f"fast-conv, rate {rate}", _FAST | {"learning_rate": rate})
      for rate in (0.06, 0.12, 0.16, 0.4)),
    *(Trial(f"fast-conv, {size} a batch", _FAST | {"batch_size": size}) for size in (512, 2048)),
    *(Trial(f"fast-conv, Adam's share {share}", _FAST, {BESIDE: share})
      for share in (0.01, 0.05, 0.1, 0.2)),
    *(Trial(f"fast-conv, momentum {keep}", _FAST, {MOMENTUM: keep})
      for keep in (0.3, 0.8, 0.9)),
    Trial("fast-conv, five rounds", _FAST, {ROUNDS: 5}),
    *(Trial(f"fast-conv, norms keep {1 - new:.1f}", _FAST, {NORMS: new})
      for new in (0.1, 0.6)),
    *(Trial(f"fast-conv, smoothing {share}", _FAST, {SMOOTHING: share})
      for share in (0.0, 0.2)),
    Trial("fast-conv, weights averaged", _FAST | {"averaged": 0.2}),
    Trial("fast-conv, AdamW", _FAST | {"optimiser": "adamw", "learning_rate": 4e-3}),
    Trial("fast-conv, descent", _FAST | {"optimiser": "sgd", "learning_rate": 0.2}),
    Trial("fast-conv, flips alone", _FAST | {"augment": "flips"}),
    Trial("fast-conv, cutout", _FAST | {"augment": Augment(flips=True, shift=2, cutout=8)}),
    Trial("paper's network, AdamW", _PAPER),
    *(Trial(f"paper's network, Muon {rate}", _PAPER | {"optimiser": "muon", "learning_rate": rate})
      for rate in (0.05, 0.07, 0.1, 0.24)),
    *(Trial(f"deep-conv, cutout {side}",
            _DEEP | {"augment": Augment(flips=True, shift=3, cutout=side)}) for side in (0, 8, 12)),
)  # fmt: skip


def why_not() -> str | None:
    return why_no_data() if torch.cuda.is_available() else "torch sees no CUDA device"


def measure() -> list[Figure]:
    warnings.simplefilter("ignore")
    data = load_cifar10("train")
    order = np.random.default_rng(SPLIT_SEED).permutation(len(data.classes))
    held_out, rest = order[:N_HELD_OUT], order[N_HELD_OUT:]
    figures = []
    for trial in TRIALS:
        scores: dict[int, list[float]] = {n_views: [] for n_views in VIEWS}
        seconds = []
        for seed in range(N_SEEDS):
            with ExitStack() as stack:
                for constant, value in trial.constants.items():
                    stack.enter_context(changed(constant, value))
                network = Network(**trial.network)
                learner = MetricLearner(16, embedder=network, metric="seen", random_state=seed)
                began = time.perf_counter()
                learner.fit(data.images[rest], data.classes[rest])
                seconds.append(time.perf_counter() - began)
            for n_views in VIEWS:
                learner.embedder_.n_views = n_views
                points = [learner.transform(data.images[rows]) for rows in (rest, held_out)]
                accuracy = knn_accuracy(
                    points[0], data.classes[rest], points[1], data.classes[held_out]
                )
                scores[n_views].append(accuracy)
        figures += [
            Figure(f"{trial.title}: 5-NN accuracy, {n_views} view(s)", float(np.mean(found)),
                   note=f"{min(seconds):.2f} s of fitting")
            for n_views, found in scores.items()
        ]  # fmt: skip
        print(trial.title, {n: round(float(np.mean(s)), 4) for n, s in scores.items()}, flush=True)
    return figures
