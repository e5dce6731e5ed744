"""How a plan is carried out: targets once and regression to them, or feedback."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import TargetWarning, unsaid, warn_user
from twofold.estimators._plan import Plan
from twofold.evaluation import Metric
from twofold.feedback import (
    Problem,
    Projections,
    Selection,
    Watch,
    pose_problem,
    select_candidate,
)
from twofold.metric import MAP_SHARE, MetricProblem, MetricSelection, MetricStep, Read
from twofold.regression import (
    WIDEST,
    Embedder,
    FittedEmbedder,
    LayerNames,
    NetworkEmbedder,
    OutputScale,
    TrainingConfig,
    Workers,
    fit_embedder,
    layer_names,
    out_of_memory_sentence,
    possible_regression,
    read_layers,
    take_rows,
    workers,
)
from twofold.relations import LabelRelation, PairRelation, Relation, Statements
from twofold.targets import TargetSolution, solve_targets, standardise_solution

T = TypeVar("T")
PAPER_START: dict[str, Any] = {"init": "random", "tol": 1e-5, "max_epochs": 1000}
"""A random start converges slowly: with the usual tolerance it stops half-way."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What fitting came to: see `MetricLearner` for the attributes."""

    embedder: Embedder
    targets: NDArray[np.float32]
    metric: Metric
    history: dict[str, Any]
    timing: dict[str, float]
    selection: Selection | None = None
    metric_step: MetricStep | None = None
    metric_selection: MetricSelection | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """A plan that is carried out, with whose random numbers, and who is told of it.

    `projections` of the features are made once, if feedback needs any.
    """

    plan: Plan
    rng: np.random.Generator
    watch: Watch
    projections: Projections = field(default_factory=Projections)

    def fit(self, X: Any, relation: Relation) -> Fit:
        """Fit an embedder to features and a relation over their rows."""
        if not self.plan.uses_feedback:
            return self.fit_once(X, relation)
        return self.selected_once(lambda: self._fit_by_feedback(X, relation))

    def _fit_by_feedback(self, X: Any, relation: Relation) -> Fit:
        plan, embedder = self.plan, self.plan.embedder
        problem = self.problem(X, self._sampled(relation))
        batch_size = embedder.batch_size if isinstance(embedder, TrainingConfig) else 1
        with out_of_memory_sentence(batch_size):
            selection = select_candidate(
                problem,
                n_components=plan.n_components,
                n_rounds=plan.n_rounds,
                validation_fraction=plan.validation_fraction,
                embedder=embedder,
            )
        return selected_fit(selection, problem)

    @property
    def together(self) -> Workers:
        """The processes that fit together, this one among them."""
        return workers(self.plan.device)

    def once(self, compute: Callable[[], T]) -> T:
        """Return what the first of the processes computes."""
        return self.together.once(compute, self.rng)

    def selected_once(self, select: Callable[[], Fit]) -> Fit:
        """Return the first process's fit with feedback, where this one's device is.

        What is selected hangs by comparisons, which have to come out alike in all processes.
        """
        fit = self.once(select)
        return fit if self.together.is_first else replace(fit, embedder=self._moved(fit.embedder))

    def _moved(self, embedder: Embedder) -> Embedder:
        if isinstance(embedder, NetworkEmbedder):
            embedder.network.to(self.plan.device)
            embedder.device = self.plan.device
        return embedder

    def fit_once(self, X: Any, relation: Relation) -> Fit:
        """Solve the targets, then regress to them."""
        plan, watch = self.plan, self.watch
        solution, linked = self.once(lambda: self.place_targets(relation))
        targets, which, mean, scale = standardise_solution(solution, linked)
        items = np.flatnonzero(linked)
        watch.report(f"regression of {len(items)} items to targets of {targets.shape[1]}")
        fitted = fit_embedder(
            plan.embedder,
            X,
            targets,
            self.rng,
            items=items,
            which=which,
            output_scale=OutputScale(mean, scale),
            regression=possible_regression(
                plan.regression,
                len(items),
                len(targets),
                is_spread=solution.method == "spread",
                is_network=isinstance(plan.embedder, TrainingConfig),
            ),
            validation_fraction=plan.validation_fraction,
            callback=watch.callback,
            checkpoint=watch.checkpoint,
        )
        return regressed_fit(plan, solution, linked, fitted)

    def fit_with_metric(
        self, X: Any, relation: LabelRelation | PairRelation, n_components: int | None
    ) -> Fit:
        """Fit, and solve how layers are compared: see `twofold.metric`."""
        fit, began = self.fit(X, relation), time.perf_counter()
        names = layer_names(fit.embedder, X, self.plan.layers)
        if not _has_layers_to_join(names, self.plan):
            return fit

        def reader(embedder: Embedder) -> Read:
            return lambda rows: read_layers(embedder, take_rows(X, rows), names.every)

        def train(rows: NDArray[np.int64]) -> Read:
            quietly = Fitting(self.plan, self.rng, Watch(self.watch.report))
            with unsaid(TargetWarning):  # what is said of all classes holds for some
                return reader(quietly.fit(take_rows(X, rows), relation.take(rows)).embedder)

        problem = MetricProblem(
            relation,
            reader(fit.embedder),
            train,
            dict.fromkeys(names.maps, MAP_SHARE) | dict.fromkeys(names.outputs, 0.0),
            self.plan.metric_step == "both",
            self.watch.report.always,
        )
        # All solve it, since they train together once more for it; what the first has, counts.
        solved = self.together.agreed(problem.solve(self.rng, n_components), self.rng)
        if solved is None:
            return fit
        step, selection = solved
        timing = fit.timing | {"metric": time.perf_counter() - began}
        return replace(
            fit, metric="cosine", metric_step=step, metric_selection=selection, timing=timing
        )

    def place_targets(self, relation: Relation) -> tuple[TargetSolution, NDArray[np.bool_]]:
        """Solve phase 1; say which items are in some statement, so that they have a target."""
        plan = self.plan
        if plan.targets.pairs == "sampled":
            relation = self._sampled(relation)
        is_random = plan.targets.init == "random" and not isinstance(relation, LabelRelation)
        assert plan.n_components is not None
        self.watch.report(f"targets of {relation.n_items} items")
        solution = solve_targets(
            relation,
            plan.n_components,
            loss=plan.loss,
            margin=plan.targets.margin,
            device=plan.device,
            random_state=self.rng,
            callback=self.watch.on_targets,
            **(PAPER_START if is_random else {}),
        )
        linked = relation.known if isinstance(relation, LabelRelation) else relation.linked
        return solution, linked

    def problem(self, X: Any, relation: Statements) -> Problem:
        """Return what feedback learns from."""
        plan, margin = self.plan, self.plan.targets.margin
        assert isinstance(plan.loss, str)  # feedback takes no other
        rng, watch, projections = self.rng, self.watch, self.projections
        return pose_problem(X, relation, plan.loss, margin, plan.device, rng, watch, projections)

    def _sampled(self, relation: Relation) -> Statements:
        """Return statements; of labels, pairs that are drawn."""
        if not isinstance(relation, LabelRelation):
            return relation
        targets = self.plan.targets
        return relation.sample_pairs(targets.n_similar, targets.n_dissimilar, random_state=self.rng)


