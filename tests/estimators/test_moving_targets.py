"""Targets that follow points: how far they are asked to go, and in which direction."""

from __future__ import annotations

import numpy as np
import pytest
from little_problems import beside_loud_noise, pairs_within, triplets_within

from twofold import PairRelation, TripletRelation
from twofold.estimators import _moving_targets as moving_targets_module
from twofold.estimators._judge import Judge, Looks
from twofold.estimators._moving_targets import MARGIN_OF_TRIPLETS, MovingTargets, ask_of

X, Y = beside_loud_noise()
POINTS = X / np.sqrt((X**2).sum(axis=1).mean())


def gaps(points, left, right):
    return np.linalg.norm(points[left] - points[right], axis=1)


def an_rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---- what is asked ----


def test_far_enough_is_so_many_times_the_median_distance_of_the_unalike():
    relation = pairs_within(Y)
    unlike = relation.similar == 0
    usual = np.median(gaps(POINTS, relation.left[unlike], relation.right[unlike]))
    for margin in (1.0, 1.3, 2.0):
        asked = ask_of(relation, POINTS, "contrastive", margin, "cpu")
        assert asked.margin == pytest.approx(margin * usual, rel=1e-5)


def test_grades_up_to_one_half_count_as_unalike():
    left, right = np.arange(6), np.arange(6, 12)
    relation = PairRelation(left, right, [1.0, 0.75, 0.5, 0.25, 0.0, 0.0], 60)
    asked = ask_of(relation, POINTS, "contrastive", 1.0, "cpu")
    assert asked.margin == pytest.approx(np.median(gaps(POINTS, left, right)[2:]), rel=1e-5)


