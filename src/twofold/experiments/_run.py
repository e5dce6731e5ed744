"""One run: a method learns a set's training items and is scored on its test items.

While it trains, its AUROC on test pairs is followed against seconds; a validation part of the
training items, which it never learns from, chooses the epoch whose neighbours are scored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeGuard

from torch import nn

from twofold.estimators import EmbeddingLearner
from twofold.evaluation import retrieval_scores
from twofold.experiments._examples import Examples, empty_rows_unsaid
from twofold.experiments._following import Follower, Watcher, neighbours_score
from twofold.experiments._kind_scores import RECALL_DEPTHS, retrieval_by_name
from twofold.experiments._machine import describe_circumstances
from twofold.experiments._methods import Method, RunConfig
from twofold.experiments._own_learner import OwnLearner, plain_value
from twofold.experiments._paper import N_DISSIMILAR, N_SIMILAR, Protocol
from twofold.experiments._phase_1 import mean_seconds, time_phase_1
from twofold.experiments._progress import RunProgress, Trained
from twofold.experiments._records import CurvePoint, RunRecord, Scores
from twofold.experiments._sets import Part
from twofold.regression import Network
from twofold.relations import LabelRelation, PairRelation

N_WARM_UP_STEPS = 6
NOT_OF_A_RUN = ("callback", "checkpoint", "device", "verbose")
"""Parameters of a learner that do not change what it learns."""


def run_method(
    protocol: Protocol,
    method: Method,
    examples: Examples,
    seed: int,
    device: str,
    progress: RunProgress,
    watch: Watcher | None = None,
) -> RunRecord:
    """Fit one method, score it, and return its record.

    Parameters
    ----------
    protocol : Protocol
        Of the set.
    method : Method
        What is fitted.
    examples : Examples
        Items and pairs of the seed.
    seed : int
        Random seeds.
    device : str
        "cpu", "cuda" or "cuda:N".
    progress : RunProgress
        Where the run is kept while it goes on; one that was interrupted is taken up.
    watch : callable (epoch, n_epochs, auroc), optional
        Called wherever the run is evaluated.
    """
    # First, so that what follows is not timed while Numba compiles.
    timed = time_phase_1(protocol, method, examples.fitted.labels, device)
    config = RunConfig(protocol, examples.relation.n_items, seed, device, progress.checkpoint)
    if progress.trained is None:
        _train(config, method, examples, progress, watch)
    trained = progress.trained
    assert trained is not None
    return RunRecord(
        data_set=protocol.name,
        method=method.name,
        seed=seed,
        configuration=configuration(protocol, method, examples.relation.n_items, seed),
        data=examples.describe(),
        seconds={"targets": trained.targets_seconds, "training": trained.training_seconds},
        targets_seconds=timed,
        curve=tuple(_counting_in(trained.targets_seconds, point) for point in progress.curve),
        scores=_scores(protocol, examples, progress),
        score=protocol.score,
        **describe_circumstances(device),
    )


def _train(
    config: RunConfig,
    method: Method,
    examples: Examples,
    progress: RunProgress,
    watch: Watcher | None,
) -> None:
    """Fit a method, and note in `progress` what is to be told of it."""
    learner = method.make(config)
    follower = Follower(config.protocol, examples, learner, progress, watch)
    if trains_network(learner):
        learner.set_params(embedder__callback=follower.follow)
    _fit(learner, method, examples.fitted, examples.pairs)
    targets = learner.timing_.get("targets", 0.0)
    if method.origin == "own" or not trains_network(learner):
        follower.finish(sum(learner.timing_.values()) - targets)
    # The last evaluation's seconds are of the steps alone, for every method.
    progress.finish(Trained(learner.metric_, targets, progress.curve[-1].seconds))


def warm_up(protocol: Protocol, method: Method, examples: Examples, device: str) -> None:
    """Train a few steps and forget them.

    Libraries load, and a GPU tries which of its convolutions are the fastest, once in a process:
    no run is to be timed while they do.
    """
    short = replace(protocol, n_epochs=1, n_pair_epochs=1)
    n_items = min(N_WARM_UP_STEPS * protocol.batch_size, examples.relation.n_items)
    learner = method.make(RunConfig(short, n_items, seed=0, device=device))
    if not trains_network(learner):
        return
    learner.set_params(embedder__max_epochs=1)  # a learner of one's own has its own number
    few = examples.fitted.take(slice(n_items))
    with empty_rows_unsaid():
        pairs = LabelRelation(few.labels).sample_pairs(random_state=0)
    _fit(learner, method, few, pairs)


def run_phase_1(protocol: Protocol, method: Method, train: Part, device: str) -> RunRecord:
    """Time phase 1 alone, where there is nothing to regress from."""
    n_items, n_labels = train.labels.shape
    timed = time_phase_1(protocol, method, train.labels, device)
    return RunRecord(
        data_set=protocol.name,
        method=method.name,
        seed=0,
        configuration=configuration(protocol, method, n_items, 0),
        data={
            "n_train": n_items,
            "n_validation": 0,
            "n_test": 0,
            "n_labels": n_labels,
            "n_pairs": _n_sampled(train) if method.learns_from == "pairs" else 0,
            "n_without_label": int((~train.labels.any(axis=1)).sum()),
        },
        seconds={"targets": mean_seconds(timed), "training": 0.0},
        targets_seconds=timed,
        score=protocol.score,
        **describe_circumstances(device),
    )


def _n_sampled(train: Part) -> int:
    """Return how many pairs are sampled: an item that is alike to nothing has no similar one."""
    with empty_rows_unsaid():
        relation = LabelRelation(train.labels)
        return relation.sample_pairs(N_SIMILAR, N_DISSIMILAR, random_state=0).n_pairs


def configuration(protocol: Protocol, method: Method, n_items: int, seed: int) -> dict[str, Any]:
    """Return what makes a run this run and no other, as JSON takes it."""
    described = asdict(protocol)
    described.pop("paper")
    learner = method.make(RunConfig(protocol, n_items, seed, "auto"))
    return run_settings(described, learner)


def run_settings(
    protocol: Mapping[str, Any], learner: EmbeddingLearner | OwnLearner
) -> dict[str, Any]:
    """Return a protocol, and a learner's parameters that change what it learns, as JSON has them.

    A module of one's own is no parameter: the protocol names it.
    """
    parameters = {
        name: plain_value(value)
        for name, value in learner.get_params().items()
        if name.rpartition("__")[2] not in NOT_OF_A_RUN
        and not isinstance(value, Network | nn.Module)
    }
    whole = {
        "protocol": dict(protocol),
        "learner": type(learner.learner if isinstance(learner, OwnLearner) else learner).__name__,
        "parameters": parameters,
    }
    return json.loads(json.dumps(whole))  # type: ignore[no-any-return]


def trains_network(learner: EmbeddingLearner | OwnLearner) -> TypeGuard[EmbeddingLearner]:
    """Whether a learner has epochs, which can be evaluated one by one."""
    return isinstance(learner, EmbeddingLearner) and isinstance(
        learner.get_params().get("embedder"), Network
    )


def _fit(
    learner: EmbeddingLearner | OwnLearner, method: Method, items: Part, pairs: PairRelation
) -> None:
    with empty_rows_unsaid():
        if method.learns_from == "pairs" and isinstance(learner, EmbeddingLearner):
            learner.fit(items.features, relation=pairs)
        else:
            learner.fit(items.features, items.labels)


def _counting_in(targets: float, point: CurvePoint) -> CurvePoint:
    return CurvePoint(point.epoch, point.seconds + targets, point.auroc, point.validation)


def _scores(protocol: Protocol, examples: Examples, progress: RunProgress) -> Scores:
    best, last, trained = progress.best, progress.last, progress.trained
    assert best is not None
    assert last is not None
    assert trained is not None
    with empty_rows_unsaid():
        retrieval = retrieval_scores(
            last.test_points,
            examples.test.labels,
            k=RECALL_DEPTHS,
            metric=trained.metric,  # type: ignore[arg-type]
            n_resamples=0,
        )
    return Scores(
        auroc=progress.curve[-1].auroc,
        neighbours=neighbours_score(
            protocol,
            best.fitted_points,
            examples.fitted.labels,
            best.test_points,
            examples.test.labels,
            best.metric,
        ),
        neighbour_metric=best.metric,
        epoch=best.epoch or None,
        validation=best.validation,
        retrieval=retrieval_by_name(retrieval),
    )
