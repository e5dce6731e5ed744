"""One step of training: some examples in, the weights moved.

On a GPU a small network's step is dozens of kernels of a few microseconds, which take far longer to
launch one by one than to run. So a step that is always the same kernels is recorded once as a CUDA
graph and replayed: one launch a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from twofold.regression._draws import Draws
from twofold.regression._task import Task

N_EAGER = 3
"""Steps taken before recording, in which libraries choose their algorithms and allocate."""


class EagerStep:
    """A step as it is written.

    Attributes
    ----------
    total : Tensor, scalar on the device
        The sum of the losses of all examples of the epoch.
    n_seen : int
        How many these are.
    draws : Draws
        What is random in it.
    """

    def __init__(
        self,
        network: nn.Module,
        task: Task,
        optimisers: Sequence[torch.optim.Optimizer],
        draws: Draws,
        device: str,
    ) -> None:
        self.total = torch.zeros((), device=device)
        self.n_seen = 0
        self.draws = draws
        self._network = network
        self._task = task
        self._optimisers = optimisers
        self._kind = torch.device(device).type

    takes_one_size = False

    def begin_epoch(self) -> None:
        """Count anew."""
        self.total.zero_()
        self.n_seen = 0

    def mean_loss(self) -> float:
        """Return the mean over the examples of the epoch; the device is waited for."""
        return float(self.total) / self.n_seen

    def __call__(self, examples: Tensor) -> None:
        """Move the weights by what some examples say."""
        self.n_seen += len(examples)
        for optimiser in self._optimisers:
            optimiser.zero_grad(set_to_none=True)
        with self.draws.lent():
            with torch.autocast(self._kind, dtype=torch.bfloat16, enabled=self._kind == "cuda"):
                loss = self._task.loss(self._network, examples, self.draws.generator)
            loss.backward()  # type: ignore[no-untyped-call]
        for optimiser in self._optimisers:
            optimiser.step()
        self.total += loss.detach() * len(examples)


class RecordedStep:
    """The same step, recorded for batches of one size; those of another are taken eagerly."""

    takes_one_size = True

    def __init__(self, eager: EagerStep, batch_size: int, device: str) -> None:
        self._eager = eager
        self._examples = torch.zeros(batch_size, dtype=torch.int64, device=device)
        self._n_eager = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def total(self) -> Tensor:
        """The sum of the losses of all examples of the epoch."""
        return self._eager.total

    @property
    def n_seen(self) -> int:
        """How many these are."""
        return self._eager.n_seen

    def begin_epoch(self) -> None:
        """Count anew."""
        self._eager.begin_epoch()

    def mean_loss(self) -> float:
        """Return the mean over the examples of the epoch; the device is waited for."""
        return self._eager.mean_loss()

    def __call__(self, examples: Tensor) -> None:
        """Move the weights by what some examples say."""
        if len(examples) != len(self._examples) or self._n_eager < N_EAGER:
            self._n_eager += 1
            self._eager(examples)
            return
        self._examples.copy_(examples)
        # What is recorded, and replayed, is the work of the current device.
        with torch.cuda.device(self._examples.device):
            if self._graph is None:
                n_seen = self._eager.n_seen
                self._graph = self._record()
                self._eager.n_seen = n_seen
            self._graph.replay()
        self._eager.n_seen += len(examples)

    def _record(self) -> torch.cuda.CUDAGraph:
        """Record a step without taking it."""
        graph = torch.cuda.CUDAGraph()
        # So that every replay draws anew, and goes on where the last one ended.
        graph.register_generator_state(self._eager.draws.generator)
        # Threads of other work on the device must not spoil the recording.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._eager(self._examples)
        return graph


def training_step(
    network: nn.Module,
    task: Task,
    optimisers: Sequence[torch.optim.Optimizer],
    draws: Draws,
    batch_size: int,
    device: str,
    may_record: bool,
) -> EagerStep | RecordedStep:
    """Return what takes a step: recorded on a GPU that holds all the features, if it may be."""
    eager = EagerStep(network, task, optimisers, draws, device)
    if may_record and task.index_device.type == "cuda" and task.is_recordable:
        return RecordedStep(eager, batch_size, device)
    return eager
