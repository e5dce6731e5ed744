"""Vectors of 24 hidden factors: classes of 10 items, and as many new ones that are told apart.

x = tanh(¼ (m_class + .7 ε) W) + .3 ε′, of m, W, ε and ε′ standard normal, W 24 × 64. Rivals are the
vectors as given and scikit-learn's linear discriminant: as it is by default, shrunk by Ledoit and
Wolf, and once told that there are 24 factors, which nobody knows. Each has the better of Euclidean
distance and cosine, chosen on the test part. Of 10,000 new classes 1,000 are scored.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.figures import Figure
from benchmarks.side_by_side import run_side_by_side
from twofold import MetricLearner
from twofold.evaluation import all_pairs_auroc

TITLE = "24 hidden factors: AUROC of all pairs of classes that were not trained on"
N_FACTORS, N_VALUES, N_EACH, MOST_SCORED = 24, 64, 10, 1000
SEEDS = {
    int(n_classes): int(n_seeds)
    for n_classes, n_seeds in (
        size.split(":")
        for size in os.environ.get("HIDDEN_FACTORS", "10000:1,1000:3,100:3").split(",")
    )
}
DISCRIMINANTS: dict[str, dict[str, Any]] = {
    "discriminant": {},
    "discriminant, shrunk": {"solver": "eigen", "shrinkage": "auto"},
    "discriminant, told the 24 factors": {"n_components": N_FACTORS},
}
OURS: tuple[Literal["unseen", "auto"], ...] = ("unseen", "auto")
METHODS = (*OURS, "as given", *DISCRIMINANTS)
SETTING = {"seeds": SEEDS, "items of a class": N_EACH, "threads": "one a run"}
Table = NDArray[np.float32]
Classes = NDArray[np.int64]


def why_not() -> str | None:
    return None


def measure() -> list[Figure]:
    jobs = [
        (n_classes, method, seed)
        for n_classes, n_seeds in SEEDS.items()
        for method in METHODS
        for seed in range(n_seeds)
    ]
    scored: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for (n_classes, method, seed), (auroc, seconds) in run_side_by_side(score, jobs):
        print(n_classes, method, seed, f"{auroc:.5f} in {seconds:.0f} s", flush=True)
        scored.setdefault((n_classes, method), []).append((auroc, seconds))
    return [figure for n_classes in sorted(SEEDS) for figure in _figures(n_classes, scored)]


def score(n_classes: int, method: str, seed: int) -> tuple[float, float]:
    """Return the AUROC of a method on classes that it was not trained on, and its seconds."""
    warnings.simplefilter("ignore")
    X, classes, X_new, new_classes = make_factors(n_classes, seed)
    began = time.perf_counter()
    if method == "as given":
        points = X_new
    elif method in DISCRIMINANTS:
        rival = LinearDiscriminantAnalysis(**DISCRIMINANTS[method]).fit(X, classes)
        points = rival.transform(X_new)
    else:
        learner = MetricLearner(metric=method, random_state=seed, device="cpu")
        points = learner.fit(X, classes).transform(X_new)
    seconds = time.perf_counter() - began
    metrics: tuple[Any, ...] = ("cosine",) if method in OURS else ("cosine", "euclidean")
    return max(all_pairs_auroc(points, new_classes, metric=one) for one in metrics), seconds


def make_factors(n_classes: int, seed: int) -> tuple[Table, Classes, Table, Classes]:
    """Return items and classes to learn from, and of new classes, at most 1,000, to score."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((N_FACTORS, N_VALUES))

    def part(n_kept: int) -> tuple[Table, Classes]:
        means = rng.standard_normal((n_kept, N_FACTORS))
        classes = np.repeat(np.arange(n_kept), N_EACH)
        factors = means[classes] + 0.7 * rng.standard_normal((len(classes), N_FACTORS))
        noise = 0.3 * rng.standard_normal((len(classes), N_VALUES))
        return (np.tanh(factors @ mixing / 4) + noise).astype(np.float32), classes

    return *part(n_classes), *part(min(n_classes, MOST_SCORED))


def _figures(
    n_classes: int, scored: dict[tuple[int, str], list[tuple[float, float]]]
) -> list[Figure]:
    """Return the means of one size; the bar of ours is the best rival's."""
    means = {
        method: float(np.mean([auroc for auroc, _ in scored[n_classes, method]]))
        for method in METHODS
    }
    best = max(means[method] for method in METHODS if method not in OURS)
    figures = []
    for method, mean in means.items():
        seconds = float(np.median([each for _, each in scored[n_classes, method]]))
        each_seed = " ".join(f"{auroc:.4f}" for auroc, _ in sorted(scored[n_classes, method]))
        title = f'{n_classes:,} classes, metric="{method}"' if method in OURS else method
        name = title if method in OURS else f"{n_classes:,} classes, {method}"
        bar = best if method in OURS else None
        figures.append(Figure(name, mean, bar, note=f"{each_seed}; {seconds:.0f} s a fit"))
    return figures