def _has_layers_to_join(names: LayerNames, plan: Plan) -> bool:
    """Whether there is more than the output; say what is done where no inner layer is."""
    if not names.hidden and plan.metric_step == "unseen":
        raise ValueError(
            "metric='unseen' joins the layers before the output, but the embedder has no inner "
            f"layer that gives a vector for each item, and the features have more than {WIDEST:,} "
            "values. Give a network with such a layer, narrower features, or metric='seen'."
        )
    is_own = isinstance(plan.embedder, TrainingConfig) and plan.embedder.name is None
    if is_own and plan.layers is None and not names.has_inner:
        instead = "features and output are compared" if names.hidden else "points are its output"
        warn_user(
            f"The network has no inner layer that gives a vector for each item, so {instead}. For "
            "kinds never seen, add one, such as nn.Linear and nn.ReLU before the last layer; "
            "metric='seen' does not need one.",
            UserWarning,
        )
    return bool(names.hidden)


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


def regressed_fit(
    plan: Plan, solution: TargetSolution, linked: NDArray[np.bool_], fitted: FittedEmbedder
) -> Fit:
    """Return solved targets and what was regressed to them as the fit of a learner."""
    history: dict[str, Any] = {"targets": solution.history.tolist()}
    if fitted.history is not None:
        history |= {
            "regression": fitted.history.loss,
            "validation": fitted.history.validation_loss,
            "best_epoch": fitted.history.best_epoch,
        }
    targets = solution.by_item(linked)
    timing = {"targets": solution.seconds, "regression": fitted.seconds}
    return Fit(fitted.embedder, targets, plan.metric, history, timing)
