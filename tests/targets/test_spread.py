"""Many classes in few dimensions: a table of points on a sphere, and which one each item has."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.relations import LabelRelation, PairRelation
from twofold.targets import ContrastiveLoss, DotLoss, TargetSolution, solve_targets
from twofold.targets._spread import spread_points

BOTH_LOSSES = pytest.mark.parametrize("loss", ["contrastive", "dot"])


def solve(labels, dim: int, **options) -> TargetSolution:
    relation = LabelRelation(labels)
    return solve_targets(relation, dim, **{"loss": "dot", "random_state": 0, **options})


def cosines(points: np.ndarray) -> np.ndarray:
    """Of all pairs of different points."""
    unit = points.astype(np.float64) / np.linalg.norm(points, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(points), 1)]


# Points


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), n_points=st.integers(1, 300), dim=st.integers(2, 90))
def test_points_lie_on_the_unit_sphere(seed, n_points, dim):
    points = spread_points(n_points, dim, np.random.default_rng(seed))
    assert points.shape == (n_points, dim)
    assert points.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(("n_points", "dim"), [(400, 128), (200, 65), (1500, 20)])
def test_points_of_a_group_are_at_right_angles(n_points, dim):
    points = spread_points(n_points, dim, np.random.default_rng(0)).astype(np.float64)
    for start in range(0, n_points, dim):
        group = points[start : start + dim]
        np.testing.assert_allclose(group @ group.T, np.eye(len(group)), atol=1e-5)


@pytest.mark.parametrize(("n_points", "dim"), [(1000, 256), (3000, 100), (2000, 40)])
def test_points_of_different_groups_are_nearly_so(n_points, dim):
    found = np.abs(cosines(spread_points(n_points, dim, np.random.default_rng(0))))
    assert found.mean() < 0.8 / np.sqrt(dim)  # √(2/π dim) of directions drawn at random
    assert np.quantile(found, 0.999) < 3.7 / np.sqrt(dim)
    assert found.max() < 0.95


@pytest.mark.parametrize(
    ("n_points", "dim", "largest"),
    [(12, 2, 0.88), (4, 3, -0.3), (12, 6, 0.02), (64, 16, 0.25), (100, 8, 0.55)],
)
def test_a_few_points_are_as_far_apart_as_can_be(n_points, dim, largest):
    # The best there is: cos 30° on a circle, −1/3 of a simplex, 0 of ± each axis.
    for seed in range(3):
        assert cosines(spread_points(n_points, dim, np.random.default_rng(seed))).max() < largest


def test_no_two_of_many_points_in_few_dimensions_coincide():
    assert cosines(spread_points(4000, 10, np.random.default_rng(0))).max() < 1 - 1e-4


@pytest.mark.parametrize(("n_points", "dim"), [(300, 128), (50, 8)])
def test_the_same_seed_gives_the_same_points_and_another_others(n_points, dim):
    first, again, other = (
        spread_points(n_points, dim, np.random.default_rng(seed)) for seed in (3, 3, 4)
    )
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_one_component_is_no_sphere():
    with pytest.raises(ValueError, match="dim must be at least 2, got 1"):
        spread_points(5, 1, np.random.default_rng(0))


# Classes


@BOTH_LOSSES
def test_more_classes_than_fit_are_spread_by_default(loss):
    labels = np.arange(60) % 20
    fits = {"dot": 20, "contrastive": 19}[loss]
    assert solve(labels, fits, loss=loss).method == "exact"
    assert solve(labels, fits - 1, loss=loss).method == "spread"


@BOTH_LOSSES
def test_classes_that_would_fit_can_be_spread_too(loss):
    solution = solve([0, 1, 2, 0], 5, loss=loss, method="spread")
    assert solution.method == "spread"
    assert solution.table.shape == (3, 5)


def test_in_one_dimension_adam_places_the_classes():
    assert solve([0, 1, 2] * 4, 1, tol=0.5).method == "adam"


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), n_classes=st.integers(2, 40), dim=st.integers(2, 12))
def test_items_share_a_target_exactly_if_they_share_a_class(seed, n_classes, dim):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(
        np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=30)])
    )
    points = solve(labels, dim, method="spread", random_state=seed).points
    same = (points[:, None] == points[None]).all(axis=2)
    np.testing.assert_array_equal(same, labels[:, None] == labels[None])


@BOTH_LOSSES
def test_all_classes_have_the_same_length(loss):
    table = solve(np.arange(100) % 50, 8, loss=loss, margin=3.0).table
    length = {"dot": 1.0, "contrastive": 3 / np.sqrt(2)}[loss]
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), length, rtol=1e-5)


def test_classes_at_right_angles_are_the_margin_apart():
    table = solve(np.arange(200) % 100, 70, loss="contrastive", margin=2.5).table
    assert np.linalg.norm(table[0] - table[1]) == pytest.approx(2.5, rel=1e-5)


def test_the_largest_classes_share_the_first_group():
    labels = np.repeat(np.arange(100), np.arange(1, 101))
    solution = solve(labels, 70)
    by_size = solution.points[np.flatnonzero(np.diff(labels, prepend=-1))][::-1]
    np.testing.assert_array_equal(by_size, solution.table)
    np.testing.assert_allclose(by_size[:70] @ by_size[:70].T, np.eye(70), atol=1e-5)


def test_other_names_for_the_classes_change_nothing():
    codes = np.random.default_rng(0).integers(30, size=200)
    names = np.array([f"class {k:02d}" for k in range(30)])
    np.testing.assert_array_equal(solve(codes, 7).points, solve(names[codes], 7).points)


def test_the_order_of_items_does_not_change_their_targets():
    labels = np.random.default_rng(0).integers(30, size=200)
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_array_equal(solve(labels[order], 7).points, solve(labels, 7).points[order])


@BOTH_LOSSES
def test_unknown_items_have_no_target(loss):
    solution = solve([0, -1, 1, 2, 3, 4, -1, 0], 2, loss=loss)
    np.testing.assert_array_equal(solution.which < 0, [0, 1, 0, 0, 0, 0, 1, 0])
    assert not solution.points[[1, 6]].any()
    assert solution.points[[0, 2, 3, 4, 5, 7]].any(axis=1).all()
    assert len(solution.table) == 5


def test_every_class_may_have_one_item_only():
    solution = solve(np.arange(9), 4)
    assert cosines(solution.points).max() < 0.6


def test_a_label_that_no_item_has_takes_no_place():
    labels = np.zeros((12, 9))
    labels[np.arange(12), np.arange(12) % 4 * 2] = 1
    solution = solve(labels, 3)
    assert (solution.method, len(solution.table)) == ("spread", 4)
    assert set(solution.which.tolist()) == {0, 1, 2, 3}


@BOTH_LOSSES
def test_the_loss_is_about_that_of_all_pairs(loss):
    relation = LabelRelation(np.random.default_rng(0).integers(40, size=150))
    solution = solve_targets(relation, 5, loss=loss, random_state=0)
    objective = DotLoss() if loss == "dot" else ContrastiveLoss()
    expected = oracle.mean_loss_of_all_pairs(relation, solution.points, objective)
    assert solution.loss == pytest.approx(expected, rel=0.03)
    assert solution.history.tolist() == [solution.loss]


@BOTH_LOSSES
def test_it_loses_less_than_targets_that_were_drawn_at_random(loss):
    relation = LabelRelation(np.arange(120) % 40)
    solution = solve_targets(relation, 6, loss=loss, random_state=0)
    drawn = np.random.default_rng(0).standard_normal(solution.table.shape)
    drawn *= np.linalg.norm(solution.table[0]) / np.linalg.norm(drawn, axis=1, keepdims=True)
    objective = DotLoss() if loss == "dot" else ContrastiveLoss()
    losses = [
        oracle.mean_loss_of_all_pairs(relation, table[solution.which], objective)
        for table in (solution.table, drawn.astype(np.float32))
    ]
    assert losses[0] < 0.95 * losses[1]


@pytest.mark.parametrize(
    ("relation", "options", "reason"),
    [
        (PairRelation([0], [1], [1], 2), {}, "only a LabelRelation knows every pair"),
        (LabelRelation([[1, 1], [0, 1], [1, 0]]), {}, "only classes, one per item"),
        (LabelRelation([0, 1, 0]), {"init": "random"}, "cannot use init or prior"),
        (LabelRelation([0, 1, 0]), {"n_components": 1}, "n_components must be 2"),
    ],
)
def test_what_cannot_be_spread_is_refused_with_the_reason(relation, options, reason):
    with pytest.raises(ValueError, match=f"method='spread' is not possible: .*{reason}"):
        solve_targets(relation, **{"n_components": 3, "method": "spread", **options})


# What is shared


@pytest.mark.parametrize("dim", [3, 20])
def test_points_are_the_table_s_rows(dim):
    solution = solve([0, 1, 2, 3, 4, -1, 2, 2], dim)
    for item, row in enumerate(solution.which):
        expected = solution.table[row] if row >= 0 else np.zeros(dim)
        np.testing.assert_array_equal(solution.points[item], expected)
    assert solution.points.dtype == np.float32
    assert repr(solution).startswith(f"TargetSolution(8 points in {dim} dimensions")


def test_equal_label_vectors_are_one_row_of_the_table():
    solution = solve(np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]), 2)
    assert len(solution.table) == 3
    assert solution.which[0] == solution.which[2]


def test_items_in_pairs_have_a_target_each():
    pairs = PairRelation([0, 1], [1, 2], [1, 0], 3)
    solution = solve_targets(pairs, 2, random_state=0)
    assert solution.which is None
    assert solution.points is solution.table
