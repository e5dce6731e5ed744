"""How a fit goes on when statements, and items, arrive later; or without some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._fitting import (
    Fit,
    fit_once,
    fit_plan,
    regressed_fit,
    selected_fit,
    state_problem,
)
from twofold.estimators._plan import Plan
from twofold.estimators._training_data import TrainingData
from twofold.feedback import Selection, Watch, refit
from twofold.regression import (
    Embedder,
    FittedEmbedder,
    NetworkEmbedder,
    OutputScale,
    TrainingConfig,
    as_numbers,
    fit_embedder,
    refresh_embedder,
)
from twofold.relations import PairRelation, TripletRelation
from twofold.targets import solve_targets, standardise_targets

SHARE_OF_TRAINING = 0.1
"""Of the epochs and of the learning rate, for a network that goes on from what it has learnt. On
digits, 5 seeds, five times 40 pairs after 2,400: targets solved once keep AUROC .911 of .911, and
come to .904 with three times the rate, to .893 with three times both."""


def update_fit(
    plan: Plan,
    embedder: Embedder,
    selection: Selection | None,
    data: TrainingData,
    rng: np.random.Generator,
    watch: Watch,
) -> Fit:
    """Go on from a fit with other statements, or more items; see `MetricLearner.update`."""
    if selection is None or selection.candidate == "network":
        return _go_on(plan, embedder, selection, data, rng, watch)
    if selection.is_outgrown_by(len(data.relation)):
        return fit_plan(plan, data.X, data.relation, rng, watch)
    problem = state_problem(plan, data.X, data.relation, rng, watch)
    return selected_fit(refit(problem, selection, plan.embedder), problem)


def refit_without(
    plan: Plan, selection: Selection | None, data: TrainingData, rng: np.random.Generator
) -> Callable[[PairRelation], NDArray[np.float32]] | None:
    """Return what fits the same candidate to some of the statements, and embeds all rows.

    None if the features were kept as given: they learnt from no statement.
    """
    if selection is not None and selection.candidate == "features as given":
        return None
    watch = Watch()

    def points(kept: PairRelation) -> NDArray[np.float32]:
        if selection is None:
            embedder = fit_once(plan, data.X, kept, rng, watch).embedder
        else:
            problem = state_problem(plan, data.X, kept, rng, watch)
            embedder = refit(problem, selection, plan.embedder).embedder
        is_network = isinstance(embedder, NetworkEmbedder)
        return embedder.predict(as_numbers(data.X) if is_network else data.X)

    return points


def _go_on(
    plan: Plan,
    embedder: Embedder,
    selection: Selection | None,
    data: TrainingData,
    rng: np.random.Generator,
    watch: Watch,
) -> Fit:
    """Solve the targets from where they are, and go on with the regression to them."""
    start = embedder.predict(data.X)
    was_linked = np.flatnonzero(np.isfinite(data.targets[:, 0]))
    start[was_linked] = data.targets[was_linked]
    statements, linked = data.relation, data.relation.linked
    follows: dict[str, Any] = {"margin": plan.targets.margin}
    if selection is not None:  # targets stay near where the features put them
        spread = float(np.sqrt(2 * start[linked].var(axis=0).sum())) or 1.0
        far = spread**2 if isinstance(statements, TripletRelation) else spread
        weight = statements.n_items / len(statements)
        margin = far * plan.targets.margin
        follows = {"margin": margin, "prior": start, "prior_weight": weight}
    solution = solve_targets(
        statements,
        start.shape[1],
        loss=plan.loss,
        init=start,
        device=plan.device,
        random_state=rng,
        callback=watch.on_targets,
        **follows,
    )
    fitted = _regress(plan, embedder, data, solution.points[linked], rng, watch)
    fit = regressed_fit(plan, solution, linked, fitted)
    return replace(fit, selection=selection)


def _regress(
    plan: Plan,
    embedder: Embedder,
    data: TrainingData,
    points: NDArray[np.float32],
    rng: np.random.Generator,
    watch: Watch,
) -> FittedEmbedder:
    """Have a network go on for a few epochs, or fit a regressor again."""
    items = np.flatnonzero(data.relation.linked)
    config = plan.embedder
    if isinstance(embedder, NetworkEmbedder) and isinstance(config, TrainingConfig):
        scale = embedder.output_scale or OutputScale(np.zeros(1, dtype=np.float32), 1.0)
        short = replace(
            config,
            max_epochs=max(1, round(SHARE_OF_TRAINING * config.max_epochs)),
            learning_rate=SHARE_OF_TRAINING * config.learning_rate,
        )
        targets = (points - scale.mean) / np.float32(scale.scale)
        return refresh_embedder(
            embedder, data.X, targets, short, rng, items=items, callback=watch.callback
        )
    targets, mean, scale_ = standardise_targets(points)
    return fit_embedder(
        plan.embedder, data.X, targets, rng, items=items, output_scale=OutputScale(mean, scale_)
    )
