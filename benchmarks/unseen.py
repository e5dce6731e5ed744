"""Kinds never seen: trained on some classes, scored on others, beside what is used today.

Every method has the same network, batch size, epochs and data; rivals have 512 components, and the
better of their own metric, Euclidean distance and cosine. Points of the features and of a
classifier's hidden layer, whitened too, stand beside them. The learner chooses nothing on the
classes that are tested; but the numbers of the metric step were chosen in trials on MNIST 0-4,
Omniglot 1, PubFig83 and CIFAR-10 in which their scores were seen.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import nn

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from twofold import MetricLearner, Network
from twofold.baselines import BatchLossLearner, ClassifierLearner, SiameseLearner
from twofold.datasets import load_cifar10, load_mnist, load_omniglot, load_pubfig83
from twofold.evaluation import all_pairs_auroc, retrieval_scores

TITLE = "Kinds never seen: AUROC, recall@1 and MAP@R on classes that were not trained on"
SEEDS = int(os.environ.get("UNSEEN_SEEDS", "5"))
SETS = tuple(
    os.environ.get(
        "UNSEEN_SETS",
        "digits,mnist 0-4,mnist 5-9,omniglot 1,omniglot 2,pubfig83,cifar10 0-4,cifar10 5-9",
    ).split(",")
)
N_COMPONENTS = 512
MOST_TESTED = 6000
NEW_ALPHABETS = {
    "omniglot 1": ("Japanese_(katakana)", "Sanskrit", "Tagalog"),
    "omniglot 2": ("Balinese", "Early_Aramaic", "Korean"),
}
RIVALS = ("siamese", "supcon", "proxy-anchor", "multi-similarity", "triplet", "classifier")
METHODS = tuple(
    os.environ.get("UNSEEN_METHODS", ",".join(("twofold", "features", *RIVALS))).split(",")
)
SETTING = {
    "seeds": SEEDS,
    "sets": ", ".join(SETS),
    "rivals": f"{N_COMPONENTS} components; the better of three metrics, chosen on the test part",
    "n_at_a_time": os.environ.get("UNSEEN_AT_A_TIME", ""),
}
Items = tuple[NDArray[Any], NDArray[np.int64]]
Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class Protocol:
    """How every method is trained on a set."""

    architecture: Callable[[int], str | nn.Module]
    max_epochs: int
    batch_size: int
    weight_decay: float
    augment: str | None = None


def small_conv(n_outputs: int) -> nn.Module:
    """Return three convolutions of 64 channels and a hidden layer of 256, for 28 × 28."""

    def block(n_channels: int) -> list[nn.Module]:
        conv = nn.Conv2d(n_channels, 64, 3, padding=1)
        return [conv, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)]

    head = [nn.Flatten(), nn.Linear(576, 256), nn.ReLU(), nn.Linear(256, n_outputs)]
    return nn.Sequential(*block(1), *block(64), *block(64), *head)


PROTOCOLS = {
    "digits": Protocol(lambda _: "mlp", 30, 64, 0.03),
    "mnist": Protocol(lambda _: "mnist", 30, 128, 0.3),
    "omniglot": Protocol(small_conv, 40, 64, 0.0),
    "pubfig83": Protocol(lambda _: "pubfig83", 150, 128, 1.0, "flips"),
    "cifar10": Protocol(lambda _: "cifar10", 50, 128, 0.6, "flips"),
}


def why_not() -> str | None:
    return None if SETS == ("digits",) else why_no_data()


def measure() -> list[Figure]:
    jobs = [
        (name, method, seed)
        for name in sorted(SETS, key=lambda name: -PROTOCOLS[name.split()[0]].max_epochs)
        for seed in range(SEEDS)
        for method in METHODS
    ]
    at_a_time = os.environ.get("UNSEEN_AT_A_TIME")
    scored: dict[tuple[str, str], list[Scores]] = {}
    for (name, _, seed), rows in run_side_by_side(
        score, jobs, int(at_a_time) if at_a_time else None
    ):
        for row, scores in rows.items():
            print(
                name, row, seed, {key: round(value, 4) for key, value in scores.items()}, flush=True
            )
            scored.setdefault((name, row), []).append(scores)
    return [figure for name in SETS for figure in _figures(name, scored)]


def score(name: str, method: str, seed: int) -> dict[str, Scores]:
    """Return the scores of a method's rows, by their names, on the classes not trained on."""
    warnings.simplefilter("ignore")
    torch.manual_seed(seed)  # a module of one's own draws its weights when it is made
    train, test = open_parts(name)
    rows: dict[str, Scores] = {}
    if method == "features":
        flat = test[0].reshape(len(test[0]), -1).astype(np.float32)
        return {"features": _best(flat, test[1], ("euclidean", "cosine"))}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    goals = ("auto", "unseen") if method == "twofold" else ("",)
    for goal in goals:
        began = time.perf_counter()
        learner = _learner(name, method, goal, train[1], device, seed)
        learner.fit(*train)
        seconds = time.perf_counter() - began
        points = learner.transform(test[0])
        metrics = (
            {learner.metric_} if method == "twofold" else {learner.metric_, "euclidean", "cosine"}
        )
        row = f"{method} {goal}".strip()
        rows[row] = _best(points, test[1], tuple(sorted(metrics))) | {"seconds": seconds}
        if method == "classifier":
            whitened = _whitened(learner.transform(train[0]), train[1], points)
            rows["classifier, whitened"] = _best(whitened, test[1], ("cosine",))
    return rows


