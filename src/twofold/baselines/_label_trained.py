"""Networks that are trained on labels: what such rivals have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from twofold._core.checks import check_count
from twofold.baselines._batch_task import BatchLoss, BatchTask
from twofold.baselines._labelled_items import LabelledItems
from twofold.baselines._network_learner import NetworkLearner
from twofold.baselines._task_inputs import TaskInputs
from twofold.regression import Task, TrainingConfig
from twofold.relations import LabelRelation, Relation


@dataclass(eq=False, repr=False)
class LabelTrainedLearner(NetworkLearner):
    """A network trained on labelled items; for what is the subclass's.

    Rows whose class is unknown (-1, NaN or None) are left out.
    """

    @abstractmethod
    def _prepare_labels(self, relation: LabelRelation) -> int:
        """See `_prepare`."""

    def _prepare(self, relation: Relation) -> int:
        return self._prepare_labels(self._labels(relation))

    def _labels(self, relation: Relation) -> LabelRelation:
        if isinstance(relation, LabelRelation):
            return relation
        raise TypeError(
            f"{type(self).__name__} learns from classes, but got a {type(relation).__name__}; for "
            "pairs use SiameseLearner, for triplets TripletLearner."
        )


@dataclass(eq=False, repr=False)
class BatchTrainedLearner(LabelTrainedLearner):
    """A network trained on what the items of a batch lose together; the loss is the subclass's."""

    _smallest_batch: ClassVar[int] = 2
    """Items that a loss needs at least."""

    @abstractmethod
    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        """Return what is lost in training, and what is to be small on items held out."""

    def _tasks(self, inputs: TaskInputs) -> tuple[Task, Task | None]:
        relation, config = self._labels(inputs.relation), inputs.config
        check_count("batch_size", config.batch_size, minimum=self._smallest_batch)
        train, held_out = LabelledItems.of(relation).part(inputs.validation_fraction, inputs.rng)
        loss, validation_loss = self._losses(relation, config, inputs.rng)
        task = BatchTask(inputs.features, train, loss, config.device, config.augment)
        if not held_out.items.size:
            return task, None
        return task, BatchTask(inputs.features, held_out, validation_loss, config.device)
