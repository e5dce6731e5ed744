"""As many threads as a computation can use, on a CPU.

A small computation is over before a second thread has begun to help, and threads that wait for one
another on a busy machine made such steps 25 times slower in a trial. So the count follows the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from twofold.regression._task import Task

FLOPS_A_THREAD = 1e9
"""Work that occupies one thread for some 20 ms."""


@contextmanager
def threads_for(n_flops: float) -> Iterator[None]:
    """Have torch use no more threads inside than operations of this size pay for."""
    allowed = torch.get_num_threads()
    torch.set_num_threads(max(1, min(allowed, round(n_flops / FLOPS_A_THREAD))))
    try:
        yield
    finally:
        torch.set_num_threads(allowed)


def step_flops(network: nn.Module, task: Task, batch_size: int) -> float:
    """Count the work of a step from that of one example; going back costs twice going forth."""
    n_tried = min(2, task.n_examples)
    examples = torch.arange(n_tried, device=task.index_device)
    network.eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        task.loss(network, examples)
    forward = float(counter.get_total_flops()) / n_tried
    return 3 * forward * min(batch_size, task.n_examples)
