"""Networks that are trained on labels: what such rivals have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from twofold.baselines._batch_task import BatchLoss, BatchTask
from twofold.baselines._labelled_items import LabelledItems
from twofold.baselines._pair_trained import PairTrainedLearner
from twofold.estimators import Relation, as_relation
from twofold.regression import Features, Task, TrainingConfig, is_network
from twofold.relations import LabelRelation


class LabelTrainedLearner(PairTrainedLearner):
    """A network trained on labelled items; for what is the subclass's."""

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels: `y`, or a LabelRelation over the rows of `X`.

        Parameters
        ----------
        X : array, memory-mapped array, sparse matrix, DataFrame or torch Dataset, n_items rows
            As for `MetricLearner.fit`.
        y : classes, shape (n_items,), or 0/1 indicator matrix, shape (n_items, n_labels), optional
            Rows whose class is unknown (-1, NaN or None) are left out.
        relation : LabelRelation, optional
            In place of `y`.
        """
        name = type(self).__name__
        if not is_network(self.embedder):
            raise TypeError(
                f"{name} trains a network: embedder must be the name of a network or a "
                f"torch.nn.Module, got {self.embedder!r}."
            )
        known = as_relation(name, X, y, relation, "overlap")
        if not isinstance(known, LabelRelation):
            raise TypeError(
                f"{name} learns from classes, got a {type(known).__name__}; from pairs use "
                "SiameseLearner, from triplets TripletLearner."
            )
        self._prepare(known)
        return super().fit(X, relation=known)

    def _prepare(self, relation: LabelRelation) -> None:
        """Check or note what depends on the labels, before anything is built."""


class BatchTrainedLearner(LabelTrainedLearner):
    """A network trained on what the items of a batch lose together; the loss is the subclass's."""

    @abstractmethod
    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        """Return what is lost in training, and what is to be small on items held out."""

    def _tasks(
        self,
        features: Features,
        relation: Relation,
        validation_fraction: float,
        config: TrainingConfig,
        rng: np.random.Generator,
    ) -> tuple[Task, Task | None]:
        assert isinstance(relation, LabelRelation)  # `fit` saw to it
        train, held_out = LabelledItems.of(relation).part(validation_fraction, rng)
        loss, validation_loss = self._losses(relation, config, rng)
        task = BatchTask(features, train, loss, config.device, self.flips)
        if not held_out.items.size:
            return task, None
        return task, BatchTask(features, held_out, validation_loss, config.device)
