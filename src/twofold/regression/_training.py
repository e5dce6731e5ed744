"""The training loop: one network, one task, minibatches; the only loop in Twofold.

A task says what an example is and what the network loses on some of them. Regression to targets is
one; the rivals that train on pairs bring their own, so that a comparison differs in nothing else.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold.regression._networks import DROPOUT
from twofold.regression._task import Task
from twofold.regression._threads import fitting_threads

LARGEST_SEED = 2**63


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a network is trained.

    Attributes
    ----------
    max_epochs : int
        Passes over the examples.
    batch_size : int
        Examples a step.
    learning_rate : float
        Adam's, at its height: it rises over the first `warm_up` of all steps and falls to zero
        along half a cosine.
    weight_decay : float
        Decoupled from the gradient, as in AdamW.
    warm_up : float
        Share of all steps.
    dropout : float
        Of the network "mlp", in [0, 1).
    device : str
        "cpu", "cuda" or "cuda:N".
    """

    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float = 0.0
    warm_up: float = 0.1
    dropout: float = DROPOUT
    device: str = "cpu"


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """What a callback is told after every epoch.

    Attributes
    ----------
    number, n_epochs : int
        Which epoch, from 1, of how many.
    loss : float
        Mean over the epoch's examples.
    validation_loss : float or None
        After it, where a part is held out.
    seconds : float
        Of training so far; validation and callbacks are not counted.
    network : nn.Module
        As it stands, not to be changed.
    embed : callable (X) -> ndarray, or None
        The embedding of any features by the network as it stands, where a learner trains it.
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


def train_network(
    network: nn.Module,
    task: Task,
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    validate: Callable[[nn.Module], float] | None = None,
    callback: Callback | None = None,
) -> TrainingHistory:
    """Train `network`, which lies on the config's device, in place.

    Parameters
    ----------
    network : nn.Module
        Trained in place; left in evaluation mode with the weights of the best epoch.
    task : Task
        Examples and their loss.
    config : TrainingConfig
        How.
    rng : Generator
        Of the order of examples, dropout and augmentation. On a CPU the same state gives the same
        weights.
    validate : callable (network) -> float, optional
        What is to be small; called after every epoch.
    callback : callable (Epoch), optional
        Called after every epoch; returning True stops.
    """
    optimiser, schedule = _optimiser(network, task.n_examples, config)
    losses: list[float] = []
    validation_losses: list[float] = []
    best_epoch, best_weights, seconds = config.max_epochs, None, 0.0
    with torch_seed(rng, config.device), fitting_threads(network, task, config.batch_size):
        for number in range(1, config.max_epochs + 1):
            began = time.perf_counter()
            losses.append(_one_epoch(network, task, config, rng, optimiser, schedule))
            seconds += time.perf_counter() - began
            _refuse_nan(losses[-1], number)
            network.eval()
            if validate is not None:
                validation_losses.append(validate(network))
                if validation_losses[-1] == min(validation_losses):
                    best_epoch, best_weights = number, copy.deepcopy(network.state_dict())
            if callback is not None:
                found = validation_losses[-1] if validation_losses else None
                report = Epoch(number, config.max_epochs, losses[-1], found, seconds, network)
                answer = callback(report)
                if isinstance(answer, bool | np.bool_) and answer:
                    break
    if best_weights is not None:
        network.load_state_dict(best_weights)
    network.eval()
    return TrainingHistory(losses, validation_losses, min(best_epoch, len(losses)), seconds)


def _one_epoch(
    network: nn.Module,
    task: Task,
    config: TrainingConfig,
    rng: np.random.Generator,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
) -> float:
    """Pass over all examples once; the device is waited for only at the end."""
    network.train()
    order = torch.from_numpy(rng.permutation(task.n_examples)).to(task.index_device)
    total = torch.zeros((), device=config.device)
    for examples in _batches(order, config.batch_size):
        with _half_precision(config.device):
            loss = task.loss(network, examples)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        total += loss.detach() * len(examples)
    return float(total) / task.n_examples


def _batches(order: Tensor, size: int) -> list[Tensor]:
    """Part examples into batches; one left over joins the last, since some layers need two."""
    batches = list(torch.split(order, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _optimiser(
    network: nn.Module, n_examples: int, config: TrainingConfig
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        fused=True,
    )
    n_steps = config.max_epochs * math.ceil(n_examples / config.batch_size)
    n_rising = max(1, round(config.warm_up * n_steps))

    def height(step: int) -> float:
        if step < n_rising:
            return (step + 1) / n_rising
        return 0.5 * (1 + math.cos(math.pi * (step - n_rising) / max(1, n_steps - n_rising)))

    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, height)


def _half_precision(device: str) -> torch.autocast:
    """bfloat16 on CUDA, full precision elsewhere."""
    kind = torch.device(device).type
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda")


def _refuse_nan(loss: float, epoch: int) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The loss became {loss} in epoch {epoch} of the regression. Lower learning_rate, or "
            "look for extreme values in X."
        )


@contextmanager
def torch_seed(rng: np.random.Generator, device: str) -> Iterator[None]:
    """Give torch's global generators a seed of ours inside, and their own state back after."""
    place = torch.device(device)
    devices = [] if place.type == "cpu" else [place]
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(rng.integers(LARGEST_SEED)))
        yield
