"""The learning problem: features, and statements about some of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold._core.progress import Reporter
from twofold.evaluation import Metric
from twofold.regression import (
    Callback,
    Features,
    Projection,
    as_numbers,
    fit_projection,
    item_shape,
    open_features,
)
from twofold.relations import PairRelation, Statements
from twofold.targets import TargetSolver, target_solver

Points = NDArray[np.float32]
Loss = Literal["contrastive", "dot"]
SILENT = Reporter(verbose=False)


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """Who is told of progress, a line at a time, and where a network's training is kept."""

    report: Reporter = SILENT
    callback: Callback | None = None
    checkpoint: Path | None = None

    def on_targets(self, epoch: int, loss: float) -> None:
        """Tell of an epoch of phase 1."""
        self.report(f"targets: epoch {epoch}, loss {loss:.4g}")


@dataclass(frozen=True, slots=True, eq=False)
class Projections:
    """Projections of one table of features, each made once: they know nothing of statements.

    Of 60,000 images of 784 pixels one takes three seconds, which is most of what a fit to a few
    hundred statements takes.
    """

    made: dict[bool, Projection] = field(default_factory=dict)

    def of(self, features: Features, n_directions: int, unit: bool) -> Projection:
        """Return the leading directions of features, outliers cut, or more of them."""
        known = self.made.get(unit)
        if known is None or known.n_directions < n_directions:
            known = fit_projection(features, n_directions, clipped=True, unit=unit)
            self.made[unit] = known
        return known


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Features and statements to learn from.

    `X` are the features as the user gave them, `features` the same as numbers on the device,
    `shape` that of one item. `items` are the rows in some statement, by whose place in it
    `statements` name them; only those of its `rows` may be regressed on, all by default. `margin`
    multiplies how far apart what is not alike has to be. `projections` are those of `features` that
    were made before.
    """

    X: Any
    features: Features
    shape: tuple[int, ...]
    items: NDArray[np.int64]
    statements: Statements
    loss: Loss
    margin: float
    device: str
    rng: np.random.Generator
    watch: Watch
    rows: NDArray[np.int64] | None = None
    projections: Projections = field(default_factory=Projections)

    @property
    def metric(self) -> Metric:
        """How learnt points are compared."""
        is_dot = self.loss == "dot" and isinstance(self.statements, PairRelation)
        return "dot" if is_dot else "euclidean"

    def learning_from(
        self, statements: Statements, rows: NDArray[np.int64] | None = None
    ) -> Problem:
        """Return the same problem with some of its statements and rows; nobody is called back."""
        return replace(self, statements=statements, rows=rows, watch=Watch(self.watch.report))

    def sampled(self, n_statements: int) -> Problem:
        """Return the problem of some statements, drawn at random, and of the items in them."""
        share = n_statements / len(self.statements)
        statements = self.statements.split(share, random_state=self.rng)[1]
        kept = np.flatnonzero(statements.linked)
        problem = self.learning_from(statements.take(kept))
        return replace(problem, items=self.items[kept])

    def regressed(self, of_items: Any) -> Any:
        """Return what is given of all items for those that may be regressed on."""
        return of_items if self.rows is None else of_items[self.rows]

    def target_solver(self, start: Points) -> TargetSolver:
        """Return what solves for targets near points, if the items start at some."""
        return target_solver(self.statements, start, self.loss, self.margin, self.device)


def pose_problem(
    X: Any,
    relation: Statements,
    loss: Loss,
    margin: float,
    device: str,
    rng: np.random.Generator,
    watch: Watch,
    projections: Projections | None = None,
) -> Problem:
    """Return a problem about the rows of `X` that some statement is about; see `Problem`."""
    numbers = as_numbers(X)
    features, shape = open_features(numbers, device), item_shape(numbers)
    items = np.flatnonzero(relation.linked)
    statements = relation.take(items)
    return Problem(
        X,
        features,
        shape,
        items,
        statements,
        loss,
        margin,
        device,
        rng,
        watch,
        projections=projections or Projections(),
    )
