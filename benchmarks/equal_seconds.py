"""MNIST at equal seconds of training: Twofold's default beside today's metric learners.

What an epoch costs is measured side by side, and each rival gets as many epochs as it takes to use
up the seconds of 4, 10 and 30 of Twofold's, never less: so a busy machine slows all alike and
favours none. A run of an hour goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from twofold import LabelRelation
from twofold.datasets import load_mnist
from twofold.evaluation import Metric, knn_accuracy, pair_auroc, pair_similarity
from twofold.experiments import METHODS, PROTOCOLS, describe_commit, describe_machine
from twofold.experiments._methods import RunConfig

TITLE = "MNIST, the paper's network, equal seconds of training on a CPU"
BUDGETS = (4, 10, 30)
SEEDS = 5
RIVALS = (
    "twofold-squared",
    "one-hot",
    "simplex",
    "supcon",
    "proxy-anchor",
    "multi-similarity",
    "triplet-miner",
    "cross-entropy",
)
PROTOCOL = replace(PROTOCOLS["mnist"], learning_rate=2e-3, weight_decay=0.3)
SETTING = {
    "budgets": "the seconds of 4, 10 and 30 epochs of Twofold's",
    "seeds": SEEDS,
    "training": "batches of 128, Adam at 2e-3, weight decay 0.3, for all; chosen among some ten "
    "trials of Twofold, and two each of SupCon and cross-entropy, at 4 epochs on 5,000 held-out "
    "training items; so was Twofold's loss, among six, there and on the digits' test parts",
    "scores": "Twofold's AUROC by inner product and 5-NN by Euclidean distance; a rival's both by "
    "inner product, Euclidean distance or cosine, whichever is best for it on the test part",
    "bar": "the best rival's mean, less two standard errors of the difference",
    "threads": "one a run, a run for every two cores at a time, two at least",
}
COST = ("cost", 0, 0, 0)
N_AT_A_TIME = max(2, (os.cpu_count() or 2) // 2)
N_TIMED, N_ROUNDS = 12_800, 7
KEPT = Path("benchmarks") / ".kept" / "equal_seconds.jsonl"


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    cost = _kept(_name(COST)) or _measure_cost()
    jobs = [
        (method, budget, _n_epochs(budget, cost[method]), seed)
        for seed in range(SEEDS)
        for budget in BUDGETS
        for method in ("twofold", *RIVALS)
    ]
    missing = [job for job in jobs if _kept(_name(job)) is None]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(N_AT_A_TIME, spawn, _one_thread) as pool:
        for job, scores in zip(missing, pool.map(_scores, missing), strict=True):
            _keep(_name(job), scores)
            print(*job, *np.round(scores, 4), flush=True)
    scored = {job: _kept(_name(job)) for job in jobs}
    return [
        figure
        for budget in BUDGETS
        for column, what in enumerate(("AUROC", "5-NN accuracy"))
        for figure in _figures(budget, column, what, scored, cost)
    ]


def _figures(
    budget: int, column: int, what: str, scored: dict[Any, Any], cost: dict[str, float]
) -> list[Figure]:
    values = {
        method: np.array(
            [scores[column] for job, scores in scored.items() if job[:2] == (method, budget)]
        )
        for method in ("twofold", *RIVALS)
    }
    best = max(RIVALS, key=lambda method: float(values[method].mean()))
    error = float(np.hypot(*(_standard_error(values[m]) for m in ("twofold", best))))
    return [
        Figure(
            f"{budget} epochs' seconds, {what}: {METHODS[method].title}",
            float(values[method].mean()),
            float(values[best].mean()) - 2 * error if method == "twofold" else None,
            note=f"± {_standard_error(values[method]):.4f}; {_n_epochs(budget, cost[method])} "
            f"epochs, {_n_epochs(budget, cost[method]) * cost[method] / budget:.2f} of the seconds",
        )
        for method in ("twofold", *RIVALS)
    ]


def _n_epochs(budget: int, cost: float) -> int:
    """Return the fewest epochs that take at least the seconds of `budget` of Twofold's.

    Two hundredths less are no less: the cost is not known better.
    """
    return math.ceil(0.98 * budget / cost)


def _standard_error(values: np.ndarray[Any, Any]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _measure_cost() -> dict[str, float]:
    """Return what an epoch of each method costs, in epochs of Twofold's."""
    train = load_mnist("train")
    seconds: dict[str, list[float]] = {method: [] for method in ("twofold", *RIVALS)}
    for _ in range(N_ROUNDS):
        for method, times in seconds.items():
            after: list[float] = []
            learner = METHODS[method].make(_run_config(2, 0))
            learner.set_params(
                embedder__callback=lambda epoch, after=after: after.append(epoch.seconds)
            )
            learner.fit(train.images[:N_TIMED], train.classes[:N_TIMED])
            times.append(after[1] - after[0])
    typical = {method: statistics.median(times) for method, times in seconds.items()}
    cost = {method: value / typical["twofold"] for method, value in typical.items()}
    _keep(_name(COST), cost)
    return cost


def _scores(job: tuple[str, int, int, int]) -> list[float]:
    """Return AUROC and 5-NN accuracy on the test part."""
    method, _, n_epochs, seed = job
    train, test = load_mnist("train"), load_mnist("test")
    learner = METHODS[method].make(_run_config(n_epochs, seed)).fit(train.images, train.classes)
    pairs = LabelRelation(test.classes).sample_pairs(random_state=seed)
    fitted, points = learner.transform(train.images), learner.transform(test.images)
    is_ours = method == "twofold"
    auroc = max(
        pair_auroc(pairs.similar, pair_similarity(points, pairs.left, pairs.right, metric))
        for metric in (("dot",) if is_ours else get_args(Metric))
    )
    accuracy = max(
        knn_accuracy(fitted, train.classes, points, test.classes, metric=metric)
        for metric in (("euclidean",) if is_ours else get_args(Metric))
    )
    return [auroc, accuracy]


def _run_config(n_epochs: int, seed: int) -> RunConfig:
    return RunConfig(replace(PROTOCOL, n_epochs=n_epochs), 60_000, seed, "cpu")


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    os.nice(5)


def _name(job: tuple[str, int, int, int]) -> str:
    """Return what tells a job from others: its state of the code, settings, and machine."""
    whole = (*job, describe_commit(), PROTOCOL, describe_machine())
    return "-".join(map(str, job)) + "-" + hashlib.sha256(repr(whole).encode()).hexdigest()[:12]


def _kept(name: str) -> Any:
    if not KEPT.exists():
        return None
    lines = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
    return dict(lines).get(name)


def _keep(name: str, value: Any) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, value]) + "\n")
