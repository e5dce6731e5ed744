"""Targets near points: as near as the prior asks, moved as far as statements ask."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from twofold.relations import PairRelation, TripletRelation
from twofold.targets import target_solver

POINTS = np.array([[0, 0], [1, 0], [0, 1], [3, 1], [2, 2]], np.float32)
PAIRS = PairRelation([0, 2, 1, 3], [1, 4, 2, 4], [1, 1, 0, 0], 5)
TRIPLETS = TripletRelation([0, 3, 1], [3, 1, 4], [1, 4, 2], 5)


def solver_of(statements, start=POINTS, margin: float = 1.0):
    return target_solver(statements, start, "contrastive", margin, "cpu")


def near(statements, points=POINTS) -> np.ndarray:
    return solver_of(statements, points).near(points, np.random.default_rng(0))


def distances(points, left, right) -> np.ndarray:
    return np.linalg.norm(points[left] - points[right], axis=1)


def joint_objective(targets, margin: float) -> float:
    """1/|Z| Σ L + λ/2n Σ ‖t − p‖² with λ = n/|Z|, in float64; of each kind there are two pairs."""
    targets = np.asarray(targets, dtype=float).reshape(POINTS.shape)
    gaps = distances(targets, PAIRS.left, PAIRS.right)
    losses = np.where(PAIRS.similar > 0.5, gaps**2, np.maximum(0, margin - gaps) ** 2)
    return losses.mean() + np.sum((targets - POINTS) ** 2) / (2 * PAIRS.n_pairs)


def test_targets_minimise_the_joint_objective():
    margin = solver_of(PAIRS).margin
    best = minimize(joint_objective, POINTS.astype(float).ravel(), args=(margin,)).fun
    start, reached = joint_objective(POINTS, margin), joint_objective(near(PAIRS), margin)
    assert reached - best < 0.02 * (start - best)


def test_what_is_alike_comes_together_and_what_is_not_goes_apart():
    moved = distances(near(PAIRS), PAIRS.left, PAIRS.right)
    moved -= distances(POINTS, PAIRS.left, PAIRS.right)
    assert (moved[:2] < -0.05).all()
    assert (moved[2:] > 0.05).all()


@pytest.mark.parametrize("statements", [PAIRS, TRIPLETS])
def test_what_is_stated_again_and_again_outweighs_the_prior(statements):
    once, twice = near(statements) - POINTS, near(statements.merge(statements)) - POINTS
    assert 0 < 1.05 * np.linalg.norm(once) < np.linalg.norm(twice)


def test_an_item_in_no_statement_that_is_kept_stays_where_it_is():
    targets = near(PAIRS.take_pairs([0, 3]))
    np.testing.assert_allclose(targets[2], POINTS[2], atol=1e-4)
    assert np.abs(targets[0] - POINTS[0]).max() > 0.05


@pytest.mark.parametrize("size", [0.1, 20])
def test_the_margin_of_pairs_is_in_the_distances_of_the_start(size):
    margin = solver_of(PAIRS, size * POINTS).margin
    assert margin == pytest.approx(size * solver_of(PAIRS).margin, rel=1e-5)
    assert solver_of(PAIRS, size * POINTS, margin=2.0).margin == pytest.approx(2 * margin)
    assert 0 < solver_of(PAIRS, 0 * POINTS).margin < np.inf


@pytest.mark.parametrize("statements", [PAIRS, TRIPLETS])
@pytest.mark.parametrize("size", [0.1, 20])
def test_larger_points_have_targets_that_are_larger_by_as_much(statements, size):
    targets = near(statements, (size * POINTS).astype(np.float32))
    np.testing.assert_allclose(targets / size, near(statements), atol=0.1)


def test_both_kinds_of_pairs_count_alike():
    few_alike = PairRelation([0, 1, 1, 2, 2], [1, 2, 3, 3, 4], [1, 0, 0, 0, 0], 5)
    weight = solver_of(few_alike).statements.weight
    assert weight[0] == pytest.approx(weight[1:].sum())


def test_triplets_that_are_out_of_order_come_into_order():
    def lead(points):
        to_negative = distances(points, TRIPLETS.anchor, TRIPLETS.negative) ** 2
        return to_negative - distances(points, TRIPLETS.anchor, TRIPLETS.positive) ** 2

    wrong = lead(POINTS) < 0
    assert wrong.any()
    assert (lead(near(TRIPLETS)) > lead(POINTS) + 0.5)[wrong].all()
