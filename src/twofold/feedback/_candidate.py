"""Candidates: what may be returned, each yielding its rounds; none of them scores itself.

A ridge map starts from the features and, round by round, is regressed to targets near where it is:
milliseconds each. A network or regressor is trained once, to targets near where such a map ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from twofold.evaluation import Metric, pair_similarity
from twofold.feedback._feature_space import FeatureSpace
from twofold.feedback._problem import Points, Problem
from twofold.regression import (
    RIDGE,
    Embedder,
    FeaturesAsGiven,
    NetworkEmbedder,
    OutputScale,
    RidgeBasis,
    RidgeRegression,
    TrainingConfig,
    fit_embedder,
    predict_points,
    take_rows,
    threads_for,
)
from twofold.targets import standardise_targets

N_ROUNDS = 30
MOMENTUM = 0.9
BLOCK_NUMBERS = 2**24
"""Features that are read at a time to compare them as given."""

Seconds = dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What a candidate has come to after a round.

    Attributes
    ----------
    similarity : callable (left, right) -> ndarray
        Of pairs of the problem's items.
    targets : callable () -> ndarray of float32, shape (n_items, dim)
        What was regressed to.
    embedder : callable () -> NetworkEmbedder or RegressorEmbedder
        From features to points.
    points : ndarray of float32, shape (n_items, dim), or None
        Where it puts the items; None for the features as given.
    seconds : dict
        Of this round, "targets" and "regression".
    losses : list of float
        Of a network, one an epoch.
    """

    similarity: Callable[[NDArray[np.int64], NDArray[np.int64]], Points]
    targets: Callable[[], Points]
    embedder: Callable[[], Embedder]
    points: Points | None = None
    seconds: Seconds = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)


def _learnt_round(
    points: Points,
    targets: Points,
    metric: Metric,
    embedder: Callable[[], Embedder],
    seconds: Seconds,
    losses: Sequence[float] = (),
) -> Round:
    def similarity(left: NDArray[np.int64], right: NDArray[np.int64]) -> Points:
        return pair_similarity(points, left, right, metric)

    return Round(similarity, lambda: targets, embedder, points, seconds, list(losses))


class Candidate(Protocol):
    """Something that may be returned."""

    @property
    def name(self) -> str:
        """In traces and reports."""

    @property
    def metric(self) -> Metric:
        """How its points are compared."""

    def rounds(self, problem: Problem) -> Iterator[Round]:
        """Learn from a problem, a round at a time."""


