"""Exact targets of labels against dense eigendecompositions and sums over all pairs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import target_oracles as oracle
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from twofold._core.warnings import RelationWarning, TargetWarning
from twofold.relations import LabelRelation
from twofold.targets import ContrastiveLoss, DotLoss, solve_targets

GRADES = pytest.mark.parametrize("grade", ["overlap", "jaccard"])


def random_labels(
    rng: np.random.Generator, n_items: int, n_labels: int, *, with_empty: bool = False
) -> np.ndarray:
    """Label vectors that occur several times, some more often than others."""
    distinct = (rng.random((max(2, n_items // 3), n_labels)) < 0.4).astype(int)
    distinct[np.arange(len(distinct)), rng.integers(n_labels, size=len(distinct))] = 1
    if with_empty:
        distinct[0] = 0
    often = rng.dirichlet(np.ones(len(distinct)))
    labels = distinct[rng.choice(len(distinct), size=n_items, p=often)]
    labels[: len(distinct)] = distinct
    return labels


def relation_of(labels, grade: str = "overlap") -> LabelRelation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # empty rows are tested on purpose
        return LabelRelation(labels, grade)


def solve_exactly(relation: LabelRelation, dim: int, loss: str = "dot"):
    return solve_targets(relation, dim, loss=loss, method="exact")


@GRADES
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(6, 30),
    n_labels=st.integers(2, 6),
    dim=st.integers(1, 12),
    with_empty=st.booleans(),
)
def test_inner_products_and_loss_are_those_of_the_dense_solution(
    grade, seed, n_items, n_labels, dim, with_empty
):
    labels = random_labels(np.random.default_rng(seed), n_items, n_labels, with_empty=with_empty)
    assume(not labels.all(axis=0).any())  # a label that all have is refused
    relation = relation_of(labels, grade)
    assume(not relation.is_partition)
    gram, gap = oracle.exact_gram(labels, grade, dim)
    assume(gap > 1e-3)
    solution = solve_exactly(relation, dim)
    points = solution.points.astype(np.float64)
    np.testing.assert_allclose(points @ points.T, gram, atol=1e-5)
    expected = oracle.mean_loss_of_all_pairs(relation, points, DotLoss())
    assert solution.loss == pytest.approx(expected, rel=1e-4, abs=1e-6)


@GRADES
def test_sparse_and_dense_labels_have_the_same_targets(grade):
    labels = random_labels(np.random.default_rng(0), 40, 6)
    dense = solve_exactly(relation_of(labels, grade), 4).points
    found = solve_exactly(relation_of(sparse.csr_array(labels), grade), 4).points
    np.testing.assert_allclose(found, dense, atol=1e-5)


@GRADES
def test_equal_label_vectors_share_a_target(grade):
    labels = random_labels(np.random.default_rng(1), 40, 5)
    points = solve_exactly(relation_of(labels, grade), 3).points
    for vector in np.unique(labels, axis=0):
        shared = points[(labels == vector).all(axis=1)]
        assert (shared == shared[0]).all()


def test_the_targets_of_items_do_not_depend_on_their_order():
    rng = np.random.default_rng(2)
    labels = random_labels(rng, 40, 5)
    order = rng.permutation(40)
    points = solve_exactly(relation_of(labels), 3).points
    shuffled = solve_exactly(relation_of(labels[order]), 3).points
    np.testing.assert_allclose(shuffled, points[order], atol=1e-5)


def test_rows_without_a_label_are_at_zero():
    labels = random_labels(np.random.default_rng(3), 30, 5, with_empty=True)
    with pytest.warns(RelationWarning, match="have no label"):
        relation = LabelRelation(labels)
    points = solve_exactly(relation, 3).points
    empty = ~labels.any(axis=1)
    assert empty.any()
    assert not points[empty].any()
    assert points[~empty].any(axis=1).all()


@pytest.mark.parametrize("loss", ["dot", "contrastive"])
def test_items_of_unknown_class_are_at_zero(loss):
    points = solve_exactly(LabelRelation([0, -1, 1, 2, -1, 0]), 3, loss).points
    assert not points[[1, 4]].any()
    assert points[[0, 2, 3, 5]].any(axis=1).all()


@GRADES
def test_more_dimensions_than_the_rank_are_zero_columns(grade):
    labels = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 0, 0]])
    points = solve_exactly(relation_of(labels, grade), 10).points
    rank = {"overlap": 2, "jaccard": 3}[grade]
    assert points.shape == (5, 10)
    assert np.abs(points[:, :rank]).max(axis=0).min() > 0.1
    assert not points[:, 3:].any()
    np.testing.assert_allclose(points[:, rank:], 0, atol=1e-6)


def test_directions_of_negative_eigenvalues_are_left_out():
    labels = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])  # a ~ c ~ b, a ≁ b
    values = np.linalg.eigvalsh(oracle.grades(labels, "overlap"))
    assert values.min() < -0.1
    points = solve_exactly(relation_of(labels), 4).points
    assert np.isfinite(points).all()
    assert np.count_nonzero(points.any(axis=0)) == np.count_nonzero(values > 1e-9)


@GRADES
def test_exact_targets_are_deterministic_with_a_fixed_sign(grade):
    labels = random_labels(np.random.default_rng(4), 60, 6)
    relation = relation_of(labels, grade)
    first, second = (solve_exactly(relation, 4).points for _ in range(2))
    np.testing.assert_allclose(first, second, atol=1e-5)
    largest = np.abs(first).argmax(axis=0)
    assert (first[largest, np.arange(4)] > 0).all()


def test_columns_fall_in_the_weight_they_carry():
    points = solve_exactly(relation_of(random_labels(np.random.default_rng(5), 60, 6)), 4).points
    weights = (points.astype(np.float64) ** 2).sum(axis=0)
    assert (np.diff(weights) <= 1e-6).all()
    products = points.T.astype(np.float64) @ points
    np.testing.assert_allclose(products - np.diag(np.diag(products)), 0, atol=1e-4)


def test_the_fields_of_an_exact_solution():
    solution = solve_exactly(relation_of(random_labels(np.random.default_rng(6), 20, 4)), 2)
    assert (solution.method, solution.device) == ("exact", "cpu")
    assert solution.converged
    assert solution.n_epochs == 0
    assert solution.history.tolist() == [solution.loss]
    assert solution.points.dtype == np.float32


# Classes


def test_classes_have_one_direction_each_the_largest_first():
    relation = LabelRelation(["b", "a", "c", "c", "b", "c"])
    points = solve_exactly(relation, 4).points
    expected = {"c": [1, 0, 0, 0], "b": [0, 1, 0, 0], "a": [0, 0, 1, 0]}
    np.testing.assert_array_equal(points, [expected[name] for name in relation.labels])
    assert solve_exactly(relation, 4).loss == 0


def test_classes_are_solved_as_the_eigensolution_says():
    classes = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    gram, _ = oracle.exact_gram(np.eye(3)[classes], "overlap", 2)
    with pytest.warns(TargetWarning):
        points = solve_exactly(LabelRelation(classes), 2).points
    np.testing.assert_allclose(points @ points.T, gram, atol=1e-6)


def test_too_few_dimensions_for_the_classes_warn_and_cost_what_the_smallest_lose():
    relation = LabelRelation([0, 0, 1, 1, 1, 2, 2, 2, 2, -1, 3])
    with pytest.warns(
        TargetWarning, match="n_components=2 is less than the 4 classes: the 2 smallest"
    ) as w:
        solution = solve_targets(relation, 2, loss="dot", method="exact")
    assert w[0].filename == __file__
    assert not solution.points[[0, 1, 10]].any()
    expected = oracle.mean_loss_of_all_pairs(relation, solution.points, DotLoss())
    assert expected > 0
    assert solution.loss == pytest.approx(expected, rel=1e-6)


def test_by_default_more_classes_than_dimensions_are_spread_and_none_is_left_at_zero():
    classes = np.repeat(np.arange(12), 20)
    solution = solve_targets(LabelRelation(classes), 6, loss="dot", random_state=0)
    assert solution.method == "spread"
    centres = np.stack([solution.points[classes == k].mean(axis=0) for k in range(12)])
    gram = centres @ centres.T
    own, others = np.diag(gram), gram[~np.eye(12, dtype=bool)]
    assert own.min() > others.max() + 0.2


def test_a_label_that_no_item_has_is_no_class_to_place():
    labels = np.zeros((6, 3))
    labels[:3, 0] = labels[3:, 2] = 1
    solution = solve_targets(LabelRelation(labels), 2, loss="dot")  # a warning is an error here
    assert solution.loss == 0
    assert solve_exactly(LabelRelation(labels), 1, "contrastive").loss == 0


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("margin", [1.0, 0.001, 300.0])
def test_the_simplex_has_sides_of_at_least_the_margin_and_no_loss(n_classes, margin):
    codes = np.arange(n_classes)
    solution = solve_targets(LabelRelation(codes), n_classes - 1, method="exact", margin=margin)
    points = solution.points.astype(np.float64)
    left, right = np.triu_indices(n_classes, 1)
    sides = np.linalg.norm(points[left] - points[right], axis=1)
    assert sides.min() >= margin
    np.testing.assert_allclose(sides, margin, rtol=1e-5)
    assert solution.loss == 0


def test_the_simplex_loss_is_zero_over_all_pairs_and_spare_dimensions_are_zero():
    relation = LabelRelation([0, 1, 2, 0, 1, -1])
    points = solve_exactly(relation, 5, "contrastive").points
    assert oracle.mean_loss_of_all_pairs(relation, points, ContrastiveLoss()) == 0
    assert not points[:, 2:].any()
    np.testing.assert_array_equal(points[0], points[3])


# What Adam finds in the limit


def diagonal_errors(points: np.ndarray) -> float:
    """Σ (1 − t·t)², which the exact solution pays for and Adam does not."""
    t = points.astype(np.float64)
    return float(((1 - (t**2).sum(axis=1)) ** 2).sum())


@GRADES
@pytest.mark.parametrize("init", [None, "random"])
def test_adam_over_all_pairs_reaches_the_exact_loss_in_the_limit(grade, init):
    distinct = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    relation = LabelRelation(np.repeat(distinct, 25, axis=0), grade)
    n = relation.n_items
    exact = solve_exactly(relation, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # tol is out of reach on purpose
        adam = solve_targets(
            oracle.all_pairs(relation),
            3,
            loss="dot",
            init=init,
            tol=1e-9,
            max_epochs=1500,
            random_state=0,
            device="cpu",
        )
    assert exact.loss > 0.001
    assert adam.loss == pytest.approx(exact.loss, rel=0.05)
    # The exact points are the best with the diagonal; what another placement gains off it, it
    # must lose on it.
    gain = exact.loss - adam.loss
    free = (diagonal_errors(adam.points) - diagonal_errors(exact.points)) / (2 * n * (n - 1))
    assert gain <= free + 1e-6


@GRADES
@pytest.mark.parametrize("seed", range(3))
def test_no_adam_solution_is_lower_than_the_free_diagonal_explains(grade, seed):
    relation = relation_of(random_labels(np.random.default_rng(seed), 24, 5), grade)
    n = relation.n_items
    exact = solve_exactly(relation, 3)
    adam = solve_targets(
        oracle.all_pairs(relation), 3, loss="dot", random_state=seed, max_epochs=2000, device="cpu"
    )
    free = (diagonal_errors(adam.points) - diagonal_errors(exact.points)) / (2 * n * (n - 1))
    assert exact.loss - adam.loss <= free + 1e-6
