"""How a plan is carried out: targets once and regression to them, or feedback."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from twofold._core.progress import Reporter
from twofold.estimators._plan import Plan, PlannedRegression
from twofold.evaluation import Metric
from twofold.feedback import Problem, Selection, pose_problem, select_candidate
from twofold.regression import (
    Callback,
    FittedEmbedder,
    NetworkEmbedder,
    OutputScale,
    Regression,
    RegressorEmbedder,
    TrainingConfig,
    fit_embedder,
    out_of_memory_sentence,
)
from twofold.relations import LabelRelation, Relation, Statements
from twofold.targets import TargetRows, TargetSolution, solve_targets, standardise_targets

PAPER_START: dict[str, Any] = {"init": "random", "tol": 1e-5, "max_epochs": 1000}
"""A random start converges slowly: with the usual tolerance it stops half-way."""
MOST_GATHERED = 2**28
"""Numbers, 1 GiB, of which `targets_` is an array; of more it reads as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What fitting came to: see `MetricLearner` for the attributes."""

    embedder: NetworkEmbedder | RegressorEmbedder
    targets: NDArray[np.float32]
    metric: Metric
    history: dict[str, Any]
    timing: dict[str, float]
    selection: Selection | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """Who is told of progress, and where a training is kept."""

    reporter: Reporter
    callback: Callback | None = None
    checkpoint: Path | None = None


def fit_plan(plan: Plan, X: Any, relation: Relation, rng: np.random.Generator, watch: Watch) -> Fit:
    """Fit an embedder to features and a relation over their rows."""
    if not plan.uses_feedback:
        return fit_once(plan, X, relation, rng, watch)
    if isinstance(relation, LabelRelation):
        relation = _sampled(plan, relation, rng)
    problem = state_problem(plan, X, relation, rng, watch)
    with out_of_memory_sentence(_batch_size(plan.embedder)):
        selection = select_candidate(
            problem,
            n_components=plan.n_components,
            n_rounds=plan.n_rounds,
            validation_fraction=plan.validation_fraction,
            embedder=plan.embedder,
        )
    return selected_fit(selection, problem)


def state_problem(
    plan: Plan, X: Any, relation: Statements, rng: np.random.Generator, watch: Watch
) -> Problem:
    """Return what feedback learns from."""
    return pose_problem(
        X,
        relation,
        loss=plan.loss,
        margin=plan.targets.margin,
        device=plan.device,
        rng=rng,
        callback=watch.callback,
        checkpoint=watch.checkpoint,
        report=watch.reporter,
    )


def selected_fit(selection: Selection, problem: Problem) -> Fit:
    """Return a selection as the fit of a learner, with targets for all rows of features."""
    n_rows, dim = problem.features.n_items, selection.targets.shape[1]
    targets = np.full((n_rows, dim), np.nan, dtype=np.float32)
    targets[problem.items] = selection.targets
    history = {
        "regression": selection.losses,
        "feedback": {
            "candidate": selection.candidate,
            "round": selection.n_rounds,
            "validation": selection.scores,
            "expected": selection.expected,
            "reference": selection.reference,
        },
    }
    return Fit(selection.embedder, targets, selection.metric, history, selection.seconds, selection)


def fit_once(plan: Plan, X: Any, relation: Relation, rng: np.random.Generator, watch: Watch) -> Fit:
    """Solve the targets, then regress to them."""
    solution, linked = place_targets(plan, relation, rng, watch.reporter)
    targets, which, scale = _standardised(solution, linked)
    items = np.flatnonzero(linked)
    watch.reporter(f"regression of {len(items)} items to targets of {targets.shape[1]}")
    fitted = fit_embedder(
        plan.embedder,
        X,
        targets,
        rng,
        items=items,
        which=which,
        output_scale=scale,
        regression=_possible_regression(plan.regression, solution, len(items)),
        validation_fraction=plan.validation_fraction,
        callback=watch.callback,
        checkpoint=watch.checkpoint,
    )
    return regressed_fit(plan, solution, linked, fitted)


def regressed_fit(
    plan: Plan,
    solution: TargetSolution,
    linked: NDArray[np.bool_],
    fitted: FittedEmbedder,
) -> Fit:
    """Return solved targets and what was regressed to them as the fit of a learner."""
    history: dict[str, Any] = {"targets": solution.history.tolist()}
    if fitted.history is not None:
        history |= {
            "regression": fitted.history.loss,
            "validation": fitted.history.validation_loss,
            "best_epoch": fitted.history.best_epoch,
        }
    return Fit(
        fitted.embedder,
        _by_item(solution, linked),
        plan.metric,
        history,
        {"targets": solution.seconds, "regression": fitted.seconds},
    )


def _by_item(solution: TargetSolution, linked: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the target of every item, NaN for those that are not linked."""
    if solution.which is None:
        return np.where(linked[:, None], solution.points, np.float32(np.nan))
    rows = TargetRows(solution.table, np.where(linked, solution.which, -1))
    is_large = len(rows) * rows.shape[1] > MOST_GATHERED
    return cast("NDArray[np.float32]", rows) if is_large else np.asarray(rows)


def place_targets(
    plan: Plan, relation: Relation, rng: np.random.Generator, reporter: Reporter
) -> tuple[TargetSolution, NDArray[np.bool_]]:
    """Solve phase 1; say which items are in some statement, so that they have a target."""
    if isinstance(relation, LabelRelation) and plan.targets.pairs == "sampled":
        relation = _sampled(plan, relation, rng)
    is_random = plan.targets.init == "random" and not isinstance(relation, LabelRelation)
    assert plan.n_components is not None
    reporter(f"targets of {relation.n_items} items")
    solution = solve_targets(
        relation,
        plan.n_components,
        loss=plan.loss,
        margin=plan.targets.margin,
        device=plan.device,
        random_state=rng,
        callback=reporter.on_targets,
        **(PAPER_START if is_random else {}),
    )
    linked = relation.known if isinstance(relation, LabelRelation) else relation.linked
    return solution, linked


def _sampled(plan: Plan, relation: LabelRelation, rng: np.random.Generator) -> Statements:
    n_similar, n_dissimilar = plan.targets.n_similar, plan.targets.n_dissimilar
    return relation.sample_pairs(n_similar, n_dissimilar, random_state=rng)


def _standardised(
    solution: TargetSolution, linked: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int64] | None, OutputScale]:
    """Return the targets of linked items, standardised, and which one each has if they share."""
    if solution.which is None:
        targets, mean, scale = standardise_targets(solution.points[linked])
        return targets, None, OutputScale(mean, scale)
    which = solution.which[linked]
    counts = np.bincount(which, minlength=len(solution.table))
    targets, mean, scale = standardise_targets(solution.table, counts)
    return targets, which, OutputScale(mean, scale)


def _possible_regression(
    regression: PlannedRegression, solution: TargetSolution, n_items: int
) -> Regression | Literal["direction"]:
    """Return the regression that was planned, as far as the targets allow it."""
    if regression == "squared":
        return "squared"
    if solution.method == "spread":  # more classes than components
        return "direction"
    n_targets = n_items if solution.which is None else len(solution.table)
    if n_targets <= n_items / 2:
        return "likelihood"
    if regression == "likelihood if shared":
        return "squared"
    raise ValueError(
        f"loss='likelihood' needs targets that items share, but {n_items} items have "
        f"{n_targets} different ones: set loss='squared'."
    )


def _batch_size(embedder: Any) -> int:
    return embedder.batch_size if isinstance(embedder, TrainingConfig) else 1
