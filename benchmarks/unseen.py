"""Kinds never seen: trained on some classes, scored on others, beside what is used today.

Protocols, methods and scores are those of `twofold reproduce SET --unseen`: every method has the
same network, batch size, epochs and data; rivals have 512 components, two learning rates, and each
of their scores is by the best of their own metric, Euclidean distance and cosine. The learner
chooses nothing on the classes that are tested; but the numbers of the metric step were chosen in
trials on all of these sets, in which their scores were seen.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch

from benchmarks.changing import changed
from benchmarks.figures import Figure
from benchmarks.kept_jobs import Deadline, Job, Row, kept_circumstances, kept_rows
from benchmarks.relations import why_no_data
from benchmarks.remembering import remembering
from benchmarks.side_by_side import run_side_by_side
from twofold.evaluation import all_pairs_auroc, retrieval_scores
from twofold.experiments import UNSEEN_METHODS, UNSEEN_PROTOCOLS, UnseenSet, open_unseen
from twofold.experiments._kind_scores import scored_rows
from twofold.experiments._sets import Part
from twofold.experiments._unseen_methods import UnseenConfig, UnseenMethod
from twofold.experiments._unseen_run import FittedMethod, config_of, fit_unseen

TITLE = "Kinds never seen: AUROC, recall@1 and MAP@R on classes that were not trained on"
SEEDS = int(os.environ.get("UNSEEN_SEEDS", "3"))
SETS = tuple(
    os.environ.get(
        "UNSEEN_SETS",
        "digits,mnist 0-4,mnist 5-9,omniglot 1,omniglot 2,pubfig83,cifar10 0-4,cifar10 5-9",
    ).split(",")
)
LARGE = ("pubfig83", "cifar10 0-4", "cifar10 5-9")
"""Sets whose networks keep a GPU busy."""
RATES = (1e-3, 1e-4)
"""Of Adam, for every rival: their own, which is also the usual one of Adam, and that of
Proxy-Anchor's authors. On digits 3e-3 was no better than either for any of them."""
RIVALS = ("siamese", "supcon", "proxy-anchor", "multi-similarity", "triplet-miner", "cross-entropy")
OURS = ("twofold-unseen", "twofold-auto")
OTHERWISE: dict[str, tuple[str, Any]] = {
    "shrinkage .5": ("metric._selection.SHRINKAGES", (0.5,)),
    "maps only where they show": ("metric._selection.MAP_SHARE", 0.0),
}
"""Other numbers of the metric step, solved on the same networks; they stand beside the default."""
SCORES = ("AUROC", "recall@1", "MAP@R")
SETTING = {
    "seeds": SEEDS,
    "sets": ", ".join(SETS),
    "rivals": "512 components; learning rates "
    + " and ".join(f"{rate:g}" for rate in RATES)
    + "; each score by the best of three metrics; both chosen on the test part",
    "epochs": os.environ.get("UNSEEN_EPOCHS", "the protocols'"),
} | kept_circumstances()
Scores = dict[str, float]


def why_not() -> str | None:
    return None if SETS == ("digits",) else why_no_data()


def measure() -> list[Figure]:
    kept = kept_rows("unseen")
    if kept is None:
        given = [(np.inf, *job.args) for job in jobs()]
        done = run_side_by_side(work, given)
        kept = [(list(args[1:]), row) for args, rows in done for row in rows]
    scored: dict[tuple[str, str], list[Scores]] = {}
    for (name, *_), row in kept:
        scored.setdefault((name, row["method"]), []).append(row)
    return [figure for name in SETS for figure in _figures(name, scored)]


def jobs() -> list[Job]:
    """Return a job a set, family of methods, rate and seed; a seed is done before the next."""
    return [
        Job("unseen", (name, family, rate, seed), seed, name in LARGE)
        for seed in range(SEEDS)
        for name in sorted(SETS, key=lambda name: "cifar10" not in name)
        for family in ("twofold", *RIVALS, "raw")
        for rate in (RATES if family in RIVALS else RATES[:1])
        if family != "raw" or seed == 0
    ]


