"""Large Margin Nearest Neighbour: by hand, against the definition, and at its optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from twofold.baselines import _lmnn_loss
from twofold.baselines._lmnn import LMNNLearner
from twofold.baselines._lmnn_loss import MarginProblem, margin_loss, target_neighbours
from twofold.baselines._lmnn_solver import minimise_margin_loss, project_to_cone, solve_margins


def little_problem(n_items: int = 24, n_features: int = 3, k: int = 2, push: float = 0.4):
    """Three classes that overlap."""
    X, y = make_blobs(n_items, n_features, centers=3, cluster_std=4.0, random_state=1)
    return MarginProblem(X, y, target_neighbours(X, y, k), push)


def some_metric(n_features: int, seed: int, scale: float = 0.2):
    root = scale * np.random.default_rng(seed).normal(size=(n_features, n_features))
    return root @ root.T


def slow_loss(problem: MarginProblem, metric) -> float:
    """The definition, triple by triple."""

    def distance(i, j):
        gap = problem.points[i] - problem.points[j]
        return gap @ metric @ gap

    loss = 0.0
    for i, targets in enumerate(problem.targets):
        for j in targets:
            loss += (1 - problem.push) * distance(i, j)
            for other in np.flatnonzero(problem.classes != problem.classes[i]):
                loss += problem.push * max(0.0, 1 + distance(i, j) - distance(i, other))
    return loss


def loss_of(problem, metric, smoothing=0.0):
    return margin_loss(problem, problem.pull_matrix(), metric, smoothing)


# ---- the loss ----


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_that_of_the_definition(seed):
    problem, metric = little_problem(), some_metric(3, seed)
    assert loss_of(problem, metric).loss == pytest.approx(slow_loss(problem, metric), rel=1e-12)
    assert loss_of(problem, metric, 0.1).loss == pytest.approx(slow_loss(problem, metric))


@pytest.mark.parametrize("smoothing", [0.0, 0.05, 2.0])
def test_the_gradient_is_that_of_finite_differences(smoothing):
    problem, metric, step = little_problem(), some_metric(3, 0), 1e-6
    found = loss_of(problem, metric, smoothing)
    for a in range(3):
        for b in range(3):
            change = np.zeros((3, 3))
            change[a, b] += step / 2  # a metric is symmetric
            change[b, a] += step / 2
            up, down = (loss_of(problem, metric + s * change, smoothing) for s in (1, -1))
            slope = (up.smoothed - down.smoothed) / (2 * step)
            assert slope == pytest.approx(found.gradient[a, b], rel=1e-5, abs=1e-4)


def test_the_smoothed_loss_comes_from_below_as_the_smoothing_shrinks():
    problem, metric = little_problem(), some_metric(3, 2)
    found = [loss_of(problem, metric, s).smoothed for s in (2.0, 0.5, 0.01, 0.0)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(loss_of(problem, metric).loss)


def test_blocks_change_nothing(monkeypatch):
    problem, metric = little_problem(), some_metric(3, 3)
    whole = loss_of(problem, metric, 0.3)
    monkeypatch.setattr(_lmnn_loss, "BLOCK_NUMBERS", 5 * 24)
    parts = loss_of(problem, metric, 0.3)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=1e-9, atol=1e-9)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-12)
    assert parts.dual_sum == pytest.approx(whole.dual_sum, rel=1e-12)


def test_an_impostor_costs_more_the_nearer_it_is():
    points = np.array([[0.0], [1.0], [1.5], [4.0]])
    near = MarginProblem(points, np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [2]]), 0.5)
    far = replace(near, points=np.array([[0.0], [1.0], [3.5], [6.0]]))
    assert loss_of(near, np.eye(1)).loss > loss_of(far, np.eye(1)).loss


def test_target_neighbours_are_the_nearest_of_the_class():
    points = np.array([[0.0], [0.1], [1.0], [0.2], [5.0], [0.05]])
    found = target_neighbours(points, np.array([0, 0, 0, 1, 1, 1]), 2)
    assert found.tolist() == [[1, 2], [0, 2], [1, 0], [5, 4], [3, 5], [3, 4]]


# ---- the optimum ----


def on_a_line() -> MarginProblem:
    """Classes {0, 1} and {3, 4} on a line, k = 1, whose optimum is worked out by hand.

    Pull: 4 target pairs of squared length 1, ½ · 4 m. Push: the triples that join 1 and 3 ask for
    1 + m − 4 m ≤ 0, the strictest, and there are two. For m < 1/3 the slope is at most
    2 − ½ · 2 · 3 < 0, beyond it is 2: the optimum is m = 1/3, with a loss of 2/3.
    """
    points = np.array([[0.0], [1.0], [3.0], [4.0]])
    return MarginProblem(points, np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [2]]), 0.5)


def test_the_optimum_on_a_line_is_that_worked_out_by_hand():
    found = solve_margins(on_a_line(), 1e-4, 2000)
    assert found.converged
    assert found.loss == pytest.approx(2 / 3, rel=1e-3)
    np.testing.assert_allclose(found.metric, [[1 / 3]], rtol=1e-3)


def test_the_optimum_on_a_slanted_line_has_rank_one():
    along = np.array([[0.6, 0.8]])
    slanted = replace(on_a_line(), points=on_a_line().points @ along + [10.0, -3.0])
    found = solve_margins(slanted, 1e-4, 2000)
    np.testing.assert_allclose(found.metric, along.T @ along / 3, rtol=1e-3, atol=1e-6)


def test_a_direction_without_pull_is_stretched_until_nothing_is_lost():
    """(0, 0), (0, 1) against (2, 0), (2, 1): with M = diag(m, 0) and m ≥ 1/4 the loss is 0."""
    points = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    found = solve_margins(replace(on_a_line(), points=points), 1e-3, 2000)
    assert found.converged
    assert found.loss < 1e-6
    assert found.metric[0, 0] >= 0.25 - 1e-6
    np.testing.assert_allclose(found.metric[1], 0, atol=1e-6)


def test_every_start_leads_to_the_same_optimum():
    problem = little_problem()
    starts = [np.zeros((3, 3)), np.eye(3), some_metric(3, 5), 30 * some_metric(3, 6)]
    found = [minimise_margin_loss(problem, start, 1e-4, 5000) for start in starts]
    assert all(each.converged for each in found)
    for each in found[1:]:
        assert each.loss == pytest.approx(found[0].loss, rel=2e-4)
        np.testing.assert_allclose(each.metric, found[0].metric, atol=2e-2 * found[0].metric.max())


def test_whitening_changes_nothing_but_the_way():
    problem = little_problem()
    plain = minimise_margin_loss(problem, np.eye(3), 1e-4, 5000)
    found = solve_margins(problem, 1e-4, 5000)
    assert found.loss == pytest.approx(plain.loss, rel=2e-4)
    assert found.loss == pytest.approx(slow_loss(problem, found.metric), rel=1e-6)


def test_no_metric_has_a_loss_below_the_bound():
    problem = little_problem()
    found = solve_margins(problem, 1e-3, 5000)
    assert found.bound <= found.loss <= found.bound * 1.0011
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            noise = rng.normal(size=(3, 3)) * size * np.abs(found.metric).max()
            other = project_to_cone(found.metric + noise + noise.T)
            assert loss_of(problem, other).loss >= found.bound * (1 - 1e-9)


def test_the_metric_is_positive_semi_definite_and_symmetric():
    found = solve_margins(little_problem(), 1e-3, 5000)
    np.testing.assert_allclose(found.metric, found.metric.T, atol=1e-12)
    assert np.linalg.eigvalsh(found.metric).min() > -1e-12


def test_the_units_of_the_features_do_not_matter():
    problem = little_problem()
    small = solve_margins(problem, 1e-4, 5000)
    large = solve_margins(replace(problem, points=1000 * problem.points), 1e-4, 5000)
    np.testing.assert_allclose(large.metric * 1e6, small.metric, rtol=1e-4, atol=1e-6)


def test_a_constant_feature_gets_no_weight():
    problem = little_problem()
    wider = replace(problem, points=np.column_stack([problem.points, np.full(24, 7.0)]))
    found = solve_margins(wider, 1e-3, 5000)
    np.testing.assert_allclose(found.metric[3], 0, atol=1e-9)


# ---- the learner ----


def test_the_history_is_told():
    X, y = make_blobs(60, 4, centers=3, cluster_std=3.0, random_state=0)
    learner = LMNNLearner(tol=1e-2).fit(X, y)
    history = learner.history_
    assert history["converged"]
    assert len(history["training"]) == history["n_iter"] == learner.n_iter_
    assert history["training"][-1] < history["training"][0]
    assert history["bound"] <= history["training"][-1] <= 1.02 * history["bound"]


def test_stopping_early_is_warned_of_with_what_may_be_left():
    X, y = make_blobs(60, 4, centers=3, cluster_std=3.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 steps, its loss at most \d+.*above"):
        learner = LMNNLearner(max_iter=2).fit(X, y)
    assert not learner.history_["converged"]


def test_a_class_with_too_few_items_is_refused_with_its_row():
    X = np.random.default_rng(0).normal(size=(8, 2))
    y = [-1, 0, 0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"k=3 .* at least 4 items, but 3 .* first row 5 \(class"):
        LMNNLearner(k=3).fit(X, y)
    LMNNLearner(k=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"push": 0.0}, "push must be finite and above 0"),
        ({"push": 1.0}, "push must be below 1, got 1"),
        ({"tol": 0.0}, "tol must be finite and above 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
    ],
)
def test_wrong_parameters_are_refused(parameters, sentence):
    X, y = make_blobs(20, 3, centers=2, random_state=0)
    with pytest.raises(ValueError, match=sentence):
        LMNNLearner(**parameters).fit(X, y)
