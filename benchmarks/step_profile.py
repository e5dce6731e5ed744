"""A training step of "fast-conv" on one GPU: its time, by kernels of our own or torch's, and where.

Images are noise: what they show makes no difference to the time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.figures import Figure
from twofold import MetricLearner
from twofold.regression import Network, _norm_gelu, _pooling
from twofold.regression._expected_target import LikelihoodTask

TITLE = "A training step of fast-conv on one GPU, and which kernels take its time"
N_STEPS, BATCH = 45, 1024
FEW, MANY, RUNS = 2, 6, 3
N_KERNELS = 25
SETTING = {
    "a step": f"the difference between {MANY} and {FEW} epochs of {N_STEPS} batches of {BATCH:,} "
    f"images of 3 × 32 × 32, the least of {RUNS} runs each",
    "kernels": f"the {N_KERNELS} that take most time in three epochs, by torch's profiler",
}


def why_not() -> str | None:
    return None if torch.cuda.is_available() else "torch sees no CUDA device"


def measure() -> list[Figure]:
    warnings.simplefilter("ignore")
    images = np.random.default_rng(0).integers(0, 256, (N_STEPS * BATCH, 3, 32, 32), np.uint8)
    ways = {
        "our kernels": ExitStack,
        "torch's norm and GELU, our pooling": lambda: _torch_instead(pooling=False),
        "torch.compile": _compiled,
    }
    figures = []
    for called, way in ways.items():
        with way():
            began = time.perf_counter()
            _fit(images, 1)
            first = time.perf_counter() - began
            few, many = (min(_fit(images, n)[0] for _ in range(RUNS)) for n in (FEW, MANY))
            step = (many - few) / (MANY - FEW) / N_STEPS
            note = f"the first fit {first:.1f} s"
            figures.append(Figure(f"{called}: milliseconds a step", 1000 * step, note=note))
    whole, timing = _fit(images, MANY)
    ratio = whole / sum(timing.values())
    figures.append(Figure(f"whole fit over training, {MANY} epochs", ratio, 1.3, at_least=False))
    return figures + _kernels(images)


def _fit(images: np.ndarray[Any, Any], n_epochs: int) -> tuple[float, dict[str, float]]:
    network = Network("fast-conv", max_epochs=n_epochs, augment="photographs", batch_size=BATCH)
    learner = MetricLearner(16, embedder=network, metric="seen", random_state=0)
    began = time.perf_counter()
    learner.fit(images, np.arange(len(images)) % 10)
    torch.cuda.synchronize()
    return time.perf_counter() - began, learner.timing_


@contextmanager
def _torch_instead(pooling: bool) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(patch.object(_norm_gelu, "_fused_norm", lambda: None))
        if pooling:
            stack.enter_context(patch.object(_pooling, "_fused_pooling", lambda: None))
        yield


@contextmanager
def _compiled() -> Iterator[None]:
    """Have torch's compiler make the kernels of the network, forward and backward."""
    made: dict[int, Any] = {}
    plain = nn.Sequential.__getitem__

    def compiled(network: nn.Sequential, place: Any) -> Any:
        """Return the network before its last layer compiled, where it is trained."""
        part = plain(network, place)
        if place != slice(None, -1) or not network.training:
            return part
        if id(network) not in made:
            made.clear()
            made[id(network)] = torch.compile(part, dynamic=False)
        return made[id(network)]

    loss = LikelihoodTask.loss

    def of_compiled(
        self: LikelihoodTask, network: nn.Module, examples: Tensor, generator: Any = None
    ) -> Tensor:
        with patch.object(type(network), "__getitem__", compiled):
            return loss(self, network, examples, generator)

    with _torch_instead(pooling=True), patch.object(LikelihoodTask, "loss", of_compiled):
        yield


def _kernels(images: np.ndarray[Any, Any]) -> list[Figure]:
    n_epochs = 3
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        _fit(images, n_epochs)
    found = sorted(profile.key_averages(), key=lambda event: -event.self_device_time_total)
    return [
        Figure(
            f"{event.key[:80]}: milliseconds a step",
            event.self_device_time_total / 1000 / n_epochs / N_STEPS,
            note=f"{event.count / n_epochs / N_STEPS:.1f} a step",
        )
        for event in found[:N_KERNELS]
    ]
