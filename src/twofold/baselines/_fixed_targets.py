"""Regression to targets that are fixed beforehand: one-hot vectors or a regular simplex.

What phase 2 does when phase 1 is left out: it says what solved targets are worth.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from twofold._core.checks import check_choice
from twofold._core.random import RandomState
from twofold.baselines._label_trained import LabelTrainedLearner
from twofold.baselines._labelled_items import LabelledItems
from twofold.estimators import Relation
from twofold.regression import Epoch, Features, RegressionTask, Task, TrainingConfig, part_examples
from twofold.relations import LabelRelation
from twofold.targets import standardise_targets

Targets = Literal["one-hot", "simplex"]


class FixedTargetLearner(LabelTrainedLearner):
    """A network that regresses to one fixed vector a class.

    ½‖t − g(x)‖² to targets that are standardised as those of `MetricLearner`; the embedding is in
    the targets' own coordinates. Points are compared by distance: between targets of two classes
    it is the same for any two, and unlike the inner product it does not depend on where the origin
    of a simplex lies.

    Parameters
    ----------
    targets : {"one-hot", "simplex"}
        One-hot vectors, dim = number of classes, √2 apart; for several labels an item, its row of
        the indicator matrix. Or the vertices of a regular simplex about the origin, dim = number
        of classes − 1, a distance of 1 apart; for classes only.
    embedder, max_epochs, batch_size, learning_rate, weight_decay, dropout, \
validation_fraction, flips, device, random_state, verbose, callback, checkpoint
        As for `MetricLearner`; the embedder is a network.

    Attributes
    ----------
    targets_ : ndarray of float32, shape (n_items, dim)
        The targets of the training items, NaN where the class is unknown.
    """

    targets_: NDArray[np.float32]

    def __init__(
        self,
        targets: Targets = "one-hot",
        *,
        embedder: Any = "mlp",
        max_epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 2e-3,
        weight_decay: float | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.0,
        flips: bool = False,
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callable[[Epoch], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.targets = targets
        self.embedder = embedder
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.validation_fraction = validation_fraction
        self.flips = flips
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Components of the targets, and so of the embedding."""
        return int(self.targets_.shape[1])

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels; see `LabelTrainedLearner.fit`."""
        check_choice("targets", self.targets, get_args(Targets))
        self.metric_ = "euclidean"
        return super().fit(X, y, relation=relation)

    def _prepare(self, relation: LabelRelation) -> None:
        labelled = LabelledItems.of(relation)
        points = _placed(labelled.labels, relation.n_labels, self.targets)
        self.targets_ = np.full((relation.n_items, points.shape[1]), np.nan, dtype=np.float32)
        self.targets_[labelled.items] = points

    def _tasks(
        self,
        features: Features,
        relation: Relation,
        validation_fraction: float,
        config: TrainingConfig,
        rng: np.random.Generator,
    ) -> tuple[Task, Task | None]:
        assert isinstance(relation, LabelRelation)  # `fit` saw to it
        items = np.flatnonzero(relation.known)
        points, self._mean, self._scale = standardise_targets(self.targets_[items])
        train, held_out = part_examples(len(items), validation_fraction, rng)
        task = RegressionTask(features, items[train], points[train], config.device, self.flips)
        if not held_out.size:
            return task, None
        return task, RegressionTask(features, items[held_out], points[held_out], config.device)


def simplex_vertices(n_vertices: int) -> NDArray[np.float32]:
    """Return the vertices of a regular simplex about the origin, all a distance of 1 apart.

    They are the one-hot vectors, projected on the space in which components sum to 0 and divided
    by √2.

    Returns
    -------
    vertices : ndarray of float32, shape (n_vertices, n_vertices − 1)
    """
    return np.ascontiguousarray(helmert(n_vertices).T / np.sqrt(2), dtype=np.float32)


def _placed(
    labels: NDArray[np.int64] | NDArray[np.bool_], n_labels: int, targets: Targets
) -> NDArray[np.float32]:
    """Return the target of each item, shape (n_items, dim)."""
    if labels.ndim == 1:
        one_hot = np.eye(n_labels, dtype=np.float32)
        return (one_hot if targets == "one-hot" else simplex_vertices(n_labels))[labels]
    if targets == "simplex":
        raise ValueError(
            "targets='simplex' gives each class a vertex, but items have several labels, or none. "
            "Use targets='one-hot', whose targets are the rows of the indicator matrix."
        )
    return labels.astype(np.float32)
