"""`fit_embedder`: the one door to phase 2."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from twofold.regression._augment import Augment, refuse_augmented
from twofold.regression._expected_target import (
    ExpectedTarget,
    LikelihoodTask,
    distinct_targets,
)
from twofold.regression._features import Features, item_shape, n_rows, open_features
from twofold.regression._joining import workers
from twofold.regression._network import Regression
from twofold.regression._network_embedder import NetworkEmbedder, OutputScale
from twofold.regression._preparation import out_of_memory_sentence, prepare_network
from twofold.regression._regression_task import RegressionTask
from twofold.regression._regressor import RegressorEmbedder, fit_regressor
from twofold.regression._target_direction import (
    DirectionTask,
    TargetDirection,
    direction_length,
)
from twofold.regression._task import Task, validation_loss
from twofold.regression._training import train_network
from twofold.regression._training_config import (
    Callback,
    Epoch,
    TrainingConfig,
    TrainingHistory,
)
from twofold.regression._views import refuse_views


@dataclass(frozen=True, slots=True, eq=False)
class FittedEmbedder:
    """An embedder and how it came about.

    Attributes
    ----------
    embedder : NetworkEmbedder or RegressorEmbedder
        From features to points.
    history : TrainingHistory or None
        Of a network's training.
    seconds : float
        Of fitting; validation and callbacks of a network are not counted.
    """

    embedder: NetworkEmbedder | RegressorEmbedder
    history: TrainingHistory | None
    seconds: float


def fit_embedder(
    embedder: TrainingConfig | Any,
    X: Any,
    targets: NDArray[np.float32],
    rng: np.random.Generator,
    *,
    items: NDArray[np.int64] | None = None,
    which: NDArray[np.int64] | None = None,
    output_scale: OutputScale | None = None,
    regression: Regression | Literal["direction"] = "squared",
    validation_fraction: float = 0.0,
    callback: Callback | None = None,
    checkpoint: Path | None = None,
) -> FittedEmbedder:
    """Regress from features to targets.

    Parameters
    ----------
    embedder : TrainingConfig or scikit-learn regressor
        Which network and how it is trained, or any regressor, which is cloned.
    X : array, memory-mapped array, sparse matrix or torch Dataset, n_items rows
        Features.
    targets : ndarray of float32, shape (n_examples, dim), or (n_targets, dim) with `which`
        Standardised targets.
    rng : Generator
        Of all that is random.
    items : ndarray of int64, shape (n_examples,), optional
        The rows of `X` that have a target; all by default.
    which : ndarray of int64, shape (n_examples,), optional
        Number of each example's row in `targets`, where examples share them; by default each has
        its own.
    output_scale : OutputScale, optional
        Undoes the standardisation of the targets when the embedder predicts.
    regression : {"squared", "likelihood", "direction"}
        Squared error to the targets; or, for networks, and where examples share targets, the
        likelihood of each one. Of all of them, and the embedding is the expected target; or of some
        at a time, for targets of one length that are more than components, and the embedding is
        the outputs' direction.
    validation_fraction : float
        Share of the examples that a network's best epoch is chosen on; 0 keeps the last epoch.
    callback : callable (Epoch), optional
        Called after every epoch of a network; returning True stops.
    checkpoint : path, optional
        A file that a network's training is kept in until it is done; see `train_network`.
    """
    items = np.arange(n_rows(X)) if items is None else items
    _check_rows(targets, which, len(items))
    began = time.perf_counter()
    if not isinstance(embedder, TrainingConfig):
        wanted = targets if which is None else targets[which]
        together = workers("cpu")
        fitted = together.once(
            lambda: fit_regressor(embedder, X, wanted, items, rng, output_scale), rng
        )
        return FittedEmbedder(fitted, None, time.perf_counter() - began)

    config = embedder
    with out_of_memory_sentence(config.batch_size):
        shape = item_shape(X)
        refuse_augmented(config.augment, shape)
        refuse_views(config.views, shape)
        features = open_features(X, config.device)
        network = prepare_network(
            config.architecture,
            features,
            shape,
            targets.shape[1],
            config.device,
            rng,
            config.dropout,
        )
        train, held_out = part_examples(len(items), validation_fraction, rng)
        if regression == "squared":
            task_of = _squared_error(features, items, targets, which, config.device)
        else:
            if which is None:
                targets, which = distinct_targets(targets)
            make = _likelihood if regression == "likelihood" else _direction
            head, task_of = make(features, items, targets, which, config.device)
            network.append(head)
        validation = task_of(held_out, None) if held_out.size else None
        prepared = time.perf_counter() - began
        history = train_network(
            network,
            task_of(train, config.augment),
            config,
            rng,
            validate=validation_loss(validation, config.batch_size),
            callback=embedding_callback(callback, shape, config.device, output_scale, config.views),
            checkpoint=checkpoint,
        )
    fitted_network = NetworkEmbedder(
        network, shape, config.device, config.name, output_scale, config.views
    )
    return FittedEmbedder(fitted_network, history, prepared + history.seconds)


def refresh_embedder(
    embedder: NetworkEmbedder,
    X: Any,
    targets: NDArray[np.float32],
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    items: NDArray[np.int64],
    callback: Callback | None = None,
) -> FittedEmbedder:
    """Go on training a copy of a fitted network towards other targets; see `fit_embedder`."""
    embedder = copy.deepcopy(embedder)
    if embedder.name == "mlp":  # a network that was read from a file does not know its own
        for layer in embedder.network.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = config.dropout
    with out_of_memory_sentence(config.batch_size):
        features = open_features(X, config.device)
        task = RegressionTask(features, items, targets, config.device, config.augment)
        embedder.network.to(config.device)
        told = embedding_callback(
            callback, embedder.input_shape, config.device, embedder.output_scale, embedder.n_views
        )
        history = train_network(embedder.network, task, config, rng, callback=told)
    embedder.device = config.device
    return FittedEmbedder(embedder, history, history.seconds)


def embedding_callback(
    callback: Callback | None,
    input_shape: tuple[int, ...],
    device: str,
    output_scale: OutputScale | None,
    n_views: int,
) -> Callback | None:
    """Return a callback whose epochs can embed features by the network as it stands."""
    if callback is None:
        return None

    def report(epoch: Epoch) -> Any:
        embedder = NetworkEmbedder(epoch.network, input_shape, device, None, output_scale, n_views)
        return callback(replace(epoch, embed=embedder.predict))

    return report


TaskOf = Callable[[NDArray[np.int64], Augment | None], Task]
"""Some examples, and how their images are changed, as a task."""


def _check_rows(
    targets: NDArray[np.float32], which: NDArray[np.int64] | None, n_examples: int
) -> None:
    """Refuse rows of `targets` that are not there."""
    if which is None:
        return
    if which.shape != (n_examples,) or which.dtype.kind != "i":
        raise ValueError(
            f"which must have one whole number per example, shape ({n_examples},), got "
            f"{which.dtype} of shape {which.shape}."
        )
    wrong = np.flatnonzero((which < 0) | (which >= len(targets)))
    if wrong.size:
        raise ValueError(
            f"which must contain row numbers of the {len(targets)} targets, from 0; {wrong.size} "
            f"example(s) have others, first example {wrong[0]} ({which[wrong[0]]}). Use `items` "
            "to leave out items without a target."
        )


def _squared_error(
    features: Features,
    items: NDArray[np.int64],
    targets: NDArray[np.float32],
    which: NDArray[np.int64] | None,
    device: str,
) -> TaskOf:
    if which is None:
        return lambda part, augment: RegressionTask(
            features, items[part], targets[part], device, augment
        )
    table = torch.from_numpy(targets).to(device)
    return lambda part, augment: RegressionTask(
        features, items[part], table, device, augment, which[part]
    )


def _likelihood(
    features: Features,
    items: NDArray[np.int64],
    targets: NDArray[np.float32],
    which: NDArray[np.int64],
    device: str,
) -> tuple[nn.Module, TaskOf]:
    """Return what the network ends in, and its task."""
    head = ExpectedTarget(torch.from_numpy(targets).to(device))
    return head, lambda part, augment: LikelihoodTask(
        features, items[part], which[part], device, augment
    )


def _direction(
    features: Features,
    items: NDArray[np.int64],
    targets: NDArray[np.float32],
    which: NDArray[np.int64],
    device: str,
) -> tuple[nn.Module, TaskOf]:
    """Return what the network ends in, and its task."""
    table = torch.from_numpy(targets).to(device)
    head = TargetDirection(torch.tensor(direction_length(targets, which), device=device))
    return head, lambda part, augment: DirectionTask(
        features, items[part], which[part], table, device, augment
    )


def part_examples(
    n_examples: int, validation_fraction: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Part examples at random into those to train on and those to validate on."""
    order = rng.permutation(n_examples)
    n_held_out = min(round(validation_fraction * n_examples), n_examples - 1)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