def margin_at(asked: MovingTargets, points, monkeypatch) -> float:
    """Return how far apart phase 1 is told is far enough."""
    seen = []
    solve_targets = moving_targets_module.solve_targets

    def watched(*given, margin, **rest):
        seen.append(margin)
        return solve_targets(*given, margin=margin, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(moving_targets_module, "solve_targets", watched)
        asked.near(points, an_rng())
    return seen[0]


@pytest.mark.parametrize("margin", [1.0, 1.3, 2.0])
def test_far_enough_of_triplets_is_a_squared_distance_of_the_points_as_they_move(
    margin, monkeypatch
):
    relation = triplets_within(Y)
    asked = ask_of(relation, POINTS, "contrastive", margin, "cpu")
    for points in (POINTS, 3 * POINTS, POINTS[:, :2]):
        usual = np.median(gaps(points, relation.anchor, relation.negative) ** 2)
        found = margin_at(asked, points, monkeypatch)
        assert found == pytest.approx(MARGIN_OF_TRIPLETS * margin * usual, rel=1e-4)


def test_far_enough_of_pairs_stays_what_it_was_at_the_start(monkeypatch):
    asked = ask_of(pairs_within(Y), POINTS, "contrastive", 1.3, "cpu")
    for points in (POINTS, 3 * POINTS):
        assert margin_at(asked, points, monkeypatch) == asked.margin


def test_triplets_of_points_twice_as_far_apart_ask_for_twice_as_much():
    asked = ask_of(triplets_within(Y), POINTS, "contrastive", 1.3, "cpu")
    moved, moved_twice = (asked.near(k * POINTS, an_rng()) - k * POINTS for k in (1, 2))
    lengths = [np.sqrt(np.mean(one**2)) for one in (moved, moved_twice)]
    assert lengths[1] == pytest.approx(2 * lengths[0], rel=0.2)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_points_that_all_coincide_are_asked_to_part_by_one(kind, monkeypatch):
    relation = pairs_within(Y) if kind == "pairs" else triplets_within(Y)
    zeros = np.zeros((60, 3), np.float32)
    asked = ask_of(relation, zeros, "contrastive", 1.3, "cpu")
    expected = 1.3 if kind == "pairs" else MARGIN_OF_TRIPLETS * 1.3
    assert margin_at(asked, zeros, monkeypatch) == pytest.approx(expected)


def test_both_kinds_count_alike_however_many_there_are():
    left = np.arange(22)
    relation = PairRelation(left, left + 22, np.repeat([1, 0], [2, 20]), 60)
    weight = ask_of(relation, POINTS, "contrastive", 1.0, "cpu").relation.weight
    assert weight[:2].sum() == pytest.approx(weight[2:].sum()) == pytest.approx(11)


def test_triplets_are_asked_as_they_are():
    relation = triplets_within(Y)
    assert ask_of(relation, POINTS, "contrastive", 1.0, "cpu").relation is relation


# ---- where the targets are ----


def test_alike_targets_are_closer_than_the_points_and_unalike_ones_farther_apart():
    points = np.array([[0, 0], [3, 0], [0, 5], [1, 5]], dtype=np.float32)
    relation = PairRelation([0, 2], [1, 3], [1, 0], 4)
    targets = MovingTargets(relation, "contrastive", 3.0, "cpu").near(points, an_rng())
    assert np.linalg.norm(targets[0] - targets[1]) < 3
    assert 1 < np.linalg.norm(targets[2] - targets[3]) < 3.0001
    np.testing.assert_allclose(targets.mean(axis=0), points.mean(axis=0), atol=0.05)


def test_an_item_in_one_pair_is_moved_four_fifths_of_the_way():
    points = np.array([[0, 0], [3, 0], [0, 5], [1, 5]], dtype=np.float32)
    relation = PairRelation([0, 2], [1, 3], [1, 0], 4)
    targets = MovingTargets(relation, "contrastive", 3.0, "cpu").near(points, an_rng())
    assert np.linalg.norm(targets[0] - targets[1]) == pytest.approx(3 / 5, abs=0.1)
    assert np.linalg.norm(targets[2] - targets[3]) == pytest.approx(1 + 4 / 5 * 2, abs=0.1)


def test_what_is_far_enough_and_what_nothing_is_said_of_stays():
    points = np.array([[0, 0], [4, 0], [9, 9], [1, 1], [1.5, 1]], dtype=np.float32)
    relation = PairRelation([0, 3], [1, 4], [0, 1], 5)
    targets = MovingTargets(relation, "contrastive", 3.0, "cpu").near(points, an_rng())
    np.testing.assert_allclose(targets[:3], points[:3], atol=0.01)


def test_dot_targets_draw_inner_products_to_one_and_zero():
    points = np.array([[1, 0], [0.2, 0.5], [0.5, 0.6], [0.6, 0.5]], dtype=np.float32)
    relation = PairRelation([0, 2], [1, 3], [1, 0], 4)
    targets = MovingTargets(relation, "dot", 1.0, "cpu").near(points, an_rng())
    assert points[0] @ points[1] < targets[0] @ targets[1] <= 1.001
    assert points[2] @ points[3] > targets[2] @ targets[3] >= -0.001


def test_a_triplet_s_positive_comes_closer_and_its_negative_goes():
    points = np.array([[0, 0], [2, 0], [0, 1]], dtype=np.float32)
    asked = MovingTargets(TripletRelation([0], [1], [2], 3), "contrastive", 1.0, "cpu")
    targets = asked.near(points, an_rng())
    assert np.linalg.norm(targets[0] - targets[1]) < 2
    assert np.linalg.norm(targets[0] - targets[2]) > 1


@pytest.mark.parametrize("loss", ["contrastive", "dot"])
@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_targets_agree_with_the_statements_more_than_the_points_do(loss, kind):
    relation = pairs_within(Y) if kind == "pairs" else triplets_within(Y)
    asked = ask_of(relation, POINTS, loss, 1.3, "cpu")
    targets = asked.near(POINTS, an_rng())
    assert targets.shape == POINTS.shape
    assert targets.dtype == np.float32
    looks = Looks(Judge(relation, "dot" if loss == "dot" and kind == "pairs" else "euclidean"))
    assert looks(targets) > looks(POINTS) + 0.1


def test_targets_need_not_settle_in_a_round_and_are_the_same_again():
    relation = pairs_within(Y, 600)
    asked = ask_of(relation, POINTS, "dot", 1.0, "cpu")  # a warning would be an error here
    assert asked.near(POINTS, an_rng()).tobytes() == asked.near(POINTS, an_rng()).tobytes()
