"""Regression to targets that are fixed beforehand: one-hot vectors or a regular simplex.

What phase 2 does when phase 1 is left out: it says what solved targets are worth.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.baselines._label_trained import LabelTrainedLearner
from twofold.baselines._labelled_items import LabelledItems
from twofold.baselines._task_inputs import TaskInputs
from twofold.regression import Augment, OutputScale, RegressionTask, Task, part_examples
from twofold.relations import LabelRelation
from twofold.targets import simplex_vertices, standardise_targets

Targets = Literal["one-hot", "simplex"]


@dataclass(eq=False, repr=False)
class FixedTargetLearner(LabelTrainedLearner):
    """A network that regresses to one fixed vector per class.

    The loss is ½‖t − g(x)‖², with targets standardised as in `MetricLearner`; the embedding is in
    the targets' own coordinates. Points are compared by distance, which is the same between the
    targets of any two classes and, unlike the inner product, does not depend on where the origin of
    a simplex lies.

    Parameters
    ----------
    targets : {"one-hot", "simplex"}
        One-hot vectors, as many components as classes, √2 apart; for several labels per item, its
        row of the indicator matrix. Or the vertices of a regular simplex about the origin, one
        component fewer, a distance of 1 apart; for classes only.
    embedder, validation_fraction, device, random_state, verbose
        As for `SiameseLearner`, but an "auto" learning rate is 0.002, as that of `MetricLearner`.

    Attributes
    ----------
    targets_ : ndarray of float32, shape (n_items, n_components_)
        The targets of the training items, NaN where the class is unknown.
    """

    targets: Targets = "one-hot"
    _: KW_ONLY
    targets_: NDArray[np.float32] = field(init=False)

    _learning_rate: ClassVar[float] = 2e-3

    def _prepare_labels(self, relation: LabelRelation) -> int:
        check_choice("targets", self.targets, get_args(Targets))
        self.metric_ = "euclidean"
        labelled = LabelledItems.of(relation)
        points = _class_targets(labelled.labels, relation.n_labels, self.targets)
        self.targets_ = np.full((relation.n_items, points.shape[1]), np.nan, dtype=np.float32)
        self.targets_[labelled.items] = points
        return int(points.shape[1])

    def _output_scale(self) -> OutputScale:
        known = ~np.isnan(self.targets_[:, 0])
        return OutputScale(*standardise_targets(self.targets_[known])[1:])

    def _tasks(self, inputs: TaskInputs) -> tuple[Task, Task | None]:
        config = inputs.config
        items = np.flatnonzero(self._labels(inputs.relation).known)
        targets = standardise_targets(self.targets_[items])[0]

        def task(part: NDArray[np.int64], augment: Augment | None) -> Task:
            return RegressionTask(
                inputs.features, items[part], targets[part], config.device, augment
            )

        train, held_out = part_examples(len(items), inputs.validation_fraction, inputs.rng)
        return task(train, config.augment), task(held_out, None) if held_out.size else None


def _class_targets(
    labels: NDArray[np.int64] | NDArray[np.bool_], n_labels: int, targets: Targets
) -> NDArray[np.float32]:
    """Return the target of each item, shape (n_items, n_components)."""
    if labels.ndim == 1:
        one_hot = np.eye(n_labels, dtype=np.float32)
        return (one_hot if targets == "one-hot" else simplex_vertices(n_labels))[labels]
    if targets == "simplex":
        raise ValueError(
            "targets='simplex' gives each class a vertex, but some items have several labels, or "
            "none. Use targets='one-hot', whose targets are the rows of the indicator matrix."
        )
    return labels.astype(np.float32)