def work(deadline: float, name: str, family: str, rate: float, seed: int) -> list[Row]:
    """Return the scores of a family of methods on the classes not trained on, a row a method."""
    warnings.simplefilter("ignore")
    data = _open(name)
    problem = _Problem(name, data, seed, deadline)
    if family == "twofold":
        return _rows_of_twofold(problem)
    if family == "cross-entropy":
        return _rows_of_classifier(problem, rate)
    fitted = problem.fit(_at_rate(UNSEEN_METHODS[family], rate))
    return [problem.row(_called(family, rate), fitted)]


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A set that is learnt with a seed, until a deadline."""

    name: str
    data: UnseenSet
    seed: int
    deadline: float

    def fit(self, method: UnseenMethod, n_trainings: float = 1) -> FittedMethod:
        """Fit a method."""
        device = "cuda" if torch.cuda.is_available() else "cpu"
        protocol = UNSEEN_PROTOCOLS[_protocol(self.name)]
        n_epochs = int(os.environ.get("UNSEEN_EPOCHS", protocol.n_epochs))
        protocol = replace(protocol, n_epochs=n_epochs)
        config = config_of(protocol, self.data.train, self.seed, device)
        guard = Deadline(self.deadline, n_trainings)
        return fit_unseen(method, replace(config, callback=guard), self.data.train)

    def row(self, called: str, fitted: FittedMethod, **more: Any) -> Row:
        """Score a method."""
        return {"method": called, **_scores(fitted, self.data.never_seen), **more}


def _rows_of_twofold(problem: _Problem) -> list[Row]:
    """Return rows of both metrics, and of other numbers, of which all share a network."""
    rows = []
    with remembering():
        for method in OURS:
            fitted = problem.fit(UNSEEN_METHODS[method], n_trainings=3)
            rows.append(problem.row(method, fitted, **_held_out(fitted)))
            for called, (constant, value) in OTHERWISE.items():
                with changed(constant, value):
                    fitted = problem.fit(UNSEEN_METHODS[method])
                rows.append(problem.row(f"{method}, {called}", fitted, **_held_out(fitted)))
    return rows


def _held_out(fitted: FittedMethod) -> Row:
    """Return what the choice saw on training classes that were held out."""
    selection = fitted.learner.metric_selection_
    if selection is None:
        return {}
    return {"shrinkage": selection.shrinkage, "held out": selection.scores.get("unseen")}


def _rows_of_classifier(problem: _Problem, rate: float) -> list[Row]:
    """Return rows of a classifier's hidden layer, as it is and whitened."""
    whitened = problem.fit(_at_rate(UNSEEN_METHODS["cross-entropy-whitened"], rate))
    plain = replace(whitened, method=UNSEEN_METHODS["cross-entropy"], whitening=None)
    return [problem.row(_called(one.method.name, rate), one) for one in (plain, whitened)]


def _at_rate(method: UnseenMethod, rate: float) -> UnseenMethod:
    if method.name == "raw":
        return method

    def make(config: UnseenConfig) -> Any:
        return method.make(config).set_params(embedder__learning_rate=rate)

    return replace(method, make=make)


def _called(method: str, rate: float) -> str:
    return method if rate == RATES[0] else f"{method}, rate {rate:g}"


def _scores(fitted: FittedMethod, part: Part) -> Scores:
    """Return each score by the metric that is best for it."""
    began = time.perf_counter()
    some = part.take(scored_rows(len(part.labels)))
    points = fitted.embed(some.features)
    has_unit_rows = np.allclose(np.linalg.norm(points, axis=1), 1, atol=1e-3)
    # Points of length 1 are in the same order by every metric.
    metrics = ("cosine",) if has_unit_rows else fitted.method.metrics(fitted.learner)
    found: dict[str, list[float]] = {score: [] for score in SCORES}
    for metric in metrics:
        retrieved = retrieval_scores(points, some.labels, k=(1,), metric=metric, n_resamples=0)
        found["AUROC"].append(all_pairs_auroc(points, some.labels, metric=metric))
        found["recall@1"].append(retrieved.recall_at[1])
        found["MAP@R"].append(retrieved.map_at_r)
    seconds = {"seconds": sum(fitted.seconds.values()), "scoring": time.perf_counter() - began}
    return {name: round(max(values), 5) for name, values in found.items()} | {
        name: round(value, 2) for name, value in seconds.items()
    }


@cache
def _open(name: str) -> UnseenSet:
    return open_unseen(UNSEEN_PROTOCOLS[_protocol(name)])


def _protocol(name: str) -> str:
    """Return the protocol that a set of `UNSEEN_SETS` stands for."""
    return f"unseen-{name.replace(' ', '-')}"


def _figures(name: str, scored: dict[tuple[str, str], list[Scores]]) -> list[Figure]:
    """Return the means of a set; the bar of ours is the best rival less two standard errors."""
    methods = [method for one, method in scored if one == name]
    rivals = [method for method in methods if not method.startswith("twofold")]
    figures = []
    for score in SCORES:
        values = {m: np.array([one[score] for one in scored[name, m]]) for m in methods}
        best = max(rivals, key=lambda m: float(values[m].mean()), default=None)
        for method in sorted(methods, key=lambda m: -float(values[m].mean())):
            error = _error(values[method])
            bar, note = None, f"± {error:.4f}, {len(values[method])} seed(s)"
            if method in OURS and best is not None:
                of_best = float(values[best].mean())
                bar = of_best - 2 * float(np.hypot(error, _error(values[best])))
                note += f"; best rival {best} {of_best:.4f}"
            value = float(values[method].mean())
            figures.append(Figure(f"{name}, {method}: {score}", value, bar, note=note))
    return figures


def _error(values: np.ndarray[Any, Any]) -> float:
    """Return the standard error of a mean; 0 of one value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
