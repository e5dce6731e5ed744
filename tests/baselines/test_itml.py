"""Information-Theoretic Metric Learning: by hand, against Algorithm 1 as printed, and optimal."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from twofold._core.warnings import RelationWarning
from twofold.baselines._itml import ITMLLearner, distance_bounds, distance_constraints
from twofold.baselines._itml_projections import DistanceConstraints, project_onto_constraints
from twofold.relations import LabelRelation, PairRelation, TripletRelation

X, Y = make_blobs(60, 5, centers=3, cluster_std=4.0, random_state=0)


def constraints(differences, sign, bound, gamma=1.0) -> DistanceConstraints:
    differences = np.asarray(differences, dtype=np.float64)
    every = np.ones(len(differences))
    return DistanceConstraints(differences, sign * every, bound * every, gamma * every)


def some_constraints(gamma: float = 1.0, n: int = 40) -> DistanceConstraints:
    """Distances of random differences that are to be shorter, or longer, than most are."""
    rng = np.random.default_rng(0)
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return constraints(rng.normal(size=(n, 4)), sign, np.where(sign > 0, 2.0, 5.0), gamma)


def algorithm_1(given: DistanceConstraints, n_sweeps: int):
    """Davis et al. (2007), as printed, for γ = 1; δ = 1 if similar, −1 if not."""
    A = np.eye(given.differences.shape[1])
    lam, xi, gamma = np.zeros(len(given.sign)), given.bound.copy(), 1.0
    for _ in range(n_sweeps):
        for c, v in enumerate(given.differences):
            p = v @ A @ v
            delta = given.sign[c]
            alpha = min(lam[c], delta / 2 * (1 / p - gamma / xi[c]))
            beta = delta * alpha / (1 - delta * alpha * p)
            xi[c] = gamma * xi[c] / (gamma + delta * alpha * xi[c])
            lam[c] = lam[c] - alpha
            A = A + beta * A @ np.outer(v, v) @ A
    return A, lam, xi


def squared_by(metric, differences):
    return np.einsum("ci,ij,cj->c", differences, metric, differences)


# ---- projections ----


def test_one_similar_pair_ends_at_the_harmonic_mean():
    """‖v‖² = 4 and u = 1: 1/p' = (1/4 + 1/1) / 2, p' = 1.6, so that M = diag(1.6/4, 1)."""
    found = project_onto_constraints(constraints([[2.0, 0.0]], 1, 1.0), 1e-9, 100)
    np.testing.assert_allclose(found.metric, np.diag([0.4, 1.0]), rtol=1e-12)
    np.testing.assert_allclose(found.bound, 1.6, rtol=1e-12)
    assert found.converged


def test_one_dissimilar_pair_ends_at_the_harmonic_mean():
    """‖v‖² = 1 and l = 4: 1/p' = (1 + 1/4) / 2, p' = 1.6."""
    found = project_onto_constraints(constraints([[1.0, 0.0]], -1, 4.0), 1e-9, 100)
    np.testing.assert_allclose(found.metric, np.diag([1.6, 1.0]), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.01, 0.5, 3.0, 1e6])
@pytest.mark.parametrize("sign", [1, -1])
def test_one_pair_has_a_closed_form_for_every_gamma(gamma, sign):
    """1/p' = (1/p + γ/ξ) / (1 + γ), and M = I + (p' − p)/p² v vᵀ."""
    v, bound = np.array([1.0, -2.0, 0.5]), 2.0 if sign > 0 else 11.0
    p = v @ v
    wanted = (1 + gamma) / (1 / p + gamma / bound)
    found = project_onto_constraints(constraints([v], sign, bound, gamma), 1e-9, 100)
    np.testing.assert_allclose(found.metric, np.eye(3) + (wanted - p) / p**2 * np.outer(v, v))


@pytest.mark.parametrize(("sign", "bound"), [(1, 10.0), (-1, 0.01)])
def test_constraints_that_hold_leave_the_identity(sign, bound):
    given = constraints(np.eye(4), sign, bound)
    found = project_onto_constraints(given, 1e-3, 10)
    np.testing.assert_array_equal(found.metric, np.eye(4))
    np.testing.assert_array_equal(found.multipliers, 0)
    np.testing.assert_array_equal(found.bound, given.bound)
    assert found.converged
    assert found.history == [0.0]


def test_a_constraint_that_holds_is_not_projected_onto():
    given = constraints([[2.0, 0.0], [0.0, 0.5]], 1, 1.0)
    found = project_onto_constraints(given, 1e-9, 10)
    assert found.multipliers[0] > 0 == found.multipliers[1]
    np.testing.assert_allclose(found.metric, np.diag([0.4, 1.0]))


@pytest.mark.parametrize("n_sweeps", [1, 2, 25])
def test_projections_are_those_of_the_algorithm_as_printed(n_sweeps):
    given = some_constraints()
    found = project_onto_constraints(given, 0.0, n_sweeps)
    metric, multipliers, bound = algorithm_1(given, n_sweeps)
    np.testing.assert_allclose(found.metric, metric, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.multipliers, multipliers, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.bound, bound, rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_what_is_found_is_the_optimum(gamma):
    """Stationary in M and in ξ, feasible, λ ≥ 0 and 0 where a constraint is slack."""
    given = some_constraints(gamma)
    found = project_onto_constraints(given, 1e-12, 20_000)
    signed = given.sign * found.multipliers
    inverse = np.eye(4) + (given.differences.T * signed) @ given.differences
    np.testing.assert_allclose(np.linalg.inv(found.metric), inverse, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(1 / found.bound, 1 / given.bound - signed / gamma, rtol=1e-8)
    excess = given.sign * (squared_by(found.metric, given.differences) - found.bound)
    assert excess.max() < 1e-6
    assert found.multipliers.min() >= 0
    np.testing.assert_allclose(found.multipliers * excess, 0, atol=1e-6)
    assert found.converged


def test_the_metric_stays_symmetric_and_positive_definite():
    for n_sweeps in (1, 10, 300):
        metric = project_onto_constraints(some_constraints(50.0, 400), 0.0, n_sweeps).metric
        np.testing.assert_array_equal(metric, metric.T)
        assert np.linalg.eigvalsh(metric).min() > 0


def test_alike_pairs_come_nearer_and_others_part():
    given = constraints([[2.0, 0.5], [0.5, 1.0]], np.array([1, -1]), np.array([1.0, 4.0]))
    after = project_onto_constraints(given, 1e-6, 1000).metric
    ratio = squared_by(after, given.differences) / np.square(given.differences).sum(axis=1)
    assert ratio[0] < 1 < ratio[1]


# ---- constraints ----


def test_the_bounds_are_percentiles_of_all_squared_distances():
    gaps = np.array([np.square(a - b).sum() for i, a in enumerate(X) for b in X[:i]])
    found = distance_bounds(X, np.random.default_rng(0))
    np.testing.assert_allclose(found, np.percentile(gaps, [5, 95]))


def test_the_bounds_of_many_items_are_those_of_a_sample():
    many = np.random.default_rng(0).normal(size=(2000, 3))
    found = distance_bounds(many, np.random.default_rng(0))
    # Squared distances of standard normal points are 2 χ² with 3 degrees of freedom.
    np.testing.assert_allclose(found, [2 * 0.3518, 2 * 7.815], rtol=0.1)


def test_a_doubled_pair_is_weight_two():
    single = PairRelation([0, 1, 2], [3, 4, 5], [1, 0, 1], 60, weight=[2, 1, 1])
    doubled = PairRelation([0, 0, 1, 2], [3, 3, 4, 5], [1, 1, 0, 1], 60)
    found = [
        project_onto_constraints(distance_constraints(X, pairs, (5.0, 300.0), 0.7), 1e-12, 10_000)
        for pairs in (single, doubled)
    ]
    np.testing.assert_allclose(found[0].metric, found[1].metric, rtol=1e-6, atol=1e-9)


def test_a_grade_above_one_half_is_alike_and_weight_nothing_is_nothing():
    pairs = PairRelation([0, 1, 2], [3, 4, 5], [0.6, 0.5, 1], 60, weight=[1, 1, 0])
    found = distance_constraints(X, pairs, (1.0, 2.0), 3.0)
    assert found.sign.tolist() == [1, -1]
    assert found.bound.tolist() == [1, 2]
    assert found.stiffness.tolist() == [3, 3]
    np.testing.assert_array_equal(found.differences, X[[0, 1]] - X[[3, 4]])


def test_pairs_of_equal_features_are_left_out_and_those_to_part_are_warned_of():
    same = X.copy()
    same[[4, 5]] = same[[1, 2]]
    pairs = PairRelation([0, 1, 2], [3, 4, 5], [1, 0, 1], 60)
    with pytest.warns(RelationWarning, match="1 pair.* equal features, first items 1 and 4"):
        found = distance_constraints(same, pairs, (1.0, 2.0), 1.0)
    assert len(found.sign) == 1


def n_learnt_from(relation, **parameters) -> int:
    learner = ITMLLearner(random_state=0, **parameters)
    return learner._stated_pairs(relation, np.random.default_rng(0)).n_pairs


def test_labels_give_twenty_constraints_a_squared_class():
    assert n_learnt_from(LabelRelation(Y)) == 20 * 3**2
    assert n_learnt_from(LabelRelation(Y), n_constraints=50) == 50
    assert n_learnt_from(LabelRelation(Y), n_similar=1, n_dissimilar=1) == 120


def test_stated_pairs_are_all_learnt_from_unless_asked_otherwise():
    pairs = LabelRelation(Y).sample_pairs(random_state=0)
    assert n_learnt_from(pairs) == pairs.n_pairs == 1200
    assert n_learnt_from(pairs, n_constraints=7) == 7


def test_unknown_items_have_no_say():
    y = np.where(np.arange(60) % 5 == 0, -1, Y)
    wild = X.copy()
    wild[::5] *= 1e6
    found = [ITMLLearner(random_state=0).fit(rows, y) for rows in (X, wild)]
    assert found[0].bounds_ == found[1].bounds_
    np.testing.assert_array_equal(found[0].components_, found[1].components_)


# ---- the learner ----


def test_several_labels_are_learnt_from():
    labels = np.column_stack([Y == 0, Y != 2, Y == 2]).astype(int)
    learner = ITMLLearner(random_state=0).fit(X, labels)
    assert learner.history_["converged"]
    assert learner.score(X, labels) > 0.5


def test_stopping_early_is_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 sweeps; the last one changed"):
        learner = ITMLLearner(max_iter=1, random_state=0).fit(X, Y)
    assert not learner.history_["converged"]
    assert learner.n_iter_ == 1


def test_triplets_are_refused():
    with pytest.raises(TypeError, match="learns from pairs or labels; for triplets use TripletLe"):
        ITMLLearner().fit(X, relation=TripletRelation([0], [1], [2], 60))


def test_items_that_all_coincide_are_refused():
    with pytest.raises(ValueError, match="All or nearly all training items have equal features"):
        ITMLLearner().fit(np.ones_like(X), Y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"gamma": 0.0}, "gamma must be finite and above 0"),
        ({"tol": -1.0}, "tol must be finite and above 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"n_constraints": 0}, "n_constraints must be at least 1"),
        ({"n_constraints": "all"}, "n_constraints must be a number or 'auto', got 'all'"),
        ({"n_similar": -1}, "n_similar must be at least 0"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_parameters_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        ITMLLearner(**parameters).fit(X, Y)
