"""Kinds never seen: trained on some classes, scored on others, beside what is used today.

Protocols, methods and scores are those of `twofold reproduce SET --unseen`: every method has the
same network, batch size, epochs and data; rivals have 512 components, each of their scores is by
the best of their own metric, Euclidean distance and cosine. The learner chooses nothing on the
classes that are tested; but the numbers of the metric step were chosen in trials on all of these
sets, in which their scores were seen.
"""

from __future__ import annotations

import os
import warnings
from functools import cache

import numpy as np
import torch

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.side_by_side import run_side_by_side
from twofold.experiments import (
    UNSEEN_METHODS,
    UNSEEN_PROTOCOLS,
    UnseenSet,
    best_score,
    open_unseen,
    run_unseen,
)

TITLE = "Kinds never seen: AUROC, recall@1 and MAP@R on classes that were not trained on"
SEEDS = int(os.environ.get("UNSEEN_SEEDS", "5"))
SETS = tuple(
    os.environ.get(
        "UNSEEN_SETS",
        "digits,mnist 0-4,mnist 5-9,omniglot 1,omniglot 2,pubfig83,cifar10 0-4,cifar10 5-9",
    ).split(",")
)
METHODS = tuple(os.environ.get("UNSEEN_METHODS", ",".join(UNSEEN_METHODS)).split(","))
OURS = ("twofold-unseen", "twofold-auto")
SCORES = {"AUROC": "auroc", "recall@1": "recall_at_1", "MAP@R": "map_at_r"}
SETTING = {
    "seeds": SEEDS,
    "sets": ", ".join(SETS),
    "rivals": "512 components; the best of three metrics, chosen on the test part",
    "n_at_a_time": os.environ.get("UNSEEN_AT_A_TIME", ""),
}
Scores = dict[str, float]


def why_not() -> str | None:
    return None if SETS == ("digits",) else why_no_data()


def measure() -> list[Figure]:
    jobs = [
        (name, method, seed)
        for name in sorted(SETS, key=lambda name: -UNSEEN_PROTOCOLS[_protocol(name)].n_epochs)
        for seed in range(SEEDS)
        for method in METHODS
    ]
    at_a_time = os.environ.get("UNSEEN_AT_A_TIME")
    scored: dict[tuple[str, str], list[Scores]] = {}
    for (name, method, seed), scores in run_side_by_side(
        score, jobs, int(at_a_time) if at_a_time else None
    ):
        shown = {key: round(value, 4) for key, value in scores.items()}
        print(name, method, seed, shown, flush=True)
        scored.setdefault((name, method), []).append(scores)
    return [figure for name in SETS for figure in _figures(name, scored)]


def score(name: str, method: str, seed: int) -> Scores:
    """Return the scores of a method on the classes not trained on, and its seconds."""
    warnings.simplefilter("ignore")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    protocol = UNSEEN_PROTOCOLS[_protocol(name)]
    record, _ = run_unseen(protocol, UNSEEN_METHODS[method], _open(name), seed, device)
    assert record.unseen is not None
    never_seen = record.unseen.never_seen
    scores = {title: best_score(never_seen, key) for title, key in SCORES.items()}
    measured = {title: value for title, value in scores.items() if value is not None}
    return measured | {"seconds": sum(record.seconds.values())}


@cache
def _open(name: str) -> UnseenSet:
    return open_unseen(UNSEEN_PROTOCOLS[_protocol(name)])


def _protocol(name: str) -> str:
    """Return the protocol that a set of `UNSEEN_SETS` stands for."""
    return f"unseen-{name.replace(' ', '-')}"


def _figures(name: str, scored: dict[tuple[str, str], list[Scores]]) -> list[Figure]:
    """Return the means of a set; the bar of ours is the best rival less two standard errors."""
    rows = [row for one, row in scored if one == name]
    figures = []
    for score_name in SCORES:
        means = {row: [one[score_name] for one in scored[name, row]] for row in rows}
        rivals = {row: np.mean(values) for row, values in means.items() if row not in OURS}
        best = max(rivals, key=lambda row: rivals[row], default=None)
        for row, values in means.items():
            error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
            bar = None
            note = f"± {error:.4f}, {len(values)} seed(s)"
            if row in OURS and best is not None:
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