def open_parts(name: str) -> tuple[Items, Items]:
    """Return items to train on, and items of other classes."""
    kind, _, which = name.partition(" ")
    if kind == "omniglot":
        return _omniglot(which)
    if kind == "digits":
        digits = load_digits()
        images, classes = digits.data.astype(np.float32), digits.target.astype(np.int64)
        is_first = classes < 5
        return (images[is_first], classes[is_first]), (images[~is_first], classes[~is_first])
    loads: dict[str, Any] = {
        "mnist": load_mnist,
        "cifar10": load_cifar10,
        "pubfig83": load_pubfig83,
    }
    parts = [loads[kind](part) for part in ("train", "test")]
    if kind == "pubfig83":
        images = np.concatenate([part.images for part in parts])
        classes = np.concatenate([part.classes for part in parts])
        is_new = classes >= 60
        train = parts[0].classes < 60
        return (parts[0].images[train], parts[0].classes[train]), (images[is_new], classes[is_new])
    first, last = (int(end) for end in which.split("-"))
    train, test = ((part.classes >= first) & (part.classes <= last) for part in parts)
    return (
        (parts[0].images[train], parts[0].classes[train]),
        (parts[1].images[~test], parts[1].classes[~test]),
    )


def _omniglot(which: str) -> tuple[Items, Items]:
    train, other = (load_omniglot(f"small{k}", size=28) for k in (which, 3 - int(which)))
    new = [other.alphabet_names.index(name) for name in NEW_ALPHABETS[f"omniglot {which}"]]
    is_new = np.isin(other.alphabets, new)
    return (train.images, train.classes), (other.images[is_new], other.classes[is_new])


def _learner(
    name: str, method: str, goal: str, classes: NDArray[np.int64], device: str, seed: int
) -> Any:
    protocol = PROTOCOLS[name.split()[0]]
    common: dict[str, Any] = {"device": device, "random_state": seed}
    n_classes = len(np.unique(classes))
    n_outputs = {"twofold": max(16, n_classes), "classifier": n_classes}.get(method, N_COMPONENTS)
    network = Network(
        protocol.architecture(n_outputs),
        max_epochs=protocol.max_epochs,
        batch_size=protocol.batch_size,
        weight_decay=protocol.weight_decay,
        augment=protocol.augment,  # type: ignore[arg-type]
    )
    if method == "twofold":
        return MetricLearner(embedder=network, metric=goal, **common)  # type: ignore[arg-type]
    if method == "classifier":
        return ClassifierLearner(embedder=network, **common)
    if method == "siamese":
        return SiameseLearner(N_COMPONENTS, embedder=network, epoch_size=len(classes), **common)
    return BatchLossLearner(N_COMPONENTS, loss=method, embedder=network, **common)


def _whitened(train: Any, classes: Any, points: Any) -> Any:
    """Return points whitened by the covariance within classes, shrunk by a half."""
    _, codes = np.unique(classes, return_inverse=True)
    means = np.stack([train[codes == one].mean(axis=0) for one in range(codes.max() + 1)])
    within = np.cov((train - means[codes]).T)
    shrunk = 0.5 * within + 0.5 * np.trace(within) / len(within) * np.eye(len(within))
    sizes, directions = np.linalg.eigh(shrunk)
    return ((points - train.mean(axis=0)) @ (directions / np.sqrt(sizes))).astype(np.float32)


def _best(points: Any, classes: Any, metrics: tuple[Any, ...]) -> Scores:
    """Return each score by the metric that is best for it."""
    rows = np.linspace(0, len(points) - 1, min(len(points), MOST_TESTED)).astype(np.int64)
    points, classes = points[rows], classes[rows]
    scores = []
    for metric in metrics:
        retrieval = retrieval_scores(points, classes, k=(1,), metric=metric, n_resamples=0)
        auroc = all_pairs_auroc(points, classes, metric=metric)
        scores.append(
            {"AUROC": auroc, "recall@1": retrieval.recall_at[1], "MAP@R": retrieval.map_at_r}
        )
    return {name: max(one[name] for one in scores) for name in scores[0]}


def _figures(name: str, scored: dict[tuple[str, str], list[Scores]]) -> list[Figure]:
    """Return the means of a set; the bar of ours is the best rival less two standard errors."""
    rows = [row for one, row in scored if one == name]
    figures = []
    for score_name in ("AUROC", "recall@1", "MAP@R"):
        means = {row: [one[score_name] for one in scored[name, row]] for row in rows}
        rivals = {row: np.mean(values) for row, values in means.items() if "twofold" not in row}
        best = max(rivals, key=lambda row: rivals[row], default=None)
        for row, values in means.items():
            error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            bar = None
            note = f"± {error:.4f}, {len(values)} seed(s)"
            if "twofold" in row and best is not None:
                of_best = means[best]
                spread = (
                    float(np.std(of_best, ddof=1) / np.sqrt(len(of_best)))
                    if len(of_best) > 1
                    else 0
                )
                bar = float(rivals[best] - 2 * np.hypot(error, spread))
                note += f"; best rival {best} {rivals[best]:.4f}"
            figures.append(
                Figure(f"{name}, {row}: {score_name}", float(np.mean(values)), bar, note=note)
            )
    return figures
