"""Networks that are trained on statements or labels: the rivals Twofold is compared with.

They share networks, training loop and interface with `MetricLearner`, so that a comparison differs
in nothing but the method. Every rival is a dataclass, whose fields are its parameters: those that
all have are declared here, once.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from twofold._core.checks import check_share
from twofold._core.devices import resolve_device
from twofold._core.progress import Reporter
from twofold._core.random import RandomState, as_generator
from twofold.baselines._task_inputs import TaskInputs
from twofold.estimators import EmbeddingLearner, refuse_different_data
from twofold.regression import (
    MILD,
    STRONG,
    Callback,
    Epoch,
    Features,
    NetworkEmbedder,
    OutputScale,
    Task,
    TrainingConfig,
    TrainingHistory,
    as_network,
    check_features,
    checkpoint_path,
    epoch_callback,
    is_network,
    item_shape,
    open_features,
    out_of_memory_sentence,
    prepare_network,
    refuse_augmented,
    refuse_views,
    resolve_network,
    survives_fork,
    train_network,
    validation_loss,
    workers,
)
from twofold.relations import Relation, as_relation, is_classes


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkLearner(EmbeddingLearner):
    """A network of this package, trained on what, and with what loss, the subclass says.

    Parameters
    ----------
    embedder : "auto", Network or its architecture
        What is trained, and how. "auto" is ``Network("mlp")``.
    validation_fraction : float
        Share of the examples that the best epoch is chosen on; 0 keeps the last.
    device, random_state, verbose
        As for `MetricLearner`.
    """

    embedder: Any = "auto"
    validation_fraction: float = 0.0
    device: str = "auto"
    random_state: RandomState = None
    verbose: bool = False

    _learning_rate: ClassVar[float] = 1e-3
    """What "auto" is for these networks."""

    @abstractmethod
    def _prepare(self, relation: Relation) -> int:
        """Check the parameters, set `metric_`, and return how many outputs the network has."""

    @abstractmethod
    def _tasks(self, inputs: TaskInputs) -> tuple[Task, Task | None]:
        """Return what to train on, and what to validate on."""

    @survives_fork
    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        if not is_network(self.embedder):
            raise TypeError(
                f"{type(self).__name__} trains a network: embedder must be a Network, the name of "
                f"one or a torch.nn.Module, got {self.embedder!r}."
            )
        share = check_share("validation_fraction", self.validation_fraction)
        X = check_features(self, X, reset=True)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        self.n_components_ = self._prepare(known)
        config = self._config(known)
        rng = as_generator(self.random_state)
        refuse_different_data(X, known, config.device)
        workers(config.device).agreed(None, rng)
        with out_of_memory_sentence(config.batch_size):
            shape = item_shape(X)
            refuse_augmented(config.augment, shape)
            refuse_views(config.views, shape)
            features = open_features(X, config.device)
            prepared = prepare_network(
                config.architecture,
                features,
                shape,
                self.n_components_,
                config.device,
                rng,
                config.dropout,
            )
            network = self._starting_network(prepared, features, config)
            history = self._train(network, TaskInputs(features, known, share, config, rng), shape)
        self._keep(self._embedder_of(network, shape, config), history)
        return self

    def _train(
        self, network: nn.Module, inputs: TaskInputs, shape: tuple[int, ...]
    ) -> TrainingHistory:
        config = inputs.config
        task, held_out = self._tasks(inputs)
        return train_network(
            self._trained(network, task).to(config.device),
            task,
            config,
            inputs.rng,
            validate=validation_loss(held_out, config.batch_size),
            callback=self._callback(shape, config),
            checkpoint=checkpoint_path(self.embedder, self.random_state),
        )

    def _keep(self, embedder: NetworkEmbedder, history: TrainingHistory) -> None:
        self.embedder_ = embedder
        self.timing_ = {"training": history.seconds}
        self.history_ = {
            "training": history.loss,
            "validation": history.validation_loss,
            "best_epoch": history.best_epoch,
        }
        self._forget_threshold()

    def _config(self, relation: Relation) -> TrainingConfig:
        """Return the network and its training, with a value for every "auto"."""
        return resolve_network(
            as_network(self.embedder),
            MILD if is_classes(relation) else STRONG,
            resolve_device(self.device),
            learning_rate=self._learning_rate,
            item_shape=getattr(self, "input_shape_", ()),
            n_items=relation.n_items,
        )

    def _callback(self, shape: tuple[int, ...], config: TrainingConfig) -> Callback:
        """Return what is called after every epoch, which can embed by the network as it stands."""
        told = epoch_callback(Reporter(self.verbose), self.embedder)

        def report(epoch: Epoch) -> Any:
            embedder = self._embedder_of(epoch.network, shape, config)

            def embed(X: Any) -> NDArray[np.float32]:
                return self._finish(embedder.predict(X))

            return told(replace(epoch, embed=embed))

        return report

    def _embedder_of(
        self, network: nn.Module, shape: tuple[int, ...], config: TrainingConfig
    ) -> NetworkEmbedder:
        """Return what embeds by a network, trained or on its way."""
        return NetworkEmbedder(
            network, shape, config.device, config.name, self._output_scale(), config.views
        )

    def _output_scale(self) -> OutputScale | None:
        """Return what leads from the network's outputs to points, where they differ."""
        return None

    def _starting_network(
        self, network: nn.Sequential, features: Features, config: TrainingConfig
    ) -> nn.Module:
        """Return what training begins with: the network itself, or something made of it."""
        return network

    def _trained(self, network: nn.Module, task: Task) -> nn.Module:
        """Return what the optimiser trains: the network, with whatever its loss has to learn."""
        return network
