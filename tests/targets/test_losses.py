"""The losses against their equations, and the equations against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.relations import PairRelation, TripletRelation
from twofold.targets import ContrastiveLoss, DotLoss, TripletLoss
from twofold.targets._engine import Objective

PAIR_LOSSES = [ContrastiveLoss(), ContrastiveLoss(2.5), DotLoss()]


def weighted_pairs(rng: np.random.Generator, n_items: int = 7, n_pairs: int = 18) -> PairRelation:
    left = rng.integers(n_items, size=n_pairs)
    right = (left + rng.integers(1, n_items, size=n_pairs)) % n_items
    grades = rng.uniform(0.5, 1, n_pairs) if rng.random() < 0.5 else rng.uniform(0, 0.5, n_pairs)
    return PairRelation(left, right, grades, n_items, rng.uniform(0.1, 3, n_pairs))


def some_triplets(rng: np.random.Generator, n_items: int = 7, n_triplets: int = 18):
    rows = np.array([rng.permutation(n_items)[:3] for _ in range(n_triplets)])
    return TripletRelation(rows[:, 0], rows[:, 1], rows[:, 2], n_items)


def finite_differences(objective: Objective, points: np.ndarray, width: float = 1e-6) -> np.ndarray:
    slope = np.zeros_like(points)
    for place in np.ndindex(*points.shape):
        step = np.zeros_like(points)
        step[place] = width
        higher = oracle.value(objective, points + step)
        lower = oracle.value(objective, points - step)
        slope[place] = (higher - lower) / (2 * width)
    return slope


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", [*PAIR_LOSSES, TripletLoss(), TripletLoss(0.3)], ids=repr)
@pytest.mark.parametrize("prior_weight", [0.0, 0.7])
def test_the_oracles_gradient_is_that_of_finite_differences(loss, prior_weight, seed):
    rng = np.random.default_rng(seed)
    relation = some_triplets(rng) if isinstance(loss, TripletLoss) else weighted_pairs(rng)
    prior = rng.normal(size=(7, 3)).astype(np.float32)
    objective = Objective(relation, loss, prior, prior_weight)
    points = rng.normal(scale=0.6, size=(7, 3))
    slope = oracle.gradient(objective, points)
    assert np.abs(slope).max() > 0.01
    np.testing.assert_allclose(slope, finite_differences(objective, points), atol=1e-7)


@pytest.mark.parametrize("loss", PAIR_LOSSES, ids=repr)
def test_the_value_of_a_pair_is_its_equation(loss):
    rng = np.random.default_rng(0)
    a, b = rng.normal(scale=0.7, size=(2, 50, 4))
    similar = rng.choice([0.0, 1.0, 0.25, 0.8], size=50)
    measure = ((a - b) ** 2).sum(axis=1) if loss.uses_distance else (a * b).sum(axis=1)
    expected = [oracle.pair_loss(loss, *pair) for pair in zip(a, b, similar, strict=True)]
    np.testing.assert_allclose(loss.value(measure, similar), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", PAIR_LOSSES, ids=repr)
def test_the_slope_times_the_measures_gradient_is_the_oracles_gradient(loss):
    rng = np.random.default_rng(1)
    a, b = rng.normal(scale=0.7, size=(2, 50, 4))
    similar = rng.choice([0.0, 1.0, 0.25, 0.8], size=50)
    if loss.uses_distance:
        slope = loss.slope(((a - b) ** 2).sum(axis=1), similar)
        found = slope[:, None] * 2 * (a - b)
        expected = [
            oracle.contrastive_gradient(*pair, loss.margin)
            for pair in zip(a, b, similar, strict=True)
        ]
    else:
        found = loss.slope((a * b).sum(axis=1), similar)[:, None] * b
        expected = [oracle.dot_gradient(*pair) for pair in zip(a, b, similar, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("loss", PAIR_LOSSES, ids=repr)
@settings(deadline=None, max_examples=50)
@given(measure=st.floats(0.01, 9), similar=st.floats(0, 1))
def test_the_slope_is_the_finite_difference_of_the_value(loss, measure, similar):
    width = 1e-5 * measure
    high, low = np.array([measure + width]), np.array([measure - width])
    difference = (loss.value(high, similar) - loss.value(low, similar)) / (2 * width)
    assert loss.slope(np.array([measure]), similar) == pytest.approx(difference, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("margin", [0.5, 1.0, 3.0])
def test_the_value_of_a_triplet_is_its_equation(margin):
    rng = np.random.default_rng(2)
    a, p, n = rng.normal(size=(3, 50, 4))
    found = TripletLoss(margin).value(((a - p) ** 2).sum(axis=1), ((a - n) ** 2).sum(axis=1))
    expected = [oracle.triplet(*three, margin) for three in zip(a, p, n, strict=True)]
    assert 0 < np.count_nonzero(expected) < 50
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_coincident_points_have_a_finite_slope_and_the_margins_square_as_loss():
    zero = np.zeros(1)
    assert ContrastiveLoss(2.0).value(zero, 0.0) == 4.0
    assert np.isfinite(ContrastiveLoss(2.0).slope(zero, 0.0)).all()


def test_a_dissimilar_pair_beyond_the_margin_costs_and_pulls_nothing():
    beyond = np.array([1.5**2])
    assert ContrastiveLoss(1.0).value(beyond, 0.0) == 0
    assert ContrastiveLoss(1.0).slope(beyond, 0.0) == 0


THREE = PairRelation([0, 0, 1], [1, 2, 2], [1, 0, 0], 3)  # 0 and 1 alike, 2 apart


@pytest.mark.parametrize(
    ("loss", "better", "worse"),
    [
        (ContrastiveLoss(), [[0, 0], [0.1, 0], [2, 0]], [[0, 0], [2, 0], [0.1, 0]]),
        (DotLoss(), [[1, 0], [0.9, 0], [0, 1]], [[1, 0], [0, 1], [0.9, 0]]),
    ],
    ids=["contrastive", "dot"],
)
def test_placing_the_alike_together_costs_less(loss, better, worse):
    def mean_value(points):
        a, b = np.array(points)[THREE.left], np.array(points)[THREE.right]
        measure = ((a - b) ** 2).sum(axis=1) if loss.uses_distance else (a * b).sum(axis=1)
        return loss.value(measure, THREE.similar).mean()

    assert mean_value(better) < 0.1 * mean_value(worse)


def test_placing_the_positive_nearer_than_the_negative_costs_less():
    to_near, to_far = np.array([0.01]), np.array([4.0])
    assert TripletLoss().value(to_near, to_far) == 0
    assert TripletLoss().value(to_far, to_near) == pytest.approx(4.99)


@pytest.mark.parametrize("measure", [0.04, 0.25, 0.81])
def test_the_contrastive_slope_pulls_the_alike_and_pushes_the_others(measure):
    loss = ContrastiveLoss()
    assert loss.slope(np.array([measure]), 1.0) > 0  # a larger distance costs more
    assert loss.slope(np.array([measure]), 0.0) < 0  # a larger distance costs less


def test_the_dot_slope_raises_the_products_of_the_alike_and_lowers_the_others():
    assert DotLoss().slope(np.array([0.5]), 1.0) < 0
    assert DotLoss().slope(np.array([0.5]), 0.0) > 0


@pytest.mark.parametrize("loss", [*PAIR_LOSSES, TripletLoss(0.3)], ids=repr)
def test_the_loss_at_zero_is_the_objective_there_by_weight(loss):
    rng = np.random.default_rng(0)
    relation = some_triplets(rng) if isinstance(loss, TripletLoss) else weighted_pairs(rng)
    objective = Objective(relation, loss)
    expected = oracle.value(objective, np.zeros((7, 3)))
    assert objective.loss_at_zero == pytest.approx(expected, rel=1e-5)
