"""Processes that train one network together, this one among them; usually there is no other.

What is done once is done by the first and given to the others; batches are shared. Under torchrun
the processes are joined by Lightning Fabric.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from twofold.regression._draws import Draws
from twofold.regression._task import Task

T = TypeVar("T")


class Step(Protocol):
    """What moves the weights by a batch."""

    @property
    def takes_one_size(self) -> bool:
        """Whether all batches of an epoch should have one size."""

    def begin_epoch(self) -> None:
        """Count anew."""

    def __call__(self, examples: Tensor) -> None:
        """Move the weights by what some examples say."""

    def mean_loss(self) -> float:
        """Return the mean over the examples of the epoch; the device is waited for."""


class Workers(Protocol):
    """The processes that train together; all of them call the same methods in the same order."""

    @property
    def n_processes(self) -> int:
        """How many there are."""

    @property
    def rank(self) -> int:
        """Which of them this is, from 0."""

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that does what is done once."""

    def once(self, compute: Callable[[], T], rng: np.random.Generator | None = None) -> T:
        """Return what the first process computes, or raise what it raises.

        The state of its `rng` comes along, if it drew from that.
        """

    def agreed(self, value: T, rng: np.random.Generator | None = None) -> T:
        """Return the first process's value of what all have; `rng` as for `once`."""

    def hand_out(self, network: nn.Module) -> None:
        """Give all processes the weights of the first."""

    def refuse_different(self, said: dict[str, Any]) -> None:
        """Raise in all processes if one was given something else to fit than the first."""

    def training(
        self, network: nn.Module | None, checkpoint: Path | None
    ) -> AbstractContextManager[object]:
        """Train inside a network that is shared, or one that is not.

        Say where its training is kept if another process dies.
        """

    def shared_step(
        self,
        network: nn.Module,
        task: Task,
        optimisers: Sequence[torch.optim.Optimizer],
        draws: Draws,
        device: str,
        is_own: bool,
    ) -> Step:
        """Return a step that all processes take together."""


class OneWorker:
    """One process, which has nobody to agree with."""

    n_processes = 1
    rank = 0
    is_first = True

    def once(self, compute: Callable[[], T], rng: np.random.Generator | None = None) -> T:
        """Compute it."""
        return compute()

    def agreed(self, value: T, rng: np.random.Generator | None = None) -> T:
        """Return the value."""
        return value

    def hand_out(self, network: nn.Module) -> None:
        """There is no other."""

    def refuse_different(self, said: dict[str, Any]) -> None:
        """There is no other."""

    def training(
        self, network: nn.Module | None, checkpoint: Path | None
    ) -> AbstractContextManager[object]:
        """Do nothing."""
        return nullcontext()

    def shared_step(
        self,
        network: nn.Module,
        task: Task,
        optimisers: Sequence[torch.optim.Optimizer],
        draws: Draws,
        device: str,
        is_own: bool,
    ) -> Step:
        """There is nobody to share with."""
        raise AssertionError("one process shares no batch")


class _Here(threading.local):
    is_alone = False


_here = _Here()


@contextmanager
def alone() -> Iterator[None]:
    """Have what this thread trains inside trained by this process alone."""
    before, _here.is_alone = _here.is_alone, True
    try:
        yield
    finally:
        _here.is_alone = before


def is_alone() -> bool:
    """Whether this thread trains for itself."""
    return _here.is_alone
