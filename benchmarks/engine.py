"""Networks trained on one GPU: seconds of training, the quality reached, and the whole fit beside.

Recipes were chosen on training images held out (results/gpu/recipes.json); the test part was scored
here alone. Each row is warmed up by one epoch, which is not counted.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import MetricLearner
from twofold.datasets import ImageSet, load_cifar10, load_mnist, load_pubfig83
from twofold.evaluation import knn_accuracy
from twofold.experiments import (
    UNSEEN_METHODS,
    UNSEEN_PROTOCOLS,
    best_score,
    open_unseen,
    run_unseen,
)
from twofold.regression import Augment, Network

TITLE = "Networks on one GPU: 5-NN accuracy on the test part, and seconds of training"
SETS = tuple(os.environ.get("ENGINE_SETS", "cifar10,mnist,pubfig83").split(","))
ONLY = tuple(os.environ.get("ENGINE_ONLY", "").split(";"))
"""One of which the title of a row has to hold for it to be measured."""
LOADERS = {"cifar10": load_cifar10, "mnist": load_mnist, "pubfig83": load_pubfig83}
COMPONENTS = {"cifar10": 16, "mnist": 16, "pubfig83": 83}
WHOLE_RATIO, WHOLE_EXTRA = 1.3, 1.0
UNSEEN_EPOCHS = 20


@dataclass(frozen=True, slots=True)
class Recipe:
    """A network, how it is trained, and what it must reach.

    Attributes
    ----------
    data, title : str
        The set, and the row's name.
    network : dict
        Parameters of `Network`.
    seconds : float
        Most of training.
    least : dict
        Least 5-NN accuracy by number of views.
    n_seeds : int
        Trainings.
    """

    data: str
    title: str
    network: dict[str, Any]
    seconds: float
    least: dict[int, float]
    n_seeds: int = 10


_PAPER = {"architecture": "cifar10", "batch_size": 512, "optimiser": "muon"}
_DENSE = {
    "architecture": "mnist",
    "batch_size": 512,
    "learning_rate": 4e-3,
    "weight_decay": 0.3,
}
RECIPES = (
    Recipe("cifar10", "paper's network, 6 epochs",
           {**_PAPER, "max_epochs": 6, "augment": "flips"}, 2.0, {1: 0.806}),
    Recipe("cifar10", "paper's network, 16 epochs",
           {**_PAPER, "max_epochs": 16, "augment": "photographs", "learning_rate": 0.07}, 5.0,
           {1: 0.845}, 3),
    Recipe("cifar10", "paper's network, 28 epochs",
           {**_PAPER, "max_epochs": 28, "augment": "photographs", "learning_rate": 0.07}, 9.0,
           {1: 0.870}, 3),
    Recipe("cifar10", "fast-conv, 10 epochs",
           {"architecture": "fast-conv", "max_epochs": 10, "augment": "photographs"}, 1.9,
           {1: 0.9325, 6: 0.941}),
    Recipe("cifar10", "deep-conv, 26 epochs",
           {"architecture": "deep-conv", "max_epochs": 26, "learning_rate": 0.16,
            "augment": Augment(flips=True, shift=3, cutout=8)}, 12.0, {6: 0.955}, 3),
    Recipe("cifar10", "deep-conv, 60 epochs",
           {"architecture": "deep-conv", "max_epochs": 60, "learning_rate": 0.16,
            "augment": Augment(flips=True, shift=4, cutout=10)}, 30.0, {6: 0.960}, 2),
    Recipe("mnist", "paper's network, 13 epochs", {**_DENSE, "max_epochs": 13}, 0.5, {1: 0.978}),
    Recipe("mnist", "paper's network, 34 epochs",
           {**_DENSE, "max_epochs": 34, "augment": Augment(shift=1)}, 1.5, {1: 0.986}),
    Recipe("mnist", "fast-conv, 6 epochs",
           {"architecture": "fast-conv", "max_epochs": 6, "augment": "characters"}, 2.0,
           {1: 0.995}),
    Recipe("pubfig83", "paper's network, 45 epochs",
           {"architecture": "pubfig83", "batch_size": 256, "optimiser": "muon", "max_epochs": 45,
            "learning_rate": 0.06, "augment": Augment(flips=True, shift=4)}, 9.0, {1: 0.777}, 3),
)  # fmt: skip
SETTING = {
    "seeds": {f"{recipe.data}, {recipe.title}": recipe.n_seeds for recipe in RECIPES},
    "recipes": {f"{recipe.data}, {recipe.title}": str(recipe.network) for recipe in RECIPES},
    "seconds": "of targets and training, with the network's preparation; metric='seen'",
    "never seen": f"fast-conv, {UNSEEN_EPOCHS} epochs, the same optimiser and batches for all; the "
    "classifier has 2.2 times the epochs, since Twofold trains a second time",
}


@dataclass(slots=True)
class Runs:
    """What the trainings of a recipe came to."""

    seconds: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    accuracy: dict[int, list[float]] = field(default_factory=dict)


def why_not() -> str | None:
    return why_no_data() if torch.cuda.is_available() else "torch sees no CUDA device"


def measure() -> list[Figure]:
    warnings.simplefilter("ignore")
    figures = []
    for name in SETS:
        train, test = (LOADERS[name](part) for part in ("train", "test"))
        for recipe in RECIPES:
            if recipe.data == name and _is_wanted(recipe.title):
                figures += _figures(recipe, _train(recipe, train, test))
        if name == "cifar10" and _is_wanted("never seen"):
            figures += [figure for way in ("0-4", "5-9") for figure in _never_seen(way)]
    return figures


def _is_wanted(title: str) -> bool:
    return any(part in title for part in ONLY)


def _train(recipe: Recipe, train: ImageSet, test: ImageSet) -> Runs:
    runs, dim = Runs(), COMPONENTS[recipe.data]
    for seed in range(-1, recipe.n_seeds):
        is_warm_up = seed < 0
        network = Network(**(recipe.network | ({"max_epochs": 1} if is_warm_up else {})))
        learner = MetricLearner(dim, embedder=network, metric="seen", random_state=max(0, seed))
        began = time.perf_counter()
        learner.fit(train.images, train.classes)
        torch.cuda.synchronize()
        ended = time.perf_counter()
        if is_warm_up:
            continue
        runs.whole.append(ended - began)
        runs.seconds.append(learner.timing_["targets"] + learner.timing_["regression"])
        for n_views in recipe.least:
            learner.embedder_.n_views = n_views
            points = [learner.transform(part.images) for part in (train, test)]
            accuracy = knn_accuracy(points[0], train.classes, points[1], test.classes)
            runs.accuracy.setdefault(n_views, []).append(accuracy)
        print(recipe.title, seed, runs.seconds[-1], {k: v[-1] for k, v in runs.accuracy.items()},
              flush=True)  # fmt: skip
    return runs


def _figures(recipe: Recipe, runs: Runs) -> list[Figure]:
    name, seconds = f"{recipe.data}, {recipe.title}", float(np.mean(runs.seconds))
    spread = f"{min(runs.seconds):.2f} to {max(runs.seconds):.2f}, {recipe.n_seeds} seeds"
    figures = [Figure(f"{name}: seconds", seconds, recipe.seconds, at_least=False, note=spread)]
    for n_views, accuracies in runs.accuracy.items():
        note = f"± {np.std(accuracies, ddof=1):.4f} a training, {recipe.n_seeds} seeds"
        title = f"{name}: 5-NN accuracy, {n_views} view(s)"
        figures.append(Figure(title, float(np.mean(accuracies)), recipe.least[n_views], note=note))
    whole = float(np.mean(runs.whole))
    most = WHOLE_RATIO * seconds + WHOLE_EXTRA
    figures.append(Figure(f"{name}: seconds of the whole fit", whole, most, at_least=False))
    return figures


def _never_seen(way: str) -> list[Figure]:
    """Return the scores of our network on five classes that it was not trained on."""
    protocol = replace(
        UNSEEN_PROTOCOLS[f"unseen-cifar10-{way}"],
        network="fast-conv", n_epochs=UNSEEN_EPOCHS, batch_size=512, weight_decay=0.0,
    )  # fmt: skip
    data = open_unseen(protocol)
    rows: dict[str, dict[str, float]] = {}
    for name in ("twofold-unseen", "twofold-auto", "multi-similarity", "supcon", "cross-entropy",
                 "cross-entropy-whitened"):  # fmt: skip
        n_epochs = round((2.2 if "entropy" in name else 1) * UNSEEN_EPOCHS)
        record, _ = run_unseen(
            replace(protocol, n_epochs=n_epochs), UNSEEN_METHODS[name], data, 0, "cuda"
        )
        assert record.unseen is not None
        scores = {key: best_score(record.unseen.never_seen, key) or 0.0
                  for key in ("auroc", "recall_at_1", "map_at_r")}  # fmt: skip
        rows[name] = scores | {"seconds": sum(record.seconds.values())}
        print(way, name, rows[name], flush=True)
    rivals = [name for name in rows if not name.startswith("twofold")]
    return [
        Figure(
            f"cifar10 {way} never seen, {name}: {key}", scores[key],
            max(rows[rival][key] for rival in rivals) if name not in rivals else None,
            note=f"{scores['seconds']:.1f} s, 1 seed",
        )
        for name, scores in rows.items()
        for key in ("auroc", "recall_at_1", "map_at_r")
    ]  # fmt: skip
