"""`solve_targets` at the edges, and the sentences that bad input gets."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle

from twofold._core.warnings import RelationWarning
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets import solve_targets
from twofold.targets._engine_cpu import CpuEngine

BOTH_LOSSES = pytest.mark.parametrize("loss", ["contrastive", "dot"])


def solve(relation, dim, **options):
    return solve_targets(relation, dim, **{"device": "cpu", "random_state": 0, **options})


def distance(points: np.ndarray, i: int, j: int) -> float:
    return float(np.linalg.norm(points[i].astype(np.float64) - points[j]))


@BOTH_LOSSES
@pytest.mark.parametrize("similar", [1.0, 0.0, 0.4])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_one_pair_is_solved(loss, similar, dim):
    solution = solve(PairRelation([0], [1], [similar], 2), dim, loss=loss, tol=1e-5)
    least = 0.4 * 0.6 if (loss, similar) == ("contrastive", 0.4) else 0.0  # m² y (1 − y)
    assert solution.loss == pytest.approx(least, abs=5e-3)
    assert np.isfinite(solution.points).all()


@BOTH_LOSSES
def test_parts_that_no_pair_joins_are_each_solved(loss):
    relation = PairRelation([0, 1, 0, 3, 4, 3], [1, 2, 2, 4, 5, 5], [1, 0, 0, 1, 0, 0], 6)
    solution = solve(relation, 3, loss=loss, tol=1e-5)
    assert solution.loss < 1e-3
    assert oracle.least_similarity_gap(relation, solution.points, loss) > 0.8


@BOTH_LOSSES
def test_contradictory_pairs_meet_halfway(loss):
    with pytest.warns(RelationWarning, match="1 pair"):
        relation = PairRelation([0, 1], [1, 0], [1, 0], 2)
    points = solve(relation, 2, loss=loss, tol=1e-6).points
    # ½ (d² + (1 − d)²) is least at d = ½, and ½ (½ (1 − q)² + ½ q²) at q = ½.
    measure = distance(points, 0, 1) if loss == "contrastive" else float(points[0] @ points[1])
    assert measure == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("place", [0.0, 1.0, 50.0])
def test_coincident_points_that_are_not_alike_come_apart(place):
    relation = PairRelation([0, 1, 0], [1, 2, 2], [0, 0, 0], 3)
    solution = solve(relation, 2, init=np.full((3, 2), place))
    for i, j in ((0, 1), (1, 2), (0, 2)):
        assert distance(solution.points, i, j) > 0.95


def test_coincident_points_at_zero_learn_dot_products():
    relation = PairRelation([0, 1, 0], [1, 2, 2], [1, 0, 0], 3)
    solution = solve(relation, 2, loss="dot", init=np.zeros((3, 2)), tol=1e-5)
    assert solution.loss < 0.01


def test_coincident_points_satisfy_triplets():
    relation = TripletRelation([0, 1, 2], [1, 0, 3], [2, 3, 0], 4)
    assert solve(relation, 2, init=np.ones((4, 2))).loss == 0


@BOTH_LOSSES
def test_a_prior_whose_points_coincide_is_left_where_pairs_ask(loss):
    relation = PairRelation([0, 1, 0], [1, 2, 2], [1, 0, 0], 3)
    solution = solve(relation, 2, loss=loss, prior=np.zeros((3, 2)), prior_weight=1e-3, tol=1e-5)
    assert oracle.least_similarity_gap(relation, solution.points, loss) > 0.5


@BOTH_LOSSES
def test_more_dimensions_than_items(loss):
    relation = PairRelation([0, 1, 0], [1, 2, 2], [1, 0, 0], 3)
    solution = solve(relation, 40, loss=loss, tol=1e-5)
    assert solution.points.shape == (3, 40)
    assert solution.loss < 1e-3


def test_one_class_is_refused_by_the_relation():
    with pytest.raises(ValueError, match="All 4 items with known labels have a label in common"):
        LabelRelation([3, 3, 3, 3])


@BOTH_LOSSES
def test_only_similar_pairs_are_satisfied(loss):
    relation = PairRelation([0, 1, 2], [1, 2, 3], [1, 1, 1], 4)
    assert solve(relation, 2, loss=loss, tol=1e-6).loss < 1e-3


@BOTH_LOSSES
def test_only_dissimilar_pairs_are_satisfied(loss):
    relation = PairRelation([0, 0, 1], [1, 2, 2], [0, 0, 0], 3)
    solution = solve(relation, 3, loss=loss)
    assert solution.loss < 1e-3
    if loss == "contrastive":
        assert min(distance(solution.points, i, j) for i, j in ((0, 1), (1, 2), (0, 2))) > 0.95


@BOTH_LOSSES
def test_grades_of_one_half_only_are_learned(loss):
    # The start's signs are 2 y − 1 = 0 for all of them.
    relation = PairRelation([0, 1], [1, 2], [0.5, 0.5], 3)
    solution = solve(relation, 2, loss=loss, tol=1e-5)
    least = {"contrastive": 0.25, "dot": 0.0}[loss]
    assert solution.loss == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize("init", [None, "random"])
def test_dot_products_represent_a_like_b_like_c_with_a_unlike_c(init):
    relation = PairRelation([0, 1, 0], [1, 2, 2], [1, 1, 0], 3)
    solution = solve(relation, 2, loss="dot", init=init, tol=1e-7, max_epochs=2000)
    a, b, c = solution.points.astype(np.float64)
    assert (a @ b, b @ c, a @ c) == pytest.approx((1, 1, 0), abs=0.03)


@BOTH_LOSSES
def test_a_loss_that_is_not_finite_is_an_error_that_names_the_epoch(loss):
    relation = PairRelation([0, 1, 0], [1, 2, 2], [1, 0, 0], 3)
    init = np.array([[1e30, 0], [-1e30, 1e30], [1e30, 1e30]])
    with pytest.raises(FloatingPointError, match=r"(inf|nan) in epoch 0\. Check init"):
        solve(relation, 2, loss=loss, init=init)


def test_a_loss_that_is_not_finite_later_names_that_epoch(monkeypatch):
    losses = iter([1.0, 0.5, float("nan")])
    monkeypatch.setattr(CpuEngine, "sweep", lambda engine, step: next(losses))
    with pytest.raises(FloatingPointError, match=r"became nan in epoch 2\."):
        solve(PAIRS, 2)


def test_a_relation_of_the_wrong_type_is_refused():
    with pytest.raises(TypeError, match=r"must be a PairRelation.*got list"):
        solve_targets([[0, 1]], 2)


PAIRS = PairRelation([0, 1], [1, 2], [1, 0], 3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": -3}, ValueError, "n_components must be at least 1, got -3"),
        ({"n_components": 2.0}, TypeError, r"n_components must be an integer, got 2\.0 \(float\)"),
        ({"n_components": True}, TypeError, r"n_components must be an integer, got True \(bool\)"),
        ({"n_components": "2"}, TypeError, r"n_components must be an integer, got '2' \(str\)"),
        ({"loss": "cosine"}, ValueError, "loss must be one of 'contrastive', 'dot', got 'cosine'"),
        ({"method": "sgd"}, ValueError, "method must be one of .*got 'sgd'"),
        ({"device": "tpu"}, ValueError, "device must be .*got 'tpu'"),
        ({"device": "cuda:999"}, ValueError, "device='cuda:999' is not available"),
        ({"margin": 0}, ValueError, "margin must be finite and above 0, got 0"),
        ({"margin": -1.5}, ValueError, r"margin must be finite and above 0, got -1\.5"),
        ({"margin": np.nan}, ValueError, "margin must be finite and above 0, got nan"),
        ({"margin": "1"}, TypeError, r"margin must be a number, got '1' \(str\)"),
        ({"max_epochs": 0}, ValueError, "max_epochs must be at least 1, got 0"),
        ({"max_epochs": 2.5}, TypeError, r"max_epochs must be an integer, got 2\.5"),
        ({"tol": -1e-3}, ValueError, r"tol must be finite and at least 0, got -0\.001"),
        ({"prior_weight": -2}, ValueError, "prior_weight must be finite and at least 0, got -2"),
        ({"init": "warm"}, ValueError, "init must be an array, 'random' or None, got 'warm'"),
        ({"init": np.zeros((3, 5))}, ValueError, r"init must have shape .*\(3, 2\), got \(3, 5\)"),
        ({"init": np.zeros(3)}, ValueError, r"init must have shape .*\(3, 2\), got \(3,\)"),
        ({"prior": np.zeros((4, 2))}, ValueError, r"prior must have shape .*got \(4, 2\)"),
        (
            {"init": [[0, 0], [0, np.nan], [0, np.nan]]},
            ValueError,
            r"init must be finite; 2 row\(s\) are not, first row 1",
        ),
        (
            {"prior": [[0, 0], [0, 1], [np.inf, 0]]},
            ValueError,
            r"prior must be finite; 1 row\(s\) are not, first row 2",
        ),
        ({"random_state": "x"}, ValueError, "random_state must be .*got 'x'"),
        ({"random_state": -1}, ValueError, "random_state must be .*got -1"),
        ({"method": "exact"}, ValueError, "'exact' is not possible: only a LabelRelation"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, dict) else None,
)
def test_a_wrong_argument_gets_one_sentence_with_its_value(options, error, message):
    with pytest.raises(error, match=message):
        solve_targets(PAIRS, **{"n_components": 2, "device": "cpu", "random_state": 0, **options})


MULTI_LABEL = LabelRelation([[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0]])
CLASSES = LabelRelation(["a", "b", "c", "a"])
TRIPLETS = TripletRelation([0], [1], [2], 3)


@pytest.mark.parametrize(
    ("relation", "options", "message"),
    [
        (MULTI_LABEL, {"loss": "contrastive"}, "for classes only"),
        (CLASSES, {"n_components": 1}, "3 classes needs n_components of at least 2, got 1"),
        (CLASSES, {"init": np.zeros((4, 2))}, "cannot use init or prior"),
        (CLASSES, {"init": "random"}, "cannot use init or prior"),
        (CLASSES, {"loss": "dot", "prior": np.zeros((4, 2))}, "cannot use init or prior"),
        (TRIPLETS, {}, "only a LabelRelation knows every pair"),
    ],
)
def test_an_exact_solution_that_does_not_exist_is_refused_with_its_reason(
    relation, options, message
):
    with pytest.raises(ValueError, match=f"method='exact' is not possible: .*{message}"):
        solve_targets(relation, **{"n_components": 2, "method": "exact", **options})
