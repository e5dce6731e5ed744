"""The demo's protocol: both phases on scikit-learn's digits, beside a Siamese network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from twofold.baselines import SiameseLearner
from twofold.estimators import MetricLearner
from twofold.evaluation import knn_accuracy, pair_auroc, pair_similarity
from twofold.experiments._machine import describe_machine
from twofold.regression import Epoch, Network
from twofold.relations import LabelRelation, PairRelation
from twofold.targets import Named

N_COMPONENTS = 16
TEST_SHARE = 0.25
N_NEIGHBOURS = 5
SIAMESE_EPOCHS = 10
DROPOUT, WEIGHT_DECAY = 0.2, 0.03
"""The defaults for classes, given to those methods too that only see pairs of them."""


@dataclass(frozen=True, slots=True)
class DemoMethod:
    """A method of learning.

    Attributes
    ----------
    name, explanation : str
        What the reader sees.
    """

    name: str
    explanation: str


TWOFOLD = DemoMethod("Twofold", "all that the labels say, exactly, then regression")
FML_C = DemoMethod("FML-C", "sampled pairs, contrastive targets, then regression")
FML_DP = DemoMethod("FML-DP", "sampled pairs, dot-product targets, then regression")
SIAMESE = DemoMethod("Siamese", "the same network, trained on the sampled pairs")
DEMO_METHODS = (TWOFOLD, FML_C, FML_DP, SIAMESE)
TARGETS: dict[DemoMethod, Named] = {TWOFOLD: "auto", FML_C: "fml-c", FML_DP: "fml-dp"}


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """The demo's record.

    Attributes
    ----------
    train_images, test_images : ndarray of float64, shape (n, 8, 8)
        Digits, 0 to 16.
    train_classes, test_classes : ndarray of int64
        What they show.
    n_pairs : int
        Sampled pairs of training digits.
    runs : tuple of DemoRun
        One a method.
    machine : dict
        What it was measured on.
    seed : int
        Random seeds.
    """

    train_images: NDArray[np.float64]
    test_images: NDArray[np.float64]
    train_classes: NDArray[np.int64]
    test_classes: NDArray[np.int64]
    n_pairs: int
    runs: tuple[DemoRun, ...]
    machine: dict[str, str]
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class DemoRun:
    """What one method gave.

    Attributes
    ----------
    method : DemoMethod
        Which.
    seconds, auroc : ndarray of float64, shape (n_epochs,)
        Of training, phase 1 counted in and evaluation not; pairwise AUROC on test digits.
    phase_seconds : dict
        "targets" (0 for the Siamese network) and "training".
    accuracy : float
        Of the five nearest training digits' vote, on test digits.
    points : ndarray of float32, shape (n_test, n_components)
        Test digits' embedding.
    neighbours : ndarray of int64, shape (n_test, 5)
        Rows of the training digits nearest to each test digit.
    """

    method: DemoMethod
    seconds: NDArray[np.float64]
    auroc: NDArray[np.float64]
    phase_seconds: dict[str, float]
    accuracy: float
    points: NDArray[np.float32]
    neighbours: NDArray[np.int64]


Watcher = Callable[[DemoMethod, Epoch, float], Any]
Known = dict[DemoMethod, PairRelation | LabelRelation]
"""What each method learns from."""


def run_demo(seed: int = 0, watch: Watcher | None = None, max_epochs: int | None = None) -> Demo:
    """Learn the digits by every method.

    Parameters
    ----------
    seed : int
        Of the split, sampling and training.
    watch : callable (method, epoch, auroc), optional
        Called after every epoch, for a display of progress.
    max_epochs : int, optional
        Fewer epochs than the methods' own, for a quick look.
    """
    digits = load_digits()
    train, test = train_test_split(
        np.arange(digits.target.size),
        test_size=TEST_SHARE,
        stratify=digits.target,
        random_state=seed,
    )
    X, classes = digits.data.astype(np.float32), digits.target.astype(np.int64)
    relation = LabelRelation(classes[train])
    pairs = relation.sample_pairs(random_state=seed)
    known: Known = {TWOFOLD: relation, FML_C: pairs, FML_DP: pairs, SIAMESE: pairs}
    _warm_up(X[train], known)
    split = _Split(X[train], X[test], classes[train], classes[test], seed)
    runs = tuple(
        _run(method, _learner(method, seed, max_epochs), split, known[method], watch)
        for method in DEMO_METHODS
    )
    return Demo(
        digits.images[train],
        digits.images[test],
        split.train_classes,
        split.test_classes,
        pairs.n_pairs,
        runs,
        describe_machine(),
        seed,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    train: NDArray[np.float32]
    test: NDArray[np.float32]
    train_classes: NDArray[np.int64]
    test_classes: NDArray[np.int64]
    seed: int


def _learner(
    method: DemoMethod, seed: int, max_epochs: int | None
) -> MetricLearner | SiameseLearner:
    if max_epochs is None and method is SIAMESE:
        max_epochs = SIAMESE_EPOCHS
    common: dict[str, Any] = {
        "embedder": Network(
            max_epochs="auto" if max_epochs is None else max_epochs,
            dropout=DROPOUT,
            weight_decay=WEIGHT_DECAY,
        ),
        "random_state": seed,
        "device": "cpu",
    }
    if method is SIAMESE:
        return SiameseLearner(N_COMPONENTS, **common)
    return MetricLearner(N_COMPONENTS, targets=TARGETS[method], metric="seen", **common)


def _run(
    method: DemoMethod,
    learner: MetricLearner | SiameseLearner,
    split: _Split,
    known: PairRelation | LabelRelation,
    watch: Watcher | None,
) -> DemoRun:
    test_pairs = LabelRelation(split.test_classes).sample_pairs(random_state=split.seed)
    metric: Literal["euclidean", "dot"] = "euclidean" if method in (FML_C, SIAMESE) else "dot"
    curve: list[tuple[float, float]] = []

    def follow(epoch: Epoch) -> None:
        assert epoch.embed is not None
        points = epoch.embed(split.test)
        similarity = pair_similarity(points, test_pairs.left, test_pairs.right, metric)
        curve.append((epoch.seconds, pair_auroc(test_pairs.similar, similarity)))
        if watch is not None:
            watch(method, epoch, curve[-1][1])

    learner.set_params(embedder__callback=follow)
    learner.fit(split.train, relation=known)
    train_points, test_points = learner.transform(split.train), learner.transform(split.test)
    targets_seconds = learner.timing_.get("targets", 0.0)
    seconds, auroc = np.array(curve).T
    nearest = NearestNeighbors(n_neighbors=N_NEIGHBOURS).fit(train_points)
    return DemoRun(
        method=method,
        seconds=seconds + targets_seconds,
        auroc=auroc,
        phase_seconds={
            "targets": targets_seconds,
            "training": sum(learner.timing_.values()) - targets_seconds,
        },
        accuracy=knn_accuracy(
            train_points, split.train_classes, test_points, split.test_classes, k=N_NEIGHBOURS
        ),
        points=test_points,
        neighbours=nearest.kneighbors(test_points, return_distance=False),
    )


def _warm_up(X: NDArray[np.float32], known: Known) -> None:
    """Have Numba compile and torch load all that the methods use before anything is timed."""
    for method in DEMO_METHODS:
        _learner(method, seed=0, max_epochs=1).fit(X, relation=known[method])