@dataclass(frozen=True, slots=True)
class FeaturesCandidate:
    """The features as given, all columns: the reference, which needs no learning."""

    metric: Metric

    @property
    def name(self) -> str:
        """In traces and reports."""
        return f"features as given, {self.metric}"

    def rounds(self, problem: Problem) -> Iterator[Round]:
        """Yield the one round there is; features are read in blocks: there may be many columns."""
        features, shape, items = problem.features, problem.shape, problem.items
        size = max(1, BLOCK_NUMBERS // max(1, 2 * int(np.prod(shape))))

        def similarity(left: NDArray[np.int64], right: NDArray[np.int64]) -> Points:
            values = np.empty(left.size, dtype=np.float32)
            for first in range(0, left.size, size):
                part = slice(first, first + size)
                ends = np.unique(np.concatenate([left[part], right[part]]))
                rows = predict_points(FeaturesAsGiven(), features, shape, items[ends])
                a, b = (np.searchsorted(ends, side[part]) for side in (left, right))
                values[part] = pair_similarity(rows, a, b, self.metric)
            return values

        yield Round(
            similarity,
            lambda: predict_points(FeaturesAsGiven(), features, shape, items),
            lambda: NetworkEmbedder(FeaturesAsGiven(), shape, problem.device),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RidgeCandidate:
    """A ridge map around landmarks, regressed round by round to targets near where it is.

    Attributes
    ----------
    space : FeatureSpace
        What it starts from.
    metric : {"euclidean", "dot"}
        How its points are compared.
    ridge_multiplier : float
        Times the usual ridge.
    n_rounds : int
        How many it takes.
    """

    space: FeatureSpace
    metric: Metric
    ridge_multiplier: float = 1.0
    n_rounds: int = N_ROUNDS

    @property
    def name(self) -> str:
        """In traces and reports."""
        n_directions = self.space.n_directions
        return f"ridge map, {n_directions} directions, ridge × {self.ridge_multiplier:g}"

    def rounds(self, problem: Problem) -> Iterator[Round]:
        """Yield the map after each round.

        Z ← Z + H (T − Z), where T are targets near Z and H is ridge regression on the basis, with
        Nesterov's momentum from round to round. The map is the regression of the sum of all T − Z.
        """
        basis = self.space.basis
        # One count of threads for all rounds: changing it costs more than a small product.
        with threads_for(2.0 * basis.values.numel() * self.space.n_directions):
            yield from self._rounds(problem, basis)

    def _rounds(self, problem: Problem, basis: RidgeBasis) -> Iterator[Round]:
        began = time.perf_counter()
        solver = problem.target_solver(self.space.points)
        ridge = basis.regression(RIDGE * self.ridge_multiplier, problem.rows)
        points = last_points = torch.from_numpy(self.space.points).to(basis.values.device)
        step = total_step = torch.zeros_like(problem.regressed(points))
        for _ in range(self.n_rounds):
            ahead = points + MOMENTUM * (points - last_points)
            from_points = ahead.cpu().numpy()
            prepared = time.perf_counter()
            targets = solver.near(from_points, problem.rng)
            solved = time.perf_counter()
            asked = torch.from_numpy(problem.regressed(targets - from_points)).to(points.device)
            last_points, points = points, ahead + ridge.predict(asked)
            step = MOMENTUM * step + asked
            total_step = total_step + step
            ended = time.perf_counter()
            yield _learnt_round(
                points.cpu().numpy(),
                targets,
                self.metric,
                _map_embedder(self.space, ridge, total_step, problem),
                {"targets": solved - prepared, "regression": prepared - began + ended - solved},
            )
            began = time.perf_counter()


def _map_embedder(
    space: FeatureSpace, ridge: RidgeRegression, outputs: torch.Tensor, problem: Problem
) -> Callable[[], NetworkEmbedder]:
    def build() -> NetworkEmbedder:
        network = space.basis.as_map(ridge.weights(outputs)).to(problem.device).eval()
        return NetworkEmbedder(network, problem.shape, problem.device)

    return build


@dataclass(frozen=True, slots=True, eq=False)
class EmbedderCandidate:
    """The user's network or regressor, fitted once to targets near where a ridge map ends.

    Attributes
    ----------
    embedder : TrainingConfig or scikit-learn regressor
        What is fitted.
    guide : RidgeCandidate
        The map.
    """

    embedder: TrainingConfig | Any
    guide: RidgeCandidate

    @property
    def name(self) -> str:
        """In traces and reports."""
        return "network" if isinstance(self.embedder, TrainingConfig) else "regressor"

    @property
    def metric(self) -> Metric:
        """How its points are compared."""
        return self.guide.metric

    def rounds(self, problem: Problem) -> Iterator[Round]:
        """Yield the one round there is."""
        seconds = {"targets": 0.0, "regression": 0.0}
        for guide in self.guide.rounds(problem):
            _add(seconds, guide.seconds)
        began = time.perf_counter()
        solver = problem.target_solver(self.guide.space.points)
        assert guide.points is not None
        targets = solver.near(guide.points, problem.rng)
        standardised, mean, scale = standardise_targets(problem.regressed(targets))
        solved = time.perf_counter()
        fitted = fit_embedder(
            self.embedder,
            problem.X,
            standardised,
            problem.rng,
            items=problem.regressed(problem.items),
            output_scale=OutputScale(mean, scale),
            callback=problem.callback,
            checkpoint=problem.checkpoint,
        )
        points = fitted.embedder.predict(take_rows(problem.X, problem.items))
        _add(seconds, {"targets": solved - began, "regression": fitted.seconds})
        losses = [] if fitted.history is None else fitted.history.loss
        embedder = fitted.embedder
        yield _learnt_round(points, targets, self.metric, lambda: embedder, seconds, losses)


def _add(seconds: Seconds, more: Seconds) -> None:
    for phase, spent in more.items():
        seconds[phase] += spent
