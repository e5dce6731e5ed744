"""What a network is trained to do: the one thing that differs between methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn


class Task(Protocol):
    """Examples by number, and what a network loses on some of them."""

    @property
    def n_examples(self) -> int:
        """How many examples one epoch sees."""

    @property
    def index_device(self) -> torch.device:
        """Where the numbers of examples have to lie."""

    @property
    def is_recordable(self) -> bool:
        """Whether its loss is the same kernels every time, without waiting for the device."""

    @property
    def adds_up(self) -> bool:
        """Whether a batch's loss is the mean of its examples' own: processes can then share it."""

    def begin_epoch(self, number: int) -> None:
        """Be told that an epoch begins, counted from 1: images may take turns in what is done."""

    def loss(
        self, network: nn.Module, examples: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the mean loss of `network` on some examples.

        With a generator, on the device that trains, it is a loss to learn from: what is drawn for
        it, as which images are mirrored, is drawn by that. Without one nothing is random.
        """


def validation_loss(task: Task | None, batch_size: int) -> Callable[[nn.Module], float] | None:
    """Return what gives a network's loss over all examples of a task; None without a task."""
    if task is None:
        return None

    def mean_loss(network: nn.Module) -> float:
        every = torch.arange(task.n_examples, device=task.index_device)
        with torch.inference_mode():
            # Without gradients to keep, four times as many fit.
            some = torch.split(every, 4 * batch_size)
            losses = [task.loss(network, examples) * len(examples) for examples in some]
            return float(torch.stack(losses).sum()) / task.n_examples

    return mean_loss
