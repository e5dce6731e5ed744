"""Adam over statements: the start, the loop, and when it is enough.

The gradient is the whole relation's, so that each epoch is one step and nothing is random after
the start.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold._core.threads import Workers
from twofold._core.warnings import warn_user
from twofold.relations import PairRelation
from twofold.targets._engine import AdamStep, Engine, Objective
from twofold.targets._engine_cpu import CpuEngine
from twofold.targets._engine_numpy import NumpyEngine
from twofold.targets._losses import TripletLoss, compares_by_dot
from twofold.targets._own_loss import BUILT_IN
from twofold.targets._solution import TargetSolution
from twofold.targets._threads import sweeping_threads
from twofold.targets._warm_start import random_points, warm_start

Callback = Callable[[int, float], bool | None]

# Chosen on 60,000 items with 1.2 M sampled pairs and on NUS-WIDE's labels: a full gradient has no
# noise to average out, so that short memories need half the epochs of the usual 0.9 and 0.999.
KEEP_FIRST = 0.5
KEEP_SECOND = 0.99
RATE_OF_MARGIN = 0.05
RATE_OF_DOT = 0.1
RATE_AFTER_RISE = 0.25
SETTLING_EPOCHS = 5
JITTER = 1e-4
"""Moves given points that coincide apart, which no gradient can."""
NEAR_ZERO = 1e-3
RANDOM_DOT_SIZE = 0.01
"""Of random points for the dot product, in lengths of the loss. From near 0 Adam first finds what
the statements have in common; from full size it bends the noise until it fits them, and unseen
pairs are left to chance (PubFig83's classes in 64 dimensions: 68 % of the targets' variance lies
inside the classes, 48 % from the small start)."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When Adam stops: see `solve_targets`."""

    max_epochs: int
    tol: float
    callback: Callback | None


def minimise(
    objective: Objective,
    dim: int,
    init: NDArray[np.float32] | Literal["random"] | None,
    device: str,
    rng: np.random.Generator,
    budget: Budget,
    began: float,
) -> TargetSolution:
    """Solve for targets by Adam; see `solve_targets`."""
    with sweeping_threads(objective, dim, device) as workers:

        def make_engine(start: NDArray[np.float32]) -> Engine:
            return _engine_on(device, objective, start, workers)

        engine = _placed_engine(make_engine, objective, dim, init, rng)
        history, converged = _descend(engine, objective, budget)
    return TargetSolution(
        table=engine.points(),
        which=None,
        loss=history[-1],
        history=np.array(history),
        n_epochs=len(history) - 1,
        converged=converged,
        seconds=time.perf_counter() - began,
        method="adam",
        device=device,
        n_threads=workers.n_threads,
    )


def _placed_engine(
    make_engine: Callable[[NDArray[np.float32]], Engine],
    objective: Objective,
    dim: int,
    init: NDArray[np.float32] | Literal["random"] | None,
    rng: np.random.Generator,
) -> Engine:
    """Return an engine whose points are Adam's first."""
    relation = objective.relation
    points = random_points(relation.n_items, dim, rng)
    given = objective.prior if init is None else init
    if given is not None and not isinstance(given, str):
        return make_engine(_moved_apart(given, points, objective))
    if init is None and isinstance(relation, PairRelation):
        assert not isinstance(objective.loss, TripletLoss)
        engine = make_engine(points)
        warm_start(engine, relation, objective.loss, points, rng)
    else:
        size = RANDOM_DOT_SIZE if compares_by_dot(objective.loss) else 1.0
        engine = make_engine(points * np.float32(size * objective.loss.length))
    engine.zero_unlinked()
    return engine


def _moved_apart(
    given: NDArray[np.float32], points: NDArray[np.float32], objective: Objective
) -> NDArray[np.float32]:
    """Move given points by a hair at random, and off 0 where the dot product has no slope.

    Items in no statement stay where they are.
    """
    points = points * objective.relation.linked[:, None]
    start = given + np.float32(JITTER * objective.loss.length) * points
    if compares_by_dot(objective.loss):
        at_zero = np.abs(given).max(axis=1) < NEAR_ZERO
        start[at_zero] = points[at_zero]
    return start


def _descend(engine: Engine, objective: Objective, budget: Budget) -> tuple[list[float], bool]:
    """Step until the loss settles; return its history and whether it did.

    A step that raises the loss is taken back, and Adam goes on from there without its momentum and
    at a lower rate, so that the loss never rises and the last points are the best.
    """
    rate = objective.loss.length * (
        RATE_OF_DOT if compares_by_dot(objective.loss) else RATE_OF_MARGIN
    )
    step = AdamStep(rate, KEEP_FIRST, KEEP_SECOND, epoch=1)
    history = [_finite(engine.sweep(step), epoch=0)]
    least_fall = 0.0
    for epoch in range(budget.max_epochs + 1):
        if budget.callback is not None and budget.callback(epoch, history[-1]):
            return history, False
        if epoch == SETTLING_EPOCHS and budget.tol:  # not sooner: it takes half an epoch
            least_fall = budget.tol * (objective.loss_at_zero or history[0])
        if _has_settled(history, least_fall):
            return history, True
        if epoch == budget.max_epochs:
            break
        # A sweep gives the loss at the present points together with the next ones.
        engine.advance()
        step = replace(step, epoch=step.epoch + 1)
        loss = _finite(engine.sweep(step), epoch + 1)
        if loss > history[-1]:
            engine.retreat()
            step = replace(
                step,
                rate=step.rate * RATE_AFTER_RISE,
                epoch=step.epoch + 1,
                forgotten=step.epoch,
            )
            loss = engine.sweep(step)
        history.append(min(loss, history[-1]))
    warn_user(
        f"The targets' loss was still falling after max_epochs={budget.max_epochs} "
        f"({history[-1]:.3g} from {history[0]:.3g}). Raise max_epochs or tol.",
        ConvergenceWarning,
    )
    return history, False


def _finite(loss: float, epoch: int) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The targets' loss became {loss} in epoch {epoch}. Check init, prior and margin for "
            "very large numbers."
        )
    return loss


def _has_settled(history: list[float], least_fall: float) -> bool:
    """Whether the last epochs together lowered the loss by no more than `least_fall`."""
    if history[-1] == 0:
        return True
    if len(history) <= SETTLING_EPOCHS:
        return False
    return history[-1 - SETTLING_EPOCHS] - history[-1] <= least_fall


def _engine_on(
    device: str, objective: Objective, start: NDArray[np.float32], workers: Workers
) -> Engine:
    if not isinstance(objective.loss, (*BUILT_IN, TripletLoss)):
        return NumpyEngine(objective, start)
    if device == "cpu":
        return CpuEngine(objective, start, workers)
    # Imported where it is used: torch takes a second to load.
    from twofold.targets._engine_torch import TorchEngine

    return TorchEngine(objective, start, device)
