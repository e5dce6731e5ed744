"""Processes that torchrun started, joined by Lightning Fabric: DDP, and what is done once."""

from __future__ import annotations

import atexit
import functools
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from twofold._core.processes import ProcessPlace
from twofold.regression._draws import Draws
from twofold.regression._lost_workers import LONGEST_WAIT, losses_said, way_out_said
from twofold.regression._shared_batch_norm import batch_norm_of_all
from twofold.regression._shared_step import LossOfShare, SharedStep
from twofold.regression._task import Task
from twofold.regression._workers import alone

T = TypeVar("T")
SAME_NUMBER = 0.01
"""How near numbers are that processes compute of the same data, on a GPU in half precision."""


class FabricWorkers:
    """The processes of one run of torchrun; see `Workers`.

    Parameters
    ----------
    kind : {"cpu", "cuda"}
        Of the devices that train.
    place : ProcessPlace
        Of this process.
    """

    def __init__(self, kind: str, place: ProcessPlace) -> None:
        self.n_processes = place.n_processes
        self.rank, self.is_first = place.rank, place.is_first
        self._place = place
        self._kind = kind
        self._fabric = _fabric_of(kind, place, False)

    def once(self, compute: Callable[[], T], rng: np.random.Generator | None = None) -> T:
        """Return what the first process computes; see `Workers`."""
        if not self.is_first:
            return self._told(None, None, rng)  # type: ignore[return-value]
        try:
            with alone():
                value = compute()
        except Exception as error:
            return self._told(None, error, rng)  # type: ignore[return-value]
        return self._told(value, None, rng)

    def agreed(self, value: T, rng: np.random.Generator | None = None) -> T:
        """Return the first process's value; see `Workers`."""
        return self._told(value, None, rng)

    def _told(self, value: T, error: Exception | None, rng: np.random.Generator | None) -> T:
        """Return, or raise, what the first process has."""
        state = None if rng is None else rng.bit_generator.state
        with losses_said():
            value, error, state = self._fabric.broadcast((value, error, state))
        if error is not None:
            raise error
        if rng is not None:
            rng.bit_generator.state = state
        return value

    def hand_out(self, network: nn.Module) -> None:
        """Give all processes the weights of the first."""
        state = self.once(lambda: {k: v.cpu() for k, v in network.state_dict().items()})
        if not self.is_first:
            network.load_state_dict(state)

    def refuse_different(self, said: dict[str, Any]) -> None:
        """Raise in all processes if one was given something else to fit; see `Workers`."""
        of_first = self.agreed(said)
        other = [name for name in said if not _is_same(said[name], of_first.get(name))]
        differs = torch.zeros(self.n_processes)
        differs[self.rank] = bool(other)
        differs = self._sum(differs)
        if not differs.any():
            return
        which = f" ({other[0]}: {said[other[0]]}, and {of_first[other[0]]})" if other else ""
        raise ValueError(
            "Processes that train together must be given the same to fit, but process "
            f"{int(differs.nonzero()[0])} has something different from process 0{which}. Give "
            "each all of the data, in the same order, and the same parameters: batches are "
            "shared automatically."
        )

    @contextmanager
    def training(self, network: nn.Module | None, checkpoint: Path | None) -> Iterator[None]:
        """Share batch norm inside, and say what to do if another process dies."""
        shared = nullcontext() if network is None else batch_norm_of_all(network, self._sum)
        with way_out_said(checkpoint), shared:
            yield

    def _sum(self, values: Tensor) -> Tensor:
        with losses_said():
            total: Tensor = self._fabric.all_reduce(values, reduce_op="sum")
        return total

    def shared_step(
        self,
        network: nn.Module,
        task: Task,
        optimisers: Sequence[torch.optim.Optimizer],
        draws: Draws,
        device: str,
        is_own: bool,
    ) -> SharedStep:
        """Return a step that all processes take together; see `Workers`."""
        fabric = _fabric_of(self._kind, self._place, is_own)
        loss = LossOfShare(network, task, draws, is_own)
        return SharedStep(fabric, self._place, loss, optimisers, draws, device)


@functools.cache
def join(kind: str, place: ProcessPlace) -> FabricWorkers:
    """Return all processes, which are waited for the first time."""
    return FabricWorkers(kind, place)


def _launch(fabric: Any) -> None:
    """Join the processes, which are waited for, if they are not joined yet."""
    # What DDP says of layouts and of weights in use, neither of which a user can change here.
    for start in ("Grad strides do not match bucket view", "find_unused_parameters=True was"):
        warnings.filterwarnings("ignore", start)
    is_new = not torch.distributed.is_initialized()
    logger = logging.getLogger("lightning_fabric")
    level = logger.level
    logger.setLevel(logging.WARNING)  # a library does not print who has come
    try:
        with losses_said():
            fabric.launch()
    finally:
        logger.setLevel(level)
    if is_new and "nccl" in _backend():
        atexit.register(_leave)  # without which NCCL warns


def _leave() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _backend() -> str:
    has_nccl = torch.cuda.is_available() and torch.distributed.is_nccl_available()
    return "cpu:gloo,cuda:nccl" if has_nccl else "gloo"


@functools.cache
def _fabric_of(kind: str, place: ProcessPlace, is_own: bool) -> Any:
    """Return Fabric, launched; a user's own network may leave weights unused in a step."""
    try:
        from lightning_fabric import Fabric
        from lightning_fabric.plugins.environments import TorchElasticEnvironment
        from lightning_fabric.strategies import DDPStrategy
    except ImportError as error:
        raise ImportError(
            f"torchrun started {place.n_processes} processes, but training on them needs "
            f"{error.name}: pip install 'twofold[distributed]', or start one process."
        ) from error
    strategy = DDPStrategy(
        cluster_environment=TorchElasticEnvironment(),
        process_group_backend=_backend(),
        timeout=LONGEST_WAIT,
        find_unused_parameters=is_own,
    )
    n_machines = place.n_processes // place.n_here
    fabric = Fabric(accelerator=kind, strategy=strategy, devices=place.n_here, num_nodes=n_machines)
    _launch(fabric)
    return fabric


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=SAME_NUMBER)
    return bool(a == b)
