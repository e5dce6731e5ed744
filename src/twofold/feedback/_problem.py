"""What is learnt from: features, and statements about some of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import Metric
from twofold.regression import Callback, Features, as_numbers, item_shape, open_features
from twofold.relations import PairRelation, Statements
from twofold.targets import TargetSolver, target_solver

Points = NDArray[np.float32]
Loss = Literal["contrastive", "dot"]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Features and statements to learn from.

    Attributes
    ----------
    X : any
        Features as the user gave them.
    features : Features
        The same as numbers, on the device.
    shape : tuple of int
        Of one item.
    items : ndarray of int64, shape (n_items,)
        The rows of `X` that are in some statement.
    statements : PairRelation or TripletRelation
        About `items`, by their place in it.
    loss : {"contrastive", "dot"}
        Of pairs.
    margin : float
        Multiplies how far apart what is not alike has to be.
    device : str
        Where it is learnt.
    rng : Generator
        Of all that is random.
    rows : ndarray of int64, or None
        Which of `items` may be regressed on; all by default.
    callback, checkpoint
        Of a network's training; see `fit_embedder`.
    report : callable (str), optional
        Told of progress, a line at a time.
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
    rows: NDArray[np.int64] | None = None
    callback: Callback | None = None
    checkpoint: Path | None = None
    report: Callable[[str], Any] | None = None

    @property
    def metric(self) -> Metric:
        """How learnt points are compared."""
        is_dot = self.loss == "dot" and isinstance(self.statements, PairRelation)
        return "dot" if is_dot else "euclidean"

    def learning_from(
        self, statements: Statements, rows: NDArray[np.int64] | None = None
    ) -> Problem:
        """Return the same problem with some of its statements and rows; nobody is called back."""
        return replace(self, statements=statements, rows=rows, callback=None, checkpoint=None)

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

    def tell(self, line: str) -> None:
        """Report progress, if anybody listens."""
        if self.report is not None:
            self.report(line)


def pose_problem(
    X: Any,
    relation: Statements,
    *,
    loss: Loss,
    margin: float,
    device: str,
    rng: np.random.Generator,
    callback: Callback | None = None,
    checkpoint: Path | None = None,
    report: Callable[[str], Any] | None = None,
) -> Problem:
    """Return a problem about the rows of `X` that some statement is about; see `Problem`."""
    numbers = as_numbers(X)
    items = np.flatnonzero(relation.linked)
    return Problem(
        X,
        open_features(numbers, device),
        item_shape(numbers),
        items,
        relation.take(items),
        loss,
        margin,
        device,
        rng,
        callback=callback,
        checkpoint=checkpoint,
        report=report,
    )
