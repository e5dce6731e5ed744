"""Evaluation during training: AUROC on test pairs, neighbours on the validation part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators import EmbeddingLearner, MetricLearner
from twofold.evaluation import (
    Metric,
    knn_accuracy,
    knn_jaccard,
    pair_auroc,
    pair_similarity,
)
from twofold.experiments._examples import Examples
from twofold.experiments._own_learner import OwnLearner
from twofold.experiments._paper import N_EVALUATIONS, N_NEIGHBOURS, Protocol
from twofold.experiments._progress import Evaluation, RunProgress
from twofold.regression import Epoch

Embed = Callable[[Any], NDArray[np.float32]]
Watcher = Callable[[int, int, float], Any]
"""Called with the epoch, the number of epochs, and the AUROC of the moment."""


@dataclass(eq=False)
class Follower:
    """Evaluates a learner at some of its epochs.

    Parameters
    ----------
    protocol : Protocol
        How neighbours are scored.
    examples : Examples
        Items and pairs.
    learner : EmbeddingLearner or OwnLearner
        Whose metric compares points.
    progress : RunProgress
        That keeps the evaluations.
    watch : callable (epoch, n_epochs, auroc), optional
        Told every time.
    """

    protocol: Protocol
    examples: Examples
    learner: EmbeddingLearner | OwnLearner
    progress: RunProgress
    watch: Watcher | None = None
    _is_new: bool = field(default=True, init=False)

    def follow(self, epoch: Epoch) -> None:
        """Evaluate a network after an epoch, if it is one of those."""
        if self._is_new:
            self.progress.forget_from(epoch.number)
            self._is_new = False
        if epoch.number in evaluated_epochs(epoch.n_epochs):
            assert epoch.embed is not None
            auroc = self.evaluate(epoch.embed, epoch.number, epoch.seconds)
            if self.watch is not None:
                self.watch(epoch.number, epoch.n_epochs, auroc)

    def finish(self, seconds: float) -> None:
        """Evaluate a learner that is fitted; of its last epoch, what it came to counts."""
        epoch = max((point.epoch for point in self.progress.curve), default=0)
        self.progress.forget_from(epoch)
        self.evaluate(self.learner.transform, epoch, seconds)

    def evaluate(self, embed: Embed, epoch: int, seconds: float) -> float:
        """Keep where a run stands; return its AUROC."""
        test = embed(self.examples.test.features)
        pairs = self.examples.test_pairs
        similarity = pair_similarity(test, pairs.left, pairs.right, _metric(self.learner))
        auroc = pair_auroc(pairs.similar, similarity)
        fitted = embed(self.examples.fitted.features)
        validation = embed(self.examples.validation.features)
        score, metric = max(
            (self._neighbours(fitted, validation, metric), metric)
            for metric in self.protocol.neighbour_metrics
        )
        self.progress.note(Evaluation(epoch, score, metric, fitted, test), seconds, auroc)
        return auroc

    def _neighbours(
        self,
        fitted: NDArray[np.float32],
        validation: NDArray[np.float32],
        metric: Metric,
    ) -> float:
        return neighbours_score(
            self.protocol,
            fitted,
            self.examples.fitted.labels,
            validation,
            self.examples.validation.labels,
            metric,
        )


def _metric(learner: EmbeddingLearner | OwnLearner) -> Metric:
    """Return how points are compared, of a learner that may still be training."""
    if isinstance(learner, MetricLearner) and not hasattr(learner, "metric_"):
        return learner.plan_.metric
    return learner.metric_


def neighbours_score(
    protocol: Protocol,
    points: NDArray[np.float32],
    labels: NDArray[Any],
    test_points: NDArray[np.float32],
    test_labels: NDArray[Any],
    metric: Metric,
) -> float:
    """Return the accuracy, or the Jaccard index, of the five nearest neighbours."""
    score = knn_accuracy if protocol.score == "accuracy" else knn_jaccard
    return score(points, labels, test_points, test_labels, k=N_NEIGHBOURS, metric=metric)


def evaluated_epochs(n_epochs: int) -> frozenset[int]:
    """Return the epochs to evaluate: dense at first, where a curve rises, and even in the end."""
    rising = np.geomspace(1, n_epochs, N_EVALUATIONS // 2)
    even = np.linspace(n_epochs / 2, n_epochs, N_EVALUATIONS // 2)
    epochs = np.rint(np.concatenate([rising, even])).astype(int)
    return frozenset(int(epoch) for epoch in epochs if epoch >= 1)
