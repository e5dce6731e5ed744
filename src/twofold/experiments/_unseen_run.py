"""One run on kinds never seen: a method learns some classes and is scored on others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators import EmbeddingLearner
from twofold.experiments._examples import empty_rows_unsaid
from twofold.experiments._gallery import Gallery, gallery_of_kinds
from twofold.experiments._kind_scores import (
    KindScores,
    UnseenScores,
    score_kinds,
    scored_rows,
    spread_evenly,
)
from twofold.experiments._machine import describe_circumstances
from twofold.experiments._records import RunRecord
from twofold.experiments._run import N_WARM_UP_STEPS, run_settings, trains_network
from twofold.experiments._sets import Part
from twofold.experiments._unseen_methods import UnseenConfig, UnseenMethod
from twofold.experiments._unseen_protocols import UnseenProtocol
from twofold.experiments._unseen_sets import UnseenSet
from twofold.experiments._whitening import Whitening, fit_whitening
from twofold.regression import Epoch

Points = NDArray[np.float32]
NOT_OF_A_PROTOCOL = ("title", "trained_on", "tested_on")
"""How it is worded, which does not change what a run learns."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedMethod:
    """A method that has learnt a part.

    Attributes
    ----------
    method, learner : UnseenMethod, EmbeddingLearner
        Which, and what it made.
    whitening : Whitening or None
        Of a method whose points are whitened.
    seconds : dict
        Of the phases.
    """

    method: UnseenMethod
    learner: EmbeddingLearner
    whitening: Whitening | None
    seconds: dict[str, float]

    def embed(self, features: Any) -> Points:
        """Return points of any features."""
        points = self.learner.transform(features)
        return points if self.whitening is None else self.whitening.apply(points)

    def score(self, part: Part, seed: int) -> tuple[Part, Points, tuple[KindScores, ...]]:
        """Return the items that are scored, their points, and a score a metric."""
        some = part.take(scored_rows(len(part.labels)))
        points = self.embed(some.features)
        metrics = self.method.metrics(self.learner)
        return some, points, tuple(score_kinds(points, some.labels, m, seed) for m in metrics)


def run_unseen(
    protocol: UnseenProtocol,
    method: UnseenMethod,
    data: UnseenSet,
    seed: int,
    device: str,
    checkpoint: Path | None = None,
    callback: Callable[[Epoch], Any] | None = None,
) -> tuple[RunRecord, Gallery | None]:
    """Fit one method, score it, and return its record, and a gallery where items are images.

    Parameters
    ----------
    protocol : UnseenProtocol
        Of the set.
    method : UnseenMethod
        What is fitted.
    data : UnseenSet
        The items.
    seed : int
        Random seeds.
    device : str
        "cpu", "cuda" or "cuda:N".
    checkpoint : Path, optional
        Where the training is kept while it goes on; one that was interrupted is taken up.
    callback : callable (Epoch), optional
        Called after every epoch.
    """
    config = replace(
        config_of(protocol, data.train, seed, device), callback=callback, checkpoint=checkpoint
    )
    fitted = fit_unseen(method, config, data.train)
    some, points, never_seen = fitted.score(data.never_seen, seed)
    seen = () if data.seen is None else fitted.score(data.seen, seed)[2]
    record = RunRecord(
        data_set=protocol.name,
        method=method.name,
        seed=seed,
        configuration=unseen_configuration(protocol, method, data.train, seed),
        data=_counts(data),
        score="accuracy",
        seconds=fitted.seconds,
        unseen=UnseenScores(protocol.trained_on, protocol.tested_on, never_seen, seen),
        **describe_circumstances(device),
    )
    best = max(never_seen, key=lambda scores: scores.retrieval["map_at_r"])
    gallery = gallery_of_kinds(
        protocol.name, method.name, seed, some, points, best.metric, data.label_names
    )
    return record, gallery


def fit_unseen(method: UnseenMethod, config: UnseenConfig, train: Part) -> FittedMethod:
    """Fit a method to a part, and time it."""
    learner, began = method.make(config), time.perf_counter()
    with empty_rows_unsaid():
        learner.fit(train.features, train.labels)
    fitted = time.perf_counter()
    whitening = None
    if method.comparison == "whitened":
        whitening = fit_whitening(learner.transform(train.features), train.labels)
    ended = time.perf_counter()
    timing = learner.timing_
    seconds = {
        "targets": timing.get("targets", 0.0),
        "training": timing.get("regression", timing.get("training", 0.0)),
        "metric": timing.get("metric", 0.0) + ended - fitted,
    }
    # Of a training that was taken up again, the phases' seconds are more than were spent here.
    seconds["rest"] = max(0.0, ended - began - sum(seconds.values()))
    return FittedMethod(method, learner, whitening, seconds)


def warm_up_unseen(
    protocol: UnseenProtocol, method: UnseenMethod, train: Part, device: str
) -> None:
    """Train a few steps and forget them, so that no run is timed while libraries load."""
    few = train.take(spread_evenly(len(train.labels), N_WARM_UP_STEPS * protocol.batch_size))
    config = config_of(replace(protocol, n_epochs=1), few, 0, device)
    if trains_network(method.make(config)):
        fit_unseen(method, config, few)


def unseen_configuration(
    protocol: UnseenProtocol, method: UnseenMethod, train: Part, seed: int
) -> dict[str, Any]:
    """Return what makes a run this run and no other, as JSON takes it."""
    learner = method.make(config_of(protocol, train, seed, "auto"))
    described = {k: v for k, v in asdict(protocol).items() if k not in NOT_OF_A_PROTOCOL}
    return run_settings(described, learner)


def config_of(protocol: UnseenProtocol, train: Part, seed: int, device: str) -> UnseenConfig:
    """Return what a learner of a part is made for."""
    n_classes = len(np.unique(train.labels))
    return UnseenConfig(protocol, len(train.labels), n_classes, seed, device)


def _counts(data: UnseenSet) -> dict[str, int]:
    """Return the numbers that stand in a record."""
    return {
        "n_train": len(data.train.labels),
        "n_validation": 0,
        "n_test": len(scored_rows(len(data.never_seen.labels))),
        "n_seen_test": 0 if data.seen is None else len(scored_rows(len(data.seen.labels))),
        "n_labels": len(np.unique(data.train.labels)),
        "n_test_labels": len(np.unique(data.never_seen.labels)),
        "n_pairs": 0,
    }
