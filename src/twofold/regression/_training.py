"""The training loop: one network, one task, minibatches; the only loop in Twofold.

A task says what an example is and what the network loses on some of them. Regression to targets is
one; the rivals that train on pairs bring their own, so that a comparison differs in nothing else.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold._core.shared_setting import SharedSetting
from twofold.regression._augment import Augment
from twofold.regression._averaging import WeightAverage
from twofold.regression._checkpoint import Checkpoint, Progress, Trainer
from twofold.regression._draws import Draws, drawing_from
from twofold.regression._networks import DROPOUT
from twofold.regression._optimisers import OptimiserName, make_optimisers
from twofold.regression._steps import EagerStep, RecordedStep, training_step
from twofold.regression._task import Task
from twofold.regression._threads import step_flops, threads_for

N_TRIED = 3
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
        The optimiser's, at its height.
    weight_decay : float
        Decoupled from the gradient, as in AdamW.
    warm_up : float
        Share of all steps, in which the rate rises.
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
        Share of the steps, the last ones, over which weights are averaged.
    views : int
        Of an item when it is embedded, whose outputs are averaged.
    epoch_size : int or None
        Examples an epoch, drawn anew each time; all of them by default.
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


def train_network(
    network: nn.Module,
    task: Task,
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    validate: Callable[[nn.Module], float] | None = None,
    callback: Callback | None = None,
    checkpoint: Path | None = None,
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
    checkpoint : path, optional
        A file that the training is kept in until it is done. If it is there, the training goes on
        from it, on a CPU with the same bytes as one that was never interrupted.
    """
    is_own = config.name is None
    draws = Draws(rng, config.device, lends=is_own)
    optimisers = make_optimisers(
        network, config.optimiser, config.learning_rate, config.weight_decay, config.device
    )
    rates = _learning_rates(task.n_examples, config)
    average = WeightAverage(network, len(rates), config.averaged)
    trainer = Trainer(network, optimisers, rng, draws, average)
    step = training_step(
        network,
        task,
        optimisers,
        draws,
        min(config.batch_size, config.n_drawn(task.n_examples)),
        config.device,
        may_record=not is_own,  # which may decide as it goes
    )
    with (
        drawing_from(network, draws.generator),
        _threads_for(network, task, config),
        _fastest_convolutions,
    ):
        kept = _open_checkpoint(checkpoint, network, task, config)
        done = Progress() if kept is None else kept.restore(trainer)
        for number in range(done.n_done + 1, config.max_epochs + 1):
            began = time.perf_counter()
            task.begin_epoch(number)
            loss = _one_epoch(trainer, step, rates, task, config)
            done.seconds += time.perf_counter() - began
            _refuse_nan(loss, number)
            done.n_done = number
            done.losses.append(loss)
            network.eval()
            if validate is not None:
                _note_validation(done, validate(network), network)
            if callback is not None and _asks_to_stop(callback(_report(done, config, network))):
                break
            if kept is not None:
                kept.keep(trainer, done)
    if done.best_weights is None:
        average.settle()
    else:
        network.load_state_dict(done.best_weights)
    network.eval()
    if kept is not None:
        kept.remove()
    best = done.best_epoch or done.n_done
    return TrainingHistory(done.losses, done.validation_losses, best, done.seconds)


def _open_checkpoint(
    path: Path | None, network: nn.Module, task: Task, config: TrainingConfig
) -> Checkpoint | None:
    if path is None:
        return None
    training = asdict(replace(config, architecture=config.name or "own"))
    training["n_examples"] = task.n_examples
    return Checkpoint(path, training, network, _first_loss(network, task, config.batch_size))


def _first_loss(network: nn.Module, task: Task, batch_size: int) -> float:
    """Return what is lost on the first examples."""
    some = torch.arange(min(batch_size, task.n_examples), device=task.index_device)
    network.eval()
    with torch.no_grad():
        return float(task.loss(network, some))


def _note_validation(done: Progress, loss: float, network: nn.Module) -> None:
    done.validation_losses.append(loss)
    if loss == min(done.validation_losses):
        done.best_epoch, done.best_weights = done.n_done, copy.deepcopy(network.state_dict())


def _report(done: Progress, config: TrainingConfig, network: nn.Module) -> Epoch:
    validation = done.validation_losses[-1] if done.validation_losses else None
    return Epoch(done.n_done, config.max_epochs, done.losses[-1], validation, done.seconds, network)


def _asks_to_stop(answer: Any) -> bool:
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _one_epoch(
    trainer: Trainer,
    step: EagerStep | RecordedStep,
    rates: Tensor,
    task: Task,
    config: TrainingConfig,
) -> float:
    """Pass over the examples once; the device is waited for only at the end."""
    trainer.network.train()
    n_drawn = config.n_drawn(task.n_examples)
    # As costly as what is drawn, not as what there is: of pairs there are many times more.
    drawn = trainer.rng.choice(task.n_examples, n_drawn, replace=False)
    order = torch.from_numpy(drawn).to(task.index_device)
    step.begin_epoch()
    for examples in _batches(order, config.batch_size, step.takes_one_size):
        trainer.set_rates(rates[trainer.n_steps])
        step(examples)
        trainer.n_steps += 1
        trainer.average.follow(trainer.n_steps)
    return float(step.total) / step.n_seen


def _batches(order: Tensor, size: int, of_one_size: bool) -> list[Tensor]:
    """Part examples into batches; one left over joins the last, since some layers need two.

    Where a step takes batches of one size, the last is filled up with the first examples.
    """
    if of_one_size and len(order) > size:
        n_short = -len(order) % size
        return list(torch.split(torch.cat([order, order[:n_short]]), size))
    batches = list(torch.split(order, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _learning_rates(n_examples: int, config: TrainingConfig) -> Tensor:
    """Return the rate of every step, as a share of the highest."""
    n_steps = config.max_epochs * math.ceil(config.n_drawn(n_examples) / config.batch_size)
    if config.schedule == "linear":
        return 1 - torch.arange(n_steps, device=config.device) / n_steps
    n_rising = max(1, round(config.warm_up * n_steps))
    steps = np.arange(n_steps)
    falling = 0.5 * (1 + np.cos(np.pi * (steps - n_rising) / max(1, n_steps - n_rising)))
    heights = np.where(steps < n_rising, (steps + 1) / n_rising, falling)
    return torch.tensor(heights, dtype=torch.float32, device=config.device)


def _refuse_nan(loss: float, epoch: int) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The loss became {loss} in epoch {epoch} of training. Lower learning_rate, or "
            "look for extreme values in X."
        )


def _threads_for(
    network: nn.Module, task: Task, config: TrainingConfig
) -> AbstractContextManager[None]:
    if torch.device(config.device).type != "cpu":
        return nullcontext()  # counting the work takes longer than it could save
    return threads_for(step_flops(network, task, config.batch_size))


def _try_convolutions() -> Callable[[], object]:
    """Have cuDNN try a few of its convolutions once for each shape, and take the fastest.

    On an H200 steps are as fast after three as after the usual ten, and the first fit of a process
    came 4.7 s sooner (one process each, the first with a colder disk).
    """
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.benchmark_limit
    cudnn.benchmark, cudnn.benchmark_limit = True, N_TRIED

    def give_back() -> None:
        cudnn.benchmark, cudnn.benchmark_limit = before

    return give_back


_fastest_convolutions = SharedSetting(_try_convolutions)
