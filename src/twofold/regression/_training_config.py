"""What a training is told, and what it tells: its configuration, its epochs and its history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from twofold.regression._augment import Augment
from twofold.regression._networks import DROPOUT
from twofold.regression._optimisers import OptimiserName

Schedule = Literal["warm cosine", "linear"]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Which network is trained, and how: `Network` with a value for every "auto".

    Attributes
    ----------
    architecture : str or nn.Module
        A network by name, or a user's own.
    max_epochs : int
        Passes over the examples.
    batch_size : int
        Examples a step.
    learning_rate : float
        The optimiser's maximum learning rate.
    weight_decay : float
        Decoupled from the gradient, as in AdamW.
    warm_up : float
        Share of all steps in which the learning rate rises.
    dropout : float
        Of the network "mlp", in [0, 1).
    optimiser : {"adamw", "sgd", "muon"}
        What moves the weights.
    schedule : {"warm cosine", "linear"}
        Of the rate: a rise over `warm_up` and a fall along half a cosine; or a straight line to
        zero.
    augment : Augment or None
        How training images are changed.
    averaged : float
        Share of the steps, at the end, over which weights are averaged.
    views : int
        Number of views of an item when it is embedded, whose outputs are averaged.
    epoch_size : int or None
        Examples per epoch, drawn again each time; all of them by default.
    device : str
        "cpu", "cuda" or "cuda:N".
    """

    architecture: str | nn.Module
    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float = 0.0
    warm_up: float = 0.1
    dropout: float = DROPOUT
    optimiser: OptimiserName = "adamw"
    schedule: Schedule = "warm cosine"
    augment: Augment | None = None
    averaged: float = 0.0
    views: int = 1
    epoch_size: int | None = None
    device: str = "cpu"

    @property
    def name(self) -> str | None:
        """Of the network; None for a user's own."""
        return self.architecture if isinstance(self.architecture, str) else None

    def n_drawn(self, n_examples: int) -> int:
        """Return how many of `n_examples` an epoch sees."""
        return n_examples if self.epoch_size is None else min(self.epoch_size, n_examples)


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """What a callback gets after every epoch.

    Attributes
    ----------
    number, n_epochs : int
        Number of the epoch, from 1, and of all epochs.
    loss : float
        Mean over the epoch's examples.
    validation_loss : float or None
        Loss on the validation part after the epoch, if there is one.
    seconds : float
        Seconds of training so far, without validation and callbacks.
    network : nn.Module
        The network at this point, which must not be changed.
    embed : callable (X) -> ndarray, or None
        Embeds any features with the network at this point, if a learner trains it.
    """

    number: int
    n_epochs: int
    loss: float
    validation_loss: float | None
    seconds: float
    network: nn.Module
    embed: Callable[[Any], NDArray[np.float32]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TrainingHistory:
    """What training came to.

    Attributes
    ----------
    loss : list of float
        Of each epoch.
    validation_loss : list of float
        The same on the part held out; empty without one.
    best_epoch : int
        The epoch, from 1, whose weights were kept: the one with the least validation loss, or the
        last.
    seconds : float
        Of training; validation and callbacks are not counted.
    """

    loss: list[float]
    validation_loss: list[float]
    best_epoch: int
    seconds: float


Callback = Callable[[Epoch], Any]
