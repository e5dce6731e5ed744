"""One step of a training that processes share: each its part of the batch, one gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from twofold._core.processes import ProcessPlace
from twofold.regression._draws import Draws
from twofold.regression._lost_workers import losses_said
from twofold.regression._shares import SharedGenerator, share_of
from twofold.regression._task import Task


class LossOfShare(nn.Module):
    """A task's loss as a module, so that DDP sees all weights that it goes through.

    Parameters
    ----------
    network : nn.Module
        That learns.
    task : Task
        Whose loss it is.
    draws : Draws
        Shared, and told which share of a batch is next.
    is_own : bool
        Whether the network is a user's own: what it keeps beside weights is then the first
        process's in every step. All else that Twofold's keep is the same in all anyway.
    """

    def __init__(self, network: nn.Module, task: Task, draws: Draws, is_own: bool) -> None:
        super().__init__()
        assert isinstance(draws.generator, SharedGenerator)
        self.task = task
        self._generator = draws.generator
        self._network = [network]
        if is_own:
            self.network = network
        else:
            self.weights = nn.ParameterList(network.parameters())

    def forward(self) -> Tensor:
        """Return the mean loss of this process's share, which DDP would move if it were passed."""
        share = self._generator.share
        assert share is not None
        return self.task.loss(self._network[0], share.examples, self._generator)


class SharedStep:
    """A step that is taken by all processes at once; see `EagerStep` for what one alone does.

    A process's mean loss counts as many times as it has examples, so that gradients are those of
    the whole batch however it is parted. DDP averages them while they are still computed.

    Parameters
    ----------
    fabric : Fabric
        That joins the processes.
    place : ProcessPlace
        Of this process.
    loss : LossOfShare
        Of the network.
    optimisers, draws, device
        As for `EagerStep`; `draws` are shared.
    """

    def __init__(
        self,
        fabric: Any,
        place: ProcessPlace,
        loss: LossOfShare,
        optimisers: Sequence[torch.optim.Optimizer],
        draws: Draws,
        device: str,
    ) -> None:
        assert isinstance(draws.generator, SharedGenerator)
        # As the recorded step of one process would have it, so that batches are the same.
        self.takes_one_size = loss.task.index_device.type == "cuda" and loss.task.is_recordable
        self._fabric, self._place = fabric, place
        self._optimisers = optimisers
        self._draws, self._generator = draws, draws.generator
        self._kind = torch.device(device).type
        self._sum = torch.zeros((), device=device)
        self._n_seen = 0
        with losses_said():
            self._loss = fabric.setup_module(loss, move_to_device=False)

    def begin_epoch(self) -> None:
        """Count anew."""
        self._sum.zero_()
        self._n_seen = 0

    def __call__(self, examples: Tensor) -> None:
        """Move the weights by what a batch says, the same in all processes."""
        self._n_seen += len(examples)
        share = share_of(examples, self._place.rank, self._place.n_processes)
        self._generator.share = share
        for optimiser in self._optimisers:
            optimiser.zero_grad(set_to_none=True)
        with losses_said(), self._draws.lent():
            with torch.autocast(self._kind, dtype=torch.bfloat16, enabled=self._kind == "cuda"):
                loss: Tensor = self._loss()
            self._fabric.backward(loss * share.weight(self._place.n_processes))
        for optimiser in self._optimisers:
            optimiser.step()
        self._sum += loss.detach() * share.n_counted

    def mean_loss(self) -> float:
        """Return the mean over the examples of the epoch, of all processes."""
        with losses_said():
            return float(self._fabric.all_reduce(self._sum.clone(), reduce_op="sum")) / self._n_seen
