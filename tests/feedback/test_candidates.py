"""Candidates against slow definitions: maps with explicit weights, and who may be regressed on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from torch import nn
from toy_problems import beside_loud_noise, pairs_within, problem_of, triplets_within

from twofold.evaluation import pair_similarity
from twofold.feedback import Problem, select_candidate
from twofold.feedback import _candidate as candidate_module
from twofold.feedback._candidate import EmbedderCandidate, FeaturesCandidate, RidgeCandidate
from twofold.feedback._feature_space import FeatureSpace
from twofold.regression import RIDGE, TrainingConfig, fit_projection, ridge_basis

X, Y = beside_loud_noise(30)
PAIRS = pairs_within(Y, 60)


def a_problem(rows=None, **options):
    return replace(problem_of(X, PAIRS, **options), rows=rows)


def a_map(problem, n_rounds: int = 4, multiplier: float = 1.0, unit=False) -> RidgeCandidate:
    projection = fit_projection(problem.features, 5, clipped=True, unit=unit)
    points = projection.points(problem.features, problem.items)
    space = FeatureSpace(projection, points, ridge_basis(projection, points, "cpu", problem.rng))
    return RidgeCandidate(space, "euclidean", multiplier, n_rounds)


class Solver:
    """Targets by a formula: half-way to some places, and further for some rows."""

    def __init__(self, shifted=(), shift: float = 0.0) -> None:
        self.places = np.random.default_rng(5).normal(size=(30, 5))
        self.places[list(shifted)] += shift

    def near(self, points, rng=None):
        targets = 0.5 * points + 0.5 * self.places + 0.1 * np.sin(points)
        return targets.astype(points.dtype)


@pytest.fixture
def solve_by(monkeypatch):
    def use(solver):
        monkeypatch.setattr(Problem, "target_solver", lambda problem, start: solver)

    return use


def slow_rounds(candidate, solver, rows, n_rounds: int) -> list[np.ndarray]:
    """Z = Z₀ + F W; W ← V + (FᵣᵀFᵣ + ρI)⁻¹ Fᵣᵀ (T − Z(V))ᵣ with V = W + μ (W − W_before)."""
    start, points = candidate.space.points.astype(float), []
    functions = candidate.space.basis.values.double().numpy()
    rows = slice(None) if rows is None else rows
    some = functions[rows]
    gram = some.T @ some + RIDGE * candidate.ridge_multiplier * np.eye(functions.shape[1])
    weights = before = np.zeros((functions.shape[1], start.shape[1]))
    for _ in range(n_rounds):
        ahead = weights + candidate_module.MOMENTUM * (weights - before)
        reached = start + functions @ ahead
        step = np.linalg.solve(gram, some.T @ (solver.near(reached) - reached)[rows])
        weights, before = ahead + step, weights
        points.append(start + functions @ weights)
    return points


@pytest.mark.parametrize("rows", [None, np.arange(0, 30, 2)], ids=["all", "some rows"])
@pytest.mark.parametrize("multiplier", [1.0, 30.0])
def test_a_ridge_map_s_rounds_are_the_recursion_of_its_weights(rows, multiplier, solve_by):
    problem, solver = a_problem(rows), Solver()
    candidate = a_map(problem, 6, multiplier)
    solve_by(solver)
    rounds = list(candidate.rounds(problem))
    expected = slow_rounds(candidate, solver, rows, 6)
    assert len(rounds) == 6
    for round_, points in zip(rounds, expected, strict=True):
        np.testing.assert_allclose(round_.points, points, atol=2e-3)
        # The same as a map of features: dual coefficients are in the tens.
        np.testing.assert_allclose(round_.embedder().predict(X), points, atol=2e-3)
    assert np.abs(expected[-1] - expected[0]).max() > 0.1


def test_targets_of_items_that_are_left_out_have_no_influence(solve_by):
    problem, last = a_problem(rows=np.arange(0, 30, 2)), []
    candidate = a_map(problem)
    for shift in (0.0, 100.0):
        solve_by(Solver(shifted=range(1, 30, 2), shift=shift))
        *_, round_ = candidate.rounds(problem)
        last.append(round_)
    np.testing.assert_allclose(last[0].points, last[1].points, atol=1e-5)
    assert np.abs(last[0].targets() - last[1].targets()).max() > 10


@pytest.mark.parametrize("statements", [PAIRS, triplets_within(Y, 100)], ids=["pairs", "triplets"])
@pytest.mark.parametrize("unit", [False, True])
def test_the_map_of_every_round_puts_items_where_the_round_says(statements, unit):
    problem = problem_of(X, statements)
    for round_ in a_map(problem, unit=unit).rounds(problem):
        assert round_.targets().shape == round_.points.shape == (len(problem.items), 5)
        points = round_.embedder().predict(X[problem.items])
        np.testing.assert_allclose(points, round_.points, atol=2e-3)
        assert all(spent > 0 for spent in round_.seconds.values())


def test_a_regressor_is_fitted_once_to_targets_near_where_the_map_ends():
    problem = a_problem()
    (round_,) = EmbedderCandidate(LinearRegression(), a_map(problem)).rounds(problem)
    np.testing.assert_allclose(round_.embedder().predict(X), round_.points, rtol=1e-5, atol=1e-5)
    # A regression with an intercept keeps the mean, in the targets' own coordinates.
    mean = round_.targets().mean(axis=0)
    np.testing.assert_allclose(round_.points.mean(axis=0), mean, atol=1e-4)
    assert round_.losses == []
    assert all(spent > 0 for spent in round_.seconds.values())


def test_a_regressor_is_not_fitted_to_items_that_are_left_out(solve_by):
    rows, points = np.arange(0, 30, 2), []
    problem = a_problem(rows)
    for shift in (0.0, 5.0):
        guide = a_map(problem)
        solve_by(Solver(shifted=range(1, 30, 2), shift=shift))
        (round_,) = EmbedderCandidate(KNeighborsRegressor(1), guide).rounds(problem)
        points.append(round_.points)
        # Its own neighbour is each item that it was fitted to.
        np.testing.assert_allclose(points[-1][rows], round_.targets()[rows], atol=1e-4)
    np.testing.assert_allclose(points[0], points[1], atol=1e-4)


@pytest.mark.parametrize(("answer", "n_epochs"), [(None, 3), (True, 1), (np.True_, 1)])
def test_a_network_obeys_its_epochs_and_its_callback(answer, n_epochs):
    seen = []
    problem = a_problem(callback=lambda epoch: seen.append(epoch.number) or answer)
    network = TrainingConfig(nn.Linear(5, 5), max_epochs=3, batch_size=16, learning_rate=1e-2)
    (round_,) = EmbedderCandidate(network, a_map(problem)).rounds(problem)
    assert seen == list(range(1, n_epochs + 1))
    assert len(round_.losses) == n_epochs


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("block", [2**24, 30])
def test_the_features_as_given_are_compared_as_they_are(form, metric, block, monkeypatch):
    monkeypatch.setattr(candidate_module, "BLOCK_NUMBERS", block)
    features = np.vstack([np.full((4, 5), 1e3, np.float32), X])
    stated = pairs_within(np.append([-1] * 4, Y), 25)  # not about all rows
    problem = problem_of(form(features), stated)
    (round_,) = FeaturesCandidate(metric).rounds(problem)
    left, right = problem.statements.left, problem.statements.right
    expected = pair_similarity(features, stated.left, stated.right, metric)
    np.testing.assert_allclose(round_.similarity(left, right), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(round_.embedder().predict(form(features)), features)
    np.testing.assert_array_equal(round_.targets(), features[problem.items])


def test_what_is_not_finite_is_refused_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.regression._projection.FEWEST_SAMPLED", 2)
    monkeypatch.setattr("twofold.regression._projection.SAMPLED_NUMBERS", 2)
    features = X.copy()
    features[7, 2] = np.nan
    np.save(tmp_path / "X.npy", features)
    problem = problem_of(np.load(tmp_path / "X.npy", mmap_mode="r"), PAIRS)
    with pytest.raises(ValueError, match="NaN or infinity, first in row 7"):
        select_candidate(problem)
