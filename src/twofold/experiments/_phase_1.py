"""Phase 1 on its own, timed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators import MetricLearner
from twofold.experiments._examples import empty_rows_unsaid
from twofold.experiments._methods import Method, RunConfig
from twofold.experiments._paper import N_PHASE_1, Protocol


def time_phase_1(
    protocol: Protocol, method: Method, labels: NDArray[Any], device: str
) -> tuple[float, ...]:
    """Return the seconds of phase 1, several times, each with its own pairs.

    The sampling of pairs is counted in. Empty for a method that has no phase 1.
    """
    learner = method.make(RunConfig(protocol, len(labels), 0, device))
    if not isinstance(learner, MetricLearner):
        return ()
    seconds = []
    with empty_rows_unsaid():
        for seed in range(N_PHASE_1 + 1):
            began = time.perf_counter()
            learner.set_params(random_state=seed).solve_targets(labels)
            seconds.append(time.perf_counter() - began)
    return tuple(seconds[1:])  # the first compiles


def mean_seconds(seconds: tuple[float, ...]) -> float:
    """Return their mean, 0 if there are none."""
    return float(np.mean(seconds)) if seconds else 0.0
