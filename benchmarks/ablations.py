"""Numbers that change behaviour, each off, halved or doubled: what it is worth.

Everything is measured on training parts: digits with a pair for every fourth item, scene with a
pair an item, amazon-google's training pairs. Items, or for records pairs, are held out of them. A
number whose ablation shows nothing is to be deleted with its code.
"""

from __future__ import annotations

import importlib
import os
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.entity_features import text_features
from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from benchmarks.sparse_pairs import few_pairs
from twofold import LabelRelation, MetricLearner, PairRelation
from twofold.datasets import load_entity_pairs, load_multilabel

TITLE = "Ablations: AUROC less that of the defaults, on items held out of training parts"
SEEDS = int(os.environ.get("ABLATION_SEEDS", "3"))
SETS = ("digits", "scene", "amazon-google")
NUMBERS: dict[str, tuple[Any, ...]] = {
    "regression._projection.N_DEVIATIONS": (1.0, 4.0, float("inf")),
    "regression._ridge_map.N_LANDMARKS": (1000, 4000),
    "regression._ridge_map.N_LANDMARKS_IF_WIDE": (500, 2000),
    "regression._ridge_map.KERNEL_WIDTH": (0.25, 1.0),
    "regression._ridge_map.RIDGE": (15.0, 60.0),
    "targets._near_points.PAIR_MARGIN": (0.65, 1.0, 2.6),
    "feedback._feature_space.N_LEADING": (16, 64),
    "feedback._feature_space.N_FULL": (128, 512),
    "feedback._candidate.N_ROUNDS": (15, 60),
    "feedback._candidate.MOMENTUM": (0.0, 0.95),
    "feedback._selection.RIDGE_MULTIPLIERS": ((1.0,), (1.0, 15.0), (1.0, 60.0)),
    "feedback._validation.MOST_HELD_OUT": (125, 500),
    "feedback._validation.MOST_FOLDS": (1, 3, 10),
    "feedback._validation.PRECISION": (0.005, 0.02, float("inf")),
    "feedback._race.ERRORS_OF_EQUALS": (0.0, 0.5, 2.0),
    "feedback._race.ERRORS_TO_DROP": (1.0, 4.0),
    "estimators._plan.VALIDATION_FRACTION": (0.1, 0.4),
}
SETTING = {
    "seeds": SEEDS,
    "sets": ", ".join(SETS),
    "figures": "mean over seeds of the AUROC less that of the defaults with the same seed, and its "
    "standard error",
    "threads": "one a run",
}

Job = tuple[str, str, int, int]
"""Set, number, which of its values (-1 for the default), seed."""


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    jobs: list[Job] = [(name, "", -1, seed) for name in SETS for seed in range(SEEDS)]
    jobs += [
        (name, number, place, seed)
        for name in SETS
        for number, values in NUMBERS.items()
        for place in range(len(values))
        for seed in range(SEEDS)
    ]
    scored = {}
    for job, auroc in run_side_by_side(score, jobs):
        print(*job, f"{auroc:.4f}", flush=True)
        scored[job] = auroc
    return [figure for name in SETS for figure in _figures(name, scored)]


def score(name: str, number: str, place: int, seed: int) -> float:
    """Return the AUROC of what is learnt with one number changed."""
    warnings.simplefilter("ignore")
    if not number:
        return _auroc(name, seed)
    module_name, _, constant = number.rpartition(".")
    modules = _modules_with(module_name, constant)
    before = {module: getattr(module, constant) for module in modules}
    try:
        for module in modules:
            setattr(module, constant, NUMBERS[number][place])
        return _auroc(name, seed)
    finally:
        for module, value in before.items():
            setattr(module, constant, value)


def _modules_with(module_name: str, constant: str) -> list[Any]:
    """Return the modules in whose names a constant stands: its own, and those that import it."""
    import sys

    importlib.import_module(f"twofold.{module_name}")
    return [
        module
        for key, module in list(sys.modules.items())
        if key.startswith("twofold.") and constant in vars(module)
    ]


def _auroc(name: str, seed: int) -> float:
    X, relation, X_test, asked = _problem(name, seed)
    learner = MetricLearner(random_state=seed, device="cpu").fit(X, relation=relation)
    return learner.score(X_test, relation=asked)


@lru_cache(maxsize=8)
def _problem(name: str, seed: int) -> tuple[Any, Any, Any, PairRelation]:
    """Return what to learn from and what to ask, all of a training part."""
    rng = np.random.default_rng(seed)
    if name == "amazon-google":
        pairs = load_entity_pairs(name)
        X: NDArray[Any] = text_features(pairs.records)
        part = pairs.train
        every = PairRelation(part.left, part.right, part.similar.astype(np.float32), len(X))
        kept, held_out = every.split(0.3, random_state=rng)
        return X, kept, X, held_out
    if name == "scene":
        data = load_multilabel(name)
        X, labels = data.features[: data.n_train], data.labels[: data.n_train]
    else:
        X, labels = load_digits(return_X_y=True)
        chosen = np.random.default_rng(0).permutation(len(X))[:1257]
        X, labels = X[chosen].astype(np.float32), labels[chosen]
    order = rng.permutation(X.shape[0])
    train, test = order[: round(0.7 * len(order))], order[round(0.7 * len(order)) :]
    n_pairs = len(train) if name == "scene" else len(train) // 4
    relation = few_pairs(labels[train], n_pairs, seed)
    asked = LabelRelation(labels[test]).sample_pairs(random_state=seed)
    return X[train], relation, X[test], asked


def _figures(name: str, scored: dict[Job, float]) -> list[Figure]:
    seeds = range(SEEDS)
    defaults = np.array([scored[name, "", -1, seed] for seed in seeds])
    figures = [Figure(f"{name}: defaults", float(defaults.mean()))]
    for number, values in NUMBERS.items():
        for place, value in enumerate(values):
            changed = np.array([scored[name, number, place, seed] for seed in seeds])
            gain = changed - defaults
            error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
            title = f"{name}: {number.rpartition('.')[2]} = {value}"
            figures.append(Figure(title, float(gain.mean()), note=f"± {error:.4f}"))
    return figures
