"""Kinds that were trained on: the default beside the output alone, on the same network.

The protocol is that of `twofold reproduce SET`, at its last epoch: the points of `metric="seen"`
are those of README's tables, and `metric="auto"` goes on from the same network. AUROC on the test
pairs, and the score of the five nearest neighbours; each metric compares points by its own.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from benchmarks.figures import Figure
from benchmarks.kept_jobs import Deadline, Job, Row, kept_circumstances, kept_rows
from benchmarks.relations import why_no_data
from benchmarks.remembering import remembering
from benchmarks.side_by_side import run_side_by_side
from twofold import LabelRelation
from twofold.estimators import EmbeddingLearner
from twofold.evaluation import pair_auroc, pair_similarity
from twofold.experiments import METHODS, PROTOCOLS, open_set
from twofold.experiments._examples import empty_rows_unsaid
from twofold.experiments._following import neighbours_score
from twofold.experiments._methods import RunConfig
from twofold.experiments._paper import N_DISSIMILAR, N_SIMILAR, Protocol
from twofold.experiments._sets import ExperimentSet, Part, part_validation

TITLE = "Kinds that were trained on: the default beside the output alone"
SEEDS = int(os.environ.get("SEEN_SEEDS", "3"))
SETS = tuple(
    os.environ.get(
        "SEEN_SETS", "mnist,cifar10,pubfig83,digits,scene,yeast,corel5k,delicious"
    ).split(",")
)
METRICS = ("seen", "auto")
SCORES = ("AUROC", "neighbours")
SETTING = {
    "seeds": SEEDS,
    "sets": ", ".join(SETS),
    "epochs": os.environ.get("SEEN_EPOCHS", "the protocols', the last"),
    "bar": 'metric="seen" of the same seeds, less two standard errors of the difference',
} | kept_circumstances()


def why_not() -> str | None:
    return None if SETS == ("digits",) else why_no_data()


def measure() -> list[Figure]:
    kept = kept_rows("seen")
    if kept is None:
        done = run_side_by_side(work, [(np.inf, *job.args) for job in jobs()])
        kept = [(list(args[1:]), row) for args, rows in done for row in rows]
    rows = [{"set": name, **row} for (name, _), row in kept]
    return [figure for name in SETS for figure in _figures(name, rows)]


def jobs() -> list[Job]:
    """Return a job a set and seed."""
    return [
        Job("seen", (name, seed), 1.5 if seed == 0 else 5.5, name in ("cifar10", "pubfig83"))
        for seed in range(SEEDS)
        for name in SETS
    ]


def work(deadline: float, name: str, seed: int) -> list[Row]:
    """Return both scores of both metrics, a row a metric."""
    warnings.simplefilter("ignore")
    protocol, data = PROTOCOLS[name], _open(name)
    n_epochs = int(os.environ.get("SEEN_EPOCHS", protocol.n_epochs))
    protocol = replace(protocol, n_epochs=n_epochs)
    fitted, _ = part_validation(data.train, seed)
    rows = []
    with remembering(), empty_rows_unsaid():
        for number, metric in enumerate(METRICS):
            learner = _learner(protocol, len(fitted.labels), seed)
            guard = Deadline(deadline, len(METRICS) - number)
            learner.set_params(metric=metric, embedder__callback=guard)
            learner.fit(fitted.features, fitted.labels)
            rows.append({"metric": metric, **_scores(protocol, learner, fitted, data.test, seed)})
    return rows


def _learner(protocol: Protocol, n_items: int, seed: int) -> Any:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return METHODS["twofold"].make(RunConfig(protocol, n_items, seed, device))


def _scores(
    protocol: Protocol, learner: EmbeddingLearner, fitted: Part, test: Part, seed: int
) -> Row:
    pairs = LabelRelation(test.labels).sample_pairs(N_SIMILAR, N_DISSIMILAR, random_state=seed)
    points, new = learner.transform(fitted.features), learner.transform(test.features)
    auroc = pair_auroc(
        pairs.similar, pair_similarity(new, pairs.left, pairs.right, learner.metric_)
    )
    neighbours = max(
        neighbours_score(protocol, points, fitted.labels, new, test.labels, metric)
        for metric in protocol.neighbour_metrics
    )
    return {
        "AUROC": round(auroc, 5),
        "neighbours": round(neighbours, 5),
        "compared by": learner.metric_,
        "seconds": round(sum(learner.timing_.values()), 2),
    }


@cache
def _open(name: str) -> ExperimentSet:
    return open_set(name, None)


def _figures(name: str, rows: list[Row]) -> list[Figure]:
    of_metric = {m: [r for r in rows if (r["set"], r["metric"]) == (name, m)] for m in METRICS}
    if not of_metric["auto"]:
        return []
    figures = []
    for score in SCORES:
        values = {m: np.array([row[score] for row in of_metric[m]]) for m in METRICS}
        gain = values["auto"] - values["seen"]
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        called = score if score == "AUROC" else f"5-NN {PROTOCOLS[name].score}"
        seen, default = (float(values[metric].mean()) for metric in METRICS)
        note = f"{gain.mean():+.4f} ± {error:.4f}, {len(gain)} seed(s)"
        figures.append(Figure(f'{name}, metric="seen": {called}', seen))
        figures.append(Figure(f"{name}, default: {called}", default, seen - 2 * error, note=note))
    return figures
