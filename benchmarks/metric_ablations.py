"""Numbers of the metric room, each off, halved or doubled: what it is worth.

On classes that no protocol of kinds never seen tests: letters of Omniglot's Greek and Latin and the
60 people of PubFig83 that are trained on, each parted into halves at random, one to learn from and
one to score; and vectors of 24 hidden factors, sets that nobody had looked at. Images are vectors
of pixels here. The networks are the defaults' own and trained once; what a number changes is solved
anew. Five classes, as digits, MNIST and CIFAR-10 have to train on, are too few to part.
"""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.changing import changed
from benchmarks.figures import Figure
from benchmarks.hidden_factors import make_factors
from benchmarks.relations import why_no_data
from benchmarks.remembering import remembering
from benchmarks.side_by_side import run_side_by_side
from twofold import MetricLearner
from twofold.datasets import load_omniglot, load_pubfig83
from twofold.evaluation import all_pairs_auroc, retrieval_scores
from twofold.metric import GateCurve, _layer_space

TITLE = "Ablations of the metric step: AUROC and recall@1 less the defaults', on classes never seen"
N_SPLITS = int(os.environ.get("METRIC_ABLATION_SPLITS", "3"))
SETS = ("Omniglot", "PubFig83", "24 factors")
FIRST_SET = 100
"""Of the 24 factors: the seeds before were looked at when numbers were chosen."""
N_PEOPLE, MOST_OF_A_PERSON = 60, 40
NUMBERS: dict[str, tuple[Any, ...]] = {
    "metric._selection.SHRINKAGES": ((0.8,), (0.2,), (0.5,), (0.9,)),
    "metric._layer_space.DISCRIMINANT_SHRINKAGE": (0.001, 0.5),
    "metric._layer_space.MOST_DIRECTIONS": (128, 256),
    "metric._layer_space.N_SAMPLED": (512, 4096),
    "metric._weights.HARD_WEIGHT": (0.0, 1.0, 2.0),
    "metric._weights.PRIOR_PAIRS": (1e-9, 0.25, 4.0, 1e9),
    "metric._weights.MOST_PAIRS": (2500, 40_000),
    "metric._gate.SHARE": (0.0, 0.2, 0.6),
    "metric._solving.MOST_SOLVED_ON": (300,),
    "metric._solving.MOST_CHOSEN_ON": (100,),
}
SHARE = "metric._gate.SHARE"
SETTING = {
    "splits of each set": N_SPLITS,
    "Omniglot": "Greek and Latin of small 1, 50 letters, 21 x 21 means of pixels, halves",
    "PubFig83": f"{N_PEOPLE} people, at most {MOST_OF_A_PERSON} images each, 12 x 12, halves",
    "24 factors": f"100 classes of 10, sets {FIRST_SET} to {FIRST_SET + N_SPLITS - 1}",
    "each figure": "mean over splits of the score less that of the defaults, and its error",
}
Changes = dict[tuple[str, str, int], tuple[float, float]]
"""From metric, number and which of its values ("" and -1 for the defaults) to the two scores."""


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    jobs = [(name, number) for name in SETS for number in range(N_SPLITS)]
    scored: dict[str, list[Changes]] = {}
    for (name, number), changes in run_side_by_side(score, jobs):
        print(name, number, "done", flush=True)
        scored.setdefault(name, []).append(changes)
    return [figure for name, parts in scored.items() for figure in _figures(name, parts)]


def score(name: str, number: int) -> Changes:
    """Return the scores of one set, with each number changed in turn."""
    warnings.simplefilter("ignore")
    X, classes, X_new, new_classes = _problem(name, number)
    changes: Changes = {}
    for metric in ("unseen", "auto"):

        def scores(metric: str = metric) -> tuple[float, float]:
            learner = MetricLearner(metric=metric, random_state=number, device="cpu")
            points = learner.fit(X, classes).transform(X_new)
            retrieved = retrieval_scores(
                points, new_classes, k=(1,), metric="cosine", n_resamples=0
            )
            return all_pairs_auroc(points, new_classes, metric="cosine"), retrieved.recall_at[1]

        with remembering():
            changes[metric, "", -1] = scores()
            for constant, values in NUMBERS.items():
                if constant == SHARE and metric == "unseen":
                    continue
                for place, value in enumerate(values):
                    with _changed(constant, value):
                        changes[metric, constant, place] = scores()
    return changes


def _problem(name: str, number: int) -> tuple[NDArray[Any], ...]:
    if name == "24 factors":
        return make_factors(100, FIRST_SET + number)
    X, classes = _letters() if name == "Omniglot" else _people()
    of_each = np.random.default_rng(number).permutation(classes.max() + 1)
    is_seen = of_each[classes] < len(of_each) // 2
    return X[is_seen], classes[is_seen], X[~is_seen], classes[~is_seen]


def _letters() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    stored = load_omniglot("small1")
    never_tested = [stored.alphabet_names.index(name) for name in ("Greek", "Latin")]
    rows = np.isin(stored.alphabets, never_tested)
    classes = np.unique(stored.classes[rows], return_inverse=True)[1]
    return _means_of_pixels(stored.images[rows], 5), classes


def _people() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    stored = load_pubfig83("train")
    rows = [np.flatnonzero(stored.classes == k)[:MOST_OF_A_PERSON] for k in range(N_PEOPLE)]
    chosen = np.concatenate(rows)
    return _means_of_pixels(stored.images[chosen], 5), stored.classes[chosen]


def _means_of_pixels(images: NDArray[Any], side: int) -> NDArray[np.float32]:
    """Return vectors of the means of squares of pixels, of images (n, channels, height, width)."""
    n, channels, height, width = images.shape
    parts = images.reshape(n, channels, height // side, side, width // side, side)
    return parts.mean(axis=(3, 5), dtype=np.float32).reshape(n, -1)


def _changed(constant: str, value: Any) -> ExitStack:
    """Change a constant, and where it is the default of a parameter."""
    stack = changed(constant, value)
    attribute = constant.rpartition(".")[2]
    if attribute == "SHARE":
        stack.enter_context(patch.object(GateCurve.__init__, "__defaults__", (value,)))
    if attribute == "MOST_DIRECTIONS":
        stack.enter_context(patch.object(_layer_space.leading_directions, "__defaults__", (value,)))
    return stack


def _figures(name: str, parts: list[Changes]) -> list[Figure]:
    figures = []
    for key in parts[0]:
        metric, constant, place = key
        for which, title in enumerate(("AUROC", "recall@1")):
            scores = np.array([part[key][which] for part in parts])
            if not constant:
                figures.append(Figure(f"{name}, {metric}, defaults: {title}", float(scores.mean())))
                continue
            gain = scores - np.array([part[metric, "", -1][which] for part in parts])
            error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
            other = f"{constant.rpartition('.')[2]} = {NUMBERS[constant][place]}"
            figures.append(
                Figure(
                    f"{name}, {metric}, {other}: {title}",
                    float(gain.mean()),
                    note=f"± {error:.4f}",
                )
            )
    return figures
