"""As many of torch's threads as a computation can use, on a CPU; the process's own are left alone.

A small computation is over before a second thread has begun to help, and threads that wait for one
another on a busy machine made such steps 25 times slower in a trial. So the count follows the work.
`torch.set_num_threads` would change it for the whole process, and for good where two fits run side
by side; OpenMP's own count belongs to the thread that asks.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import torch
from threadpoolctl import ThreadpoolController
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from twofold._core.uncompiled import uncompiled
from twofold.regression._task import Task

FLOPS_A_THREAD = 1e9
"""Work that occupies one thread for some 20 ms."""

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def threads_for(n_flops: float) -> Iterator[None]:
    """Have torch use no more threads inside than operations of this size pay for.

    Holds for the thread that asks, and not over a `yield`: blocks have to end in the order in which
    they began.
    """
    # Asked first: torch settles the count of a new thread when it is first asked for.
    allowed = torch.get_num_threads()
    n_threads = max(1, min(allowed, round(min(n_flops / FLOPS_A_THREAD, allowed))))
    if _is_forked:
        n_threads = 1
    if n_threads == allowed:
        yield
        return
    with _openmp().limit(limits=n_threads):
        yield


@contextmanager
def threads_beside(n_others: int) -> Iterator[None]:
    """Have torch leave so many processors to threads that compute something else meanwhile.

    Threads of OpenMP that share a processor with others make each other wait in every operation.
    Holds for the thread that asks.
    """
    with _openmp().limit(limits=max(1, torch.get_num_threads() - n_others)):
        yield


def survives_fork(method: Callable[P, R]) -> Callable[P, R]:
    """Have a method run on one thread in a forked child, where it would wait for ever.

    The threads that OpenMP had in the parent are not there in the child, and it does not know.
    """

    @functools.wraps(method)
    def on_one_thread(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _is_forked:
            return method(*args, **kwargs)
        with threads_for(0):
            return method(*args, **kwargs)

    return on_one_thread


_is_forked = False


def _note_fork() -> None:
    global _is_forked
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@functools.cache
def _openmp() -> Any:
    """Return the OpenMP libraries of this process, torch's among them."""
    return ThreadpoolController().select(user_api="openmp")


def step_flops(network: nn.Module, task: Task, batch_size: int) -> float:
    """Count the work of a step from that of one example; going back costs twice going forth."""
    n_tried = min(2, task.n_examples)
    examples = torch.arange(n_tried, device=task.index_device)
    network.eval()
    with _FlopCount() as count, torch.no_grad():
        task.loss(network, examples)
    return 3 * float(count.total) / n_tried * min(batch_size, task.n_examples)


class _FlopCount(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what this thread computes; torch's own counter hooks into the networks of all."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0.0

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = operation(*args, **(kwargs or {}))
        count = flop_registry.get(operation._overloadpacket)
        if count is not None:
            self.total += count(*args, **(kwargs or {}), out_val=result)
        return result


_FlopCount.__torch_dispatch__ = uncompiled(_FlopCount.__torch_dispatch__)  # type: ignore[method-assign]
