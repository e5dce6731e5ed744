"""Networks that are trained on pairs or triplets: the rivals Twofold is compared with.

They share networks, training loop and interface with `MetricLearner`, so that a comparison differs
in nothing but the method.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from torch import nn

from twofold._core.checks import check_count
from twofold._core.random import RandomState, as_generator
from twofold.estimators import (
    EmbeddingLearner,
    Relation,
    as_relation,
    check_features,
    check_validation_fraction,
    checkpoint_path,
    progress_callback,
    training_config,
)
from twofold.regression import (
    Epoch,
    Features,
    NetworkEmbedder,
    Task,
    TrainingConfig,
    is_network,
    item_shape,
    open_features,
    out_of_memory_sentence,
    prepare_network,
    refuse_flipped_vectors,
    train_network,
    validation_loss,
)
from twofold.relations import LabelRelation, PairRelation, TripletRelation


class PairTrainedLearner(EmbeddingLearner):
    """A network trained on statements; which statements, and with what loss, is the subclass's."""

    dim: int
    n_similar: int
    n_dissimilar: int
    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float | Literal["auto"]
    dropout: float | Literal["auto"]
    validation_fraction: float
    flips: bool
    device: str
    random_state: RandomState
    verbose: bool
    callback: Callable[[Epoch], Any] | None
    checkpoint: str | os.PathLike[str] | None
    epoch_size: int | None = None

    @abstractmethod
    def _tasks(
        self,
        features: Features,
        relation: Relation,
        validation_fraction: float,
        config: TrainingConfig,
        rng: np.random.Generator,
    ) -> tuple[Task, Task | None]:
        """Return what to train on, and what to validate on."""

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        if not is_network(self.embedder):
            raise TypeError(
                f"{type(self).__name__} trains a network: embedder must be the name of a "
                f"network or a torch.nn.Module, got {self.embedder!r}."
            )
        share = check_validation_fraction(self.validation_fraction)
        self.dim_ = check_count("dim", self.dim)
        self._mean, self._scale = np.zeros(self.dim_, dtype=np.float32), 1.0
        X = check_features(self, X, reset=True)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        config = training_config(self, known, self.epoch_size)
        rng = as_generator(self.random_state)

        with out_of_memory_sentence(config.batch_size):
            shape = item_shape(X)
            refuse_flipped_vectors(self.flips, shape)
            features = open_features(X, config.device)
            prepared = prepare_network(
                self.embedder, features, shape, self.dim_, config.device, rng, config.dropout
            )
            network = self._at_its_start(prepared, features)
            task, held_out = self._tasks(features, known, share, config, rng)
            history = train_network(
                self._trained(network, task).to(config.device),
                task,
                config,
                rng,
                validate=validation_loss(held_out, config.batch_size),
                callback=progress_callback(self, self._embed_with),
                checkpoint=checkpoint_path(self),
            )
        name = self.embedder if isinstance(self.embedder, str) else None
        self.embedder_ = NetworkEmbedder(network, shape, config.device, name)
        self.timing_ = {"training": history.seconds}
        self.history_ = {
            "training": history.loss,
            "validation": history.validation_loss,
            "best_epoch": history.best_epoch,
        }
        self._forget_threshold()
        return self

    def _at_its_start(self, network: nn.Sequential, features: Features) -> nn.Module:
        """Return what training begins with: the network itself, or something made of it."""
        return network

    def _trained(self, network: nn.Module, task: Task) -> nn.Module:
        """Return what the optimiser trains: the network, with whatever its loss has to learn."""
        return network

    def _stated_pairs(self, relation: Relation, rng: np.random.Generator) -> PairRelation:
        if isinstance(relation, LabelRelation):
            return relation.sample_pairs(self.n_similar, self.n_dissimilar, random_state=rng)
        if isinstance(relation, TripletRelation):
            raise TypeError(
                f"{type(self).__name__} learns from pairs or labels; for triplets use "
                "TripletLearner."
            )
        return relation
