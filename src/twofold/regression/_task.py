"""What a network is trained to do: the one thing that differs between methods."""

from __future__ import annotations

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

    def loss(self, network: nn.Module, examples: Tensor) -> Tensor:
        """Return the mean loss of `network` on some examples."""


def mean_loss(network: nn.Module, task: Task, batch_size: int = 4096) -> float:
    """Return a network's loss over all examples of a task, without training."""
    every = torch.arange(task.n_examples, device=task.index_device)
    with torch.inference_mode():
        parts = [task.loss(network, some) * len(some) for some in torch.split(every, batch_size)]
        return float(torch.stack(parts).sum()) / task.n_examples
