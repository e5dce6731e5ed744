"""Candidates: what may be returned, each yielding its rounds; none of them scores itself.

A ridge map starts from the features and, round by round, is regressed to targets near where it is:
milliseconds each. A network or regressor is trained once, to targets near where such a map ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from twofold.evaluation import Metric, pair_similarity, sparse_pair_similarity
from twofold.feedback._feature_space import FeatureSpace
from twofold.feedback._problem import Points, Problem
from twofold.regression import (
    RIDGE,
    Embedder,
    FeaturesAsGiven,
    NetworkEmbedder,
    OutputScale,
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
"""Of "targets" and "regression"."""
Similarity = Callable[[NDArray[np.int64], NDArray[np.int64]], Points]


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What a candidate has come to after a round.

    `similarity` compares pairs of the problem's items, `targets` are what was regressed to, and
    `points` where the items came to: None for the features as given. `losses` are a network's, one
    an epoch.
    """

    similarity: Similarity
    targets: Callable[[], Points]
    embedder: Callable[[], Embedder]
    points: Points | None = None
    seconds: Seconds = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)


def similarity_of(points: Points, metric: Metric) -> Similarity:
    """Return what compares pairs of points."""
    return partial(pair_similarity, points, metric=metric)


def _learnt_round(
    points: Points,
    targets: Points,
    metric: Metric,
    embedder: Callable[[], Embedder],
    seconds: Seconds,
    losses: Sequence[float] = (),
) -> Round:
    compare = similarity_of(points, metric)
    return Round(compare, lambda: targets, embedder, points, seconds, list(losses))


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
        """Yield the one round there is."""
        features, shape, items = problem.features, problem.shape, problem.items
        yield Round(
            self._similarity(problem),
            lambda: predict_points(FeaturesAsGiven(), features, shape, items),
            lambda: NetworkEmbedder(FeaturesAsGiven(), shape, problem.device),
        )

    def _similarity(self, problem: Problem) -> Similarity:
        """Return what compares items; features are read in blocks: there may be many columns."""
        features, shape, items = problem.features, problem.shape, problem.items
        if sparse.issparse(problem.X):
            rows = sparse.csr_array(problem.X)
            return lambda left, right: sparse_pair_similarity(
                rows, items[left], items[right], self.metric
            )
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

        return similarity


@dataclass(frozen=True, slots=True, eq=False)
class RidgeCandidate:
    """A ridge map around landmarks, regressed round by round to targets near where it is."""

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
        n_flops = 2.0 * self.space.basis.values.numel() * self.space.n_directions
        rounds = self._rounds(problem)
        while True:  # candidates take turns, so that the count of threads is one round's
            with threads_for(n_flops):
                result = next(rounds, None)
            if result is None:
                return
            yield result

    def _rounds(self, problem: Problem) -> Iterator[Round]:
        began = time.perf_counter()
        basis, solver = self.space.basis, problem.target_solver(self.space.points)
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
                partial(_map_embedder, self.space, ridge, total_step, problem),
                {"targets": solved - prepared, "regression": prepared - began + ended - solved},
            )
            began = time.perf_counter()


def _map_embedder(
    space: FeatureSpace, ridge: RidgeRegression, outputs: torch.Tensor, problem: Problem
) -> NetworkEmbedder:
    network = space.basis.as_map(ridge.weights(outputs)).to(problem.device).eval()
    return NetworkEmbedder(network, problem.shape, problem.device)


@dataclass(frozen=True, slots=True, eq=False)
class EmbedderCandidate:
    """The user's network or regressor, fitted once to targets near where a ridge map ends."""

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
            add_seconds(seconds, guide.seconds)
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
            callback=problem.watch.callback,
            checkpoint=problem.watch.checkpoint,
        )
        points = fitted.embedder.predict(take_rows(problem.X, problem.items))
        add_seconds(seconds, {"targets": solved - began, "regression": fitted.seconds})
        losses = [] if fitted.history is None else fitted.history.loss
        embedder = fitted.embedder
        yield _learnt_round(points, targets, self.metric, lambda: embedder, seconds, losses)


def add_seconds(seconds: Seconds, more: Seconds) -> None:
    """Add up the seconds of phases, in place."""
    for phase, spent in more.items():
        seconds[phase] += spent


def last_round(candidate: Candidate, problem: Problem, seconds: Seconds) -> Round:
    """Fit a candidate to a whole problem."""
    problem.watch.report(f"fitting {candidate.name}")
    for round_ in candidate.rounds(problem):
        add_seconds(seconds, round_.seconds)
    return round_
