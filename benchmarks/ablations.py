"""Numbers that change behaviour, each off, halved or doubled: what it is worth.

Everything is measured on training parts: digits with a pair for every fourth item, scene with a
pair an item, amazon-google's training pairs. Items, or for records pairs, are held out of them.
Numbers that these do not reach have sets of their own: digits with 16 pairs an item, with answers
to suggestions, and with a network that is updated; 300 classes. A number whose ablation shows
nothing is to be deleted with its code.
"""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import train_test_split

from benchmarks import asking
from benchmarks.changing import changed
from benchmarks.entity_features import text_features
from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from benchmarks.sparse_pairs import few_pairs
from twofold import LabelRelation, MetricLearner, Network, PairRelation
from twofold.datasets import load_entity_pairs, load_multilabel

TITLE = "Ablations: AUROC less that of the defaults, on items held out of training parts"
SEEDS = int(os.environ.get("ABLATION_SEEDS", "3"))
FEW = ("digits", "scene", "amazon-google")
SETS = (*FEW, "many pairs", "answers", "updates", "classes")
NUMBERS: dict[str, tuple[Any, ...]] = {
    "regression._projection.N_DEVIATIONS": (1.0, 4.0, 1e9),
    "regression._ridge_map.N_LANDMARKS": (1000, 4000),
    "regression._ridge_map.KERNEL_WIDTH": (0.25, 1.0),
    "regression._ridge_map.RIDGE": (15.0, 60.0),
    "targets._near_points.PAIR_MARGIN": (0.65, 1.0, 2.6),
    "feedback._feature_space.N_LEADING": (16, 64),
    "feedback._feature_space.N_FULL": (128, 512),
    "feedback._candidate.N_ROUNDS": (15, 60),
    "feedback._candidate.MOMENTUM": (0.0, 0.95),
    "feedback._selection.RIDGE_MULTIPLIERS": ((1.0,), (1.0, 15.0), (1.0, 60.0)),
    "feedback._selection.MOST_COMPARED_ON": (5_000, 20_000),
    "feedback._race.MOST_HELD_OUT": (125, 500),
    "feedback._race.MOST_FOLDS": (2, 3, 10),
    "feedback._race.PRECISION": (0.005, 0.02, float("inf")),
    "feedback._race.ERRORS_OF_EQUALS": (0.0, 0.5, 2.0),
    "asking._candidate_pairs.N_PARTNERS": (25, 100),
    "asking._choice.WORTH_OF_A_STATEMENT": (0.0, 0.015, 0.06),
    "estimators._plan.N_COMPONENTS": (8, 32),
    "estimators._plan.MOST_COMPONENTS": (128, 512),
    "estimators._updating.SHARE_OF_TRAINING": (0.1, 0.4, 1.0),
}
REACHED_BY = {
    "feedback._selection.MOST_COMPARED_ON": ("many pairs",),
    "asking._candidate_pairs.N_PARTNERS": ("answers",),
    "asking._choice.WORTH_OF_A_STATEMENT": ("answers",),
    "estimators._plan.N_COMPONENTS": ("updates",),
    "estimators._plan.MOST_COMPONENTS": ("classes",),
    "estimators._updating.SHARE_OF_TRAINING": ("updates",),
}
"""Sets that a number can make a difference to; those of few statements where nothing is said."""
PAIRS_AN_ITEM = {"digits": 0.25, "scene": 1, "many pairs": 16, "updates": 2}
N_ANSWERS = 190
SETTING = {
    "seeds": SEEDS,
    "sets": ", ".join(SETS),
    "each figure": "mean over seeds of the AUROC less that of the defaults with the same seed, and "
    "its standard error",
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
        for number, values in NUMBERS.items()
        for name in REACHED_BY.get(number, FEW)
        for place in range(len(values))
        for seed in range(SEEDS)
    ]
    scored = {}
    at_a_time = os.environ.get("ABLATION_AT_A_TIME")
    for job, auroc in run_side_by_side(score, jobs, int(at_a_time) if at_a_time else None):
        print(*job, f"{auroc:.4f}", flush=True)
        scored[job] = auroc
    return [figure for name in SETS for figure in _figures(name, scored)]


def score(name: str, number: str, place: int, seed: int) -> float:
    """Return the AUROC of what is learnt with one number changed."""
    warnings.simplefilter("ignore")
    if not number:
        return _auroc(name, seed)
    with changed(number, NUMBERS[number][place]):
        return _auroc(name, seed)


def _auroc(name: str, seed: int) -> float:
    if name == "answers":
        subject = asking.SUBJECTS["digits"](seed)
        start = asking.starting_pairs(subject, seed)
        return asking.ask_suggestions(subject, start, seed, (N_ANSWERS,))[0][N_ANSWERS]
    if name == "classes":
        return _auroc_of_classes(seed)
    X, relation, X_test, asked = _problem(name, seed)
    learner = MetricLearner(random_state=seed, device="cpu")
    if name == "updates":
        learner.set_params(embedder=Network("mlp"), feedback=0)
        order = np.random.default_rng(seed).permutation(len(relation))
        for number, part in enumerate(np.array_split(order, 10)):
            some = relation.take_pairs(part)
            learner = learner.update(some) if number else learner.fit(X, relation=some)
    else:
        learner.fit(X, relation=relation)
    return learner.score(X_test, relation=asked)


def _auroc_of_classes(seed: int) -> float:
    """Return the AUROC of what is learnt from the labels of 300 classes, 12 items each."""
    X, y = make_blobs(3600, 32, centers=300, cluster_std=6.0, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=seed)
    return MetricLearner(random_state=seed, device="cpu").fit(X, y).score(X_test, y_test)


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
    n_pairs = round(PAIRS_AN_ITEM[name] * len(train))
    relation = few_pairs(labels[train], n_pairs, seed)
    asked = LabelRelation(labels[test]).sample_pairs(random_state=seed)
    return X[train], relation, X[test], asked


def _figures(name: str, scored: dict[Job, float]) -> list[Figure]:
    seeds = range(SEEDS)
    defaults = np.array([scored[name, "", -1, seed] for seed in seeds])
    figures = [Figure(f"{name}: defaults", float(defaults.mean()))]
    reached = [number for number in NUMBERS if name in REACHED_BY.get(number, FEW)]
    for number, values in [(number, NUMBERS[number]) for number in reached]:
        for place, value in enumerate(values):
            values = np.array([scored[name, number, place, seed] for seed in seeds])
            gain = values - defaults
            error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
            title = f"{name}: {number.rpartition('.')[2]} = {value}"
            figures.append(Figure(title, float(gain.mean()), note=f"± {error:.4f}"))
    return figures
