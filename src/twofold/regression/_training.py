"""The training loop: one network, one task, minibatches; the only loop in Twofold.

A task says what an example is and what the network loses on some of them. Regression to targets is
one; the rivals that train on pairs bring their own, so that a comparison differs in nothing else.
"""

from __future__ import annotations

import copy
import hashlib
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from twofold._core.shared_setting import SharedSetting
from twofold.regression._averaging import WeightAverage
from twofold.regression._checkpoint import Checkpoint, Progress, Trainer
from twofold.regression._draws import Draws, drawing_from
from twofold.regression._joining import workers
from twofold.regression._optimisers import make_optimisers
from twofold.regression._steps import training_step
from twofold.regression._task import Task
from twofold.regression._threads import step_flops, threads_for
from twofold.regression._training_config import (
    Callback,
    Epoch,
    TrainingConfig,
    TrainingHistory,
)
from twofold.regression._workers import Step, Workers

N_TRIED = 3


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
    together = workers(config.device)
    is_shared = together.n_processes > 1 and task.adds_up
    if together.n_processes > 1:
        _begin_alike(together, network, task, config, rng)
    draws = Draws(rng, config.device, lends=config.name is None, is_shared=is_shared)
    optimisers = make_optimisers(
        network, config.optimiser, config.learning_rate, config.weight_decay, config.device
    )
    rates = _learning_rates(task.n_examples, config)
    average = WeightAverage(network, len(rates), config.averaged)
    trainer = Trainer(network, optimisers, rng, draws, average)
    with (
        together.training(network if is_shared else None, checkpoint),
        drawing_from(network, draws.generator),
        _threads_for(network, task, config),
        _fastest_convolutions,
    ):
        kept = together.once(lambda: _open_checkpoint(checkpoint, network, task, config))
        done = Progress()
        if kept is not None:
            done = kept.take_up(together.once(kept.read), trainer)
        step = _step_of(trainer, task, config, together if is_shared else None)
        for number in range(done.n_done + 1, config.max_epochs + 1):
            began = time.perf_counter()
            task.begin_epoch(number)
            epoch = partial(_one_epoch, trainer, step, rates, task, config)
            loss = epoch() if is_shared else together.once(epoch, rng)
            done.seconds += time.perf_counter() - began
            _refuse_nan(loss, number)
            done.n_done = number
            done.losses.append(loss)
            network.eval()
            if validate is not None:
                _note_validation(done, together.once(partial(validate, network)), network)
            if callback is not None:
                report = _report(done, config, network)
                if together.once(partial(_is_stopped_by, callback, report)):
                    break
            if kept is not None and together.is_first:
                kept.keep(trainer, done)
    if done.best_weights is None:
        average.settle()
    else:
        network.load_state_dict(done.best_weights)
    network.eval()
    together.hand_out(network)
    if kept is not None and together.is_first:
        kept.remove()
    best = done.best_epoch or done.n_done
    return TrainingHistory(done.losses, done.validation_losses, best, done.seconds)


def _step_of(
    trainer: Trainer, task: Task, config: TrainingConfig, together: Workers | None
) -> Step:
    """Return what takes a step: shared with other processes, or this one's alone."""
    network, optimisers, draws = trainer.network, trainer.optimisers, trainer.draws
    is_own = config.name is None
    if together is not None:
        draws.lend_otherwise(together.rank)
        return together.shared_step(network, task, optimisers, draws, config.device, is_own)
    return training_step(
        network,
        task,
        optimisers,
        draws,
        min(config.batch_size, config.n_drawn(task.n_examples)),
        config.device,
        may_record=not is_own,  # which may decide as it goes
    )


def _open_checkpoint(
    path: Path | None, network: nn.Module, task: Task, config: TrainingConfig
) -> Checkpoint | None:
    if path is None:
        return None
    first_loss = _first_loss(network, task, config.batch_size)
    return Checkpoint(path, _described(task, config), network, first_loss)


def _described(task: Task, config: TrainingConfig) -> dict[str, Any]:
    """Return what tells a training from others, as JSON takes it: the same on any card."""
    kind = torch.device(config.device).type
    training = asdict(replace(config, architecture=config.name or "own", device=kind))
    return training | {"n_examples": task.n_examples}


def _digest(rng: np.random.Generator) -> str:
    """Return some letters that tell the state of a generator."""
    return hashlib.sha256(repr(rng.bit_generator.state).encode()).hexdigest()[:8]


def _begin_alike(
    together: Workers,
    network: nn.Module,
    task: Task,
    config: TrainingConfig,
    rng: np.random.Generator,
) -> None:
    """Give processes the same weights; refuse those that would train different things."""
    together.refuse_different(_described(task, config) | {"random_state": _digest(rng)})
    together.hand_out(network)
    first_loss = _first_loss(network, task, config.batch_size)
    together.refuse_different({"loss before training": first_loss})


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


def _is_stopped_by(callback: Callback, epoch: Epoch) -> bool:
    answer = callback(epoch)
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _one_epoch(
    trainer: Trainer,
    step: Step,
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
    return step.mean_loss()


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
