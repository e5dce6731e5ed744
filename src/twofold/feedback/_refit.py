"""What was selected, fitted again: to another problem, or to parts of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.feedback._candidate import (
    Candidate,
    EmbedderCandidate,
    FeaturesCandidate,
    RidgeCandidate,
    Round,
    last_round,
)
from twofold.feedback._feature_space import feature_spaces, projected_space
from twofold.feedback._problem import Points, Problem
from twofold.feedback._selection import Selection
from twofold.regression import NetworkEmbedder, Projection, as_numbers, take_rows
from twofold.relations import Statements


def refit(problem: Problem, selection: Selection, embedder: Any | None = None) -> Selection:
    """Return the selected candidate fitted to another problem, as many rounds, without validation.

    The problem is about the same features; `embedder` is the user's own, if that was selected.
    """
    seconds = {"targets": 0.0, "regression": 0.0}
    last = last_round(_selected(problem, selection, embedder), problem, seconds)
    return replace(
        selection,
        seconds=seconds,
        embedder=last.embedder(),
        targets=last.targets(),
        losses=last.losses,
    )


@dataclass(frozen=True, slots=True, eq=False)
class FittedPart:
    """A candidate fitted to some of a problem's statements, and where that leads any row."""

    problem: Problem
    last: Round

    def points(self, rows: NDArray[np.int64]) -> Points:
        """Return the points of rows of the features.

        Those in some statement of the whole problem have a point already: the last round's. Only
        the others are embedded, which takes as long as the fit where features are many.
        """
        items, points = self.problem.items, self.last.points
        if points is None:
            return self._embed(rows)
        place = np.minimum(np.searchsorted(items, rows), items.size - 1)
        is_known = items[place] == rows
        result = np.empty((rows.size, points.shape[1]), dtype=np.float32)
        result[is_known] = points[place[is_known]]
        if not is_known.all():
            result[~is_known] = self._embed(rows[~is_known])
        return result

    def _embed(self, rows: NDArray[np.int64]) -> Points:
        embedder, some = self.last.embedder(), take_rows(self.problem.X, rows)
        is_network = isinstance(embedder, NetworkEmbedder)
        return embedder.predict(as_numbers(some) if is_network else some)


def refit_parts(
    problem: Problem, selection: Selection, embedder: Any | None = None
) -> Callable[[Statements], FittedPart]:
    """Return what fits the selected candidate to some of a problem's statements, by their items.

    The feature space, for which no statement is asked, is made once: by the projection that was
    selected, which is of the same features. Items that the statements are not about are not
    regressed on.
    """
    candidate = _selected(problem, selection, embedder, selection.projection)

    def fit(statements: Statements) -> FittedPart:
        part = problem.learning_from(statements, np.flatnonzero(statements.linked))
        return FittedPart(problem, last_round(candidate, part, {"targets": 0.0, "regression": 0.0}))

    return fit


def _selected(
    problem: Problem,
    selection: Selection,
    embedder: Any | None,
    projection: Projection | None = None,
) -> Candidate:
    """Return the candidate that was selected, for another problem about the same features."""
    if selection.candidate == "features as given":
        return FeaturesCandidate(selection.metric)
    if projection is None:
        (space,) = feature_spaces(problem, selection.n_directions, selection.unit)
    else:
        space = projected_space(problem, projection)
    multiplier, n_rounds = selection.ridge_multiplier, selection.n_rounds
    ridge_map = RidgeCandidate(space, problem.metric, multiplier, n_rounds)
    if selection.candidate == "ridge map":
        return ridge_map
    return EmbedderCandidate(embedder, ridge_map)
