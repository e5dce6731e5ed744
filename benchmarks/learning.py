"""Whole fits beside rivals: digits and a Siamese network, 100 classes and scikit-learn's NCA."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.figures import Figure
from twofold import MetricLearner, Network, SiameseLearner
from twofold.evaluation import knn_accuracy

TITLE = "Whole fits with default settings beside rivals"
SEEDS = 5
SIAMESE_EPOCHS = 15
SETTING = {
    "digits": "a quarter held out; Siamese: the same network, 10 + 10 pairs an item, "
    f"{SIAMESE_EPOCHS} epochs",
    "classes": "make_classification, 10,000 x 64, 32 informative, 100 classes, class_sep 2, and "
    "2,500 to test on",
    "choice of settings": "the defaults were chosen by looking at these very splits of the digits",
    "seeds": SEEDS,
    "statistic": "mean over seeds; rivals in turn in one process",
}


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    _warm_up()
    return [*_digits(), *_many_classes()]


def _warm_up() -> None:
    """Have torch load what it loads at the first step."""
    X, y = load_digits(return_X_y=True)
    MetricLearner(embedder=Network(max_epochs=1), device="cpu").fit(X[:200], y[:200])


def _digits() -> list[Figure]:
    X, y = load_digits(return_X_y=True)
    rows = []
    for seed in range(SEEDS):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.25, stratify=y, random_state=seed
        )
        ours = MetricLearner(random_state=seed, device="cpu")
        network = Network(max_epochs=SIAMESE_EPOCHS)
        rival = SiameseLearner(embedder=network, random_state=seed, device="cpu")
        row: list[float] = []
        for learner in (ours, rival):
            learner.fit(X[train], y[train])
            points = learner.transform(X)
            accuracy = knn_accuracy(points[train], y[train], points[test], y[test])
            row += [accuracy, learner.score(X[test], y[test]), sum(learner.timing_.values())]
        rows.append(row)
    table = np.array(rows)
    accuracy, auroc, seconds, rival_accuracy, rival_auroc, rival_seconds = table.mean(
        axis=0
    ).tolist()
    ratios = table[:, 2] / table[:, 5]
    return [
        Figure(
            "digits: 5-NN accuracy",
            accuracy,
            0.985,
            note=f"{table[:, 0].min():.4f} to {table[:, 0].max():.4f}; Siamese "
            f"{rival_accuracy:.4f}",
        ),
        Figure("digits: AUROC", auroc, rival_auroc, note="bar: the Siamese network's"),
        Figure(
            "digits: training time / the Siamese network's",
            float(np.median(ratios)),
            0.2,
            at_least=False,
            note=f"{ratios.min():.3f} to {ratios.max():.3f}; {seconds:.1f} s against "
            f"{rival_seconds:.1f} s",
        ),
    ]


def _many_classes() -> list[Figure]:
    X, y = make_classification(
        12_500,
        64,
        n_informative=32,
        n_redundant=16,
        n_classes=100,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=0,
    )
    train, test = np.arange(10_000), np.arange(10_000, 12_500)
    results = []
    for learner in (
        MetricLearner(random_state=0, device="cpu"),
        NeighborhoodComponentsAnalysis(random_state=0),
    ):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner.fit(X[train], y[train])
        seconds = time.perf_counter() - began
        points = learner.transform(X)
        results.append((seconds, knn_accuracy(points[train], y[train], points[test], y[test])))
    (seconds, accuracy), (rival_seconds, rival_accuracy) = results
    raw = knn_accuracy(X[train], y[train], X[test], y[test])
    return [
        Figure(
            "100 classes: seconds of fit / NCA's",
            seconds / rival_seconds,
            1.0,
            at_least=False,
            note=f"{seconds:.1f} s against {rival_seconds:.1f} s",
        ),
        Figure(
            "100 classes: 5-NN accuracy",
            accuracy,
            rival_accuracy,
            note=f"bar: NCA's; {raw:.3f} on raw features",
        ),
    ]
