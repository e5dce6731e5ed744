"""As many threads as a training step can use, on a CPU.

A small step is over before a second thread has begun to help, and threads that wait for one another
on a busy machine made such steps 25 times slower in a trial. So the count follows the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from twofold.regression._task import Task

FLOPS_A_THREAD = 1e9
"""Work of one step, forward and back, that occupies one thread for some 20 ms."""


@contextmanager
def fitting_threads(network: nn.Module, task: Task, batch_size: int) -> Iterator[None]:
    """Have torch use no more threads inside than a step of this size pays for."""
    allowed = torch.get_num_threads()
    n_threads = _n_threads(_step_flops(network, task, batch_size), allowed)
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(allowed)


def _n_threads(flops: float, allowed: int) -> int:
    return max(1, min(allowed, round(flops / FLOPS_A_THREAD)))


def _step_flops(network: nn.Module, task: Task, batch_size: int) -> float:
    """Count the work of a step from that of one example; going back costs twice going forth."""
    n_tried = min(2, task.n_examples)
    examples = torch.arange(n_tried, device=task.index_device)
    network.eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        task.loss(network, examples)
    forward = float(counter.get_total_flops()) / n_tried
    return 3 * forward * min(batch_size, task.n_examples)
