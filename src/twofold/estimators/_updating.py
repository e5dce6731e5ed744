"""How a fit continues when statements and items arrive later; or without some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._fitting import Fit, Fitting, regressed_fit, selected_fit
from twofold.estimators._training_data import TrainingData
from twofold.feedback import Selection, refit, refit_parts
from twofold.regression import (
    Embedder,
    FittedEmbedder,
    NetworkEmbedder,
    OutputScale,
    TrainingConfig,
    alone,
    as_numbers,
    fit_embedder,
    refresh_embedder,
    take_rows,
)
from twofold.relations import PairRelation, TripletRelation
from twofold.targets import solve_targets, standardise_targets

SHARE_OF_TRAINING = 0.2
"""Of the epochs and of the learning rate, for a network that goes on from what it has learnt. On
digits, 5 seeds, targets solved once: from 176 to 1,760 pairs in nine updates AUROC .862 with 0.1,
.908 with 0.2, .915 with 0.3; from 2,400 to 2,600 in five .911, .903 and .893."""


def update_fit(
    fitting: Fitting, embedder: Embedder, selection: Selection | None, data: TrainingData
) -> Fit:
    """Go on from a fit with other statements, or more items; see `MetricLearner.update`."""
    if selection is None or selection.candidate == "network":
        return replace(_go_on(fitting, embedder, selection, data), selection=selection)
    if selection.is_outgrown_by(len(data.relation)):
        return fitting.fit(data.X, data.relation)

    def refitted() -> Fit:
        problem = fitting.problem(data.X, data.relation)
        return selected_fit(refit(problem, selection, fitting.plan.embedder), problem)

    return fitting.selected_once(refitted)


def refit_without(
    fitting: Fitting, selection: Selection | None, data: TrainingData
) -> Callable[[PairRelation, NDArray[np.int64]], NDArray[np.float32]] | None:
    """Return what fits the same candidate to some of the statements, and embeds some rows.

    None if the features were kept as given: they learnt from no statement.
    """
    if selection is not None and selection.candidate == "features as given":
        return None
    if selection is not None:
        problem = fitting.problem(data.X, data.relation)
        fit_part = refit_parts(problem, selection, fitting.plan.embedder)

    @alone()  # who asks for it may be one of several processes
    def points(kept: PairRelation, items: NDArray[np.int64]) -> NDArray[np.float32]:
        if selection is not None:
            return fit_part(kept.take(problem.items)).points(items)
        embedder = fitting.fit_once(data.X, kept).embedder
        is_network = isinstance(embedder, NetworkEmbedder)
        rows = take_rows(data.X, items)
        return embedder.predict(as_numbers(rows) if is_network else rows)

    return points


def _go_on(
    fitting: Fitting, embedder: Embedder, selection: Selection | None, data: TrainingData
) -> Fit:
    """Solve the targets from where they are, and go on with the regression to them."""
    plan, statements, linked = fitting.plan, data.relation, data.relation.linked
    start = embedder.predict(data.X)
    was_linked = np.flatnonzero(np.isfinite(data.targets[:, 0]))
    start[was_linked] = data.targets[was_linked]
    follows: dict[str, Any] = {"margin": plan.targets.margin}
    if selection is not None:  # targets stay near where the features put them
        spread = float(np.sqrt(2 * start[linked].var(axis=0).sum())) or 1.0
        far = spread**2 if isinstance(statements, TripletRelation) else spread
        weight = statements.n_items / len(statements)
        margin = far * plan.targets.margin
        follows = {"margin": margin, "prior": start, "prior_weight": weight}
    solution = fitting.once(
        lambda: solve_targets(
            statements,
            start.shape[1],
            loss=plan.loss,
            init=start,
            device=plan.device,
            random_state=fitting.rng,
            callback=fitting.watch.on_targets,
            **follows,
        )
    )
    fitted = _regress(fitting, embedder, data, solution.points[linked])
    return regressed_fit(plan, solution, linked, fitted)


def _regress(
    fitting: Fitting, embedder: Embedder, data: TrainingData, points: NDArray[np.float32]
) -> FittedEmbedder:
    """Have a network go on for a few epochs, or fit a regressor again."""
    config, rng, items = fitting.plan.embedder, fitting.rng, np.flatnonzero(data.relation.linked)
    if isinstance(embedder, NetworkEmbedder) and isinstance(config, TrainingConfig):
        scale = embedder.output_scale or OutputScale(np.zeros(1, dtype=np.float32), 1.0)
        short = replace(
            config,
            max_epochs=max(1, round(SHARE_OF_TRAINING * config.max_epochs)),
            learning_rate=SHARE_OF_TRAINING * config.learning_rate,
        )
        targets = (points - scale.mean) / np.float32(scale.scale)
        callback = fitting.watch.callback
        return refresh_embedder(
            embedder, data.X, targets, short, rng, items=items, callback=callback
        )
    targets, mean, size = standardise_targets(points)
    scale = OutputScale(mean, size)
    return fit_embedder(config, data.X, targets, rng, items=items, output_scale=scale)
