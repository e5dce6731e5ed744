"""Targets that follow points: how far they are asked to go, in which direction, and who judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_problems import beside_loud_noise, pairs_within, triplets_within
from sklearn.metrics import roc_auc_score

from twofold import PairRelation, TripletRelation
from twofold.estimators._moving_targets import Judge, MovingTargets, ask_of

X, Y = beside_loud_noise()
POINTS = X / np.sqrt((X**2).sum(axis=1).mean())
RNG = np.random.default_rng(0)


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


def test_far_enough_of_triplets_is_a_squared_distance():
    relation = triplets_within(Y)
    asked = ask_of(relation, POINTS, "contrastive", 2.0, "cpu")
    usual = np.median(gaps(POINTS, relation.anchor, relation.negative) ** 2)
    assert asked.margin == pytest.approx(2 * usual, rel=1e-5)


@pytest.mark.parametrize("kind", ["pairs", "triplets"])
def test_points_that_all_coincide_are_asked_to_part_by_one(kind):
    relation = pairs_within(Y) if kind == "pairs" else triplets_within(Y)
    assert ask_of(relation, np.zeros((60, 3), np.float32), "contrastive", 1.3, "cpu").margin == 1.3


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
    judge = Judge(relation, "dot" if loss == "dot" and kind == "pairs" else "euclidean")
    assert judge(targets) > judge(POINTS) + 0.1


def test_targets_need_not_settle_in_a_round_and_are_the_same_again():
    relation = pairs_within(Y, 600)
    asked = ask_of(relation, POINTS, "dot", 1.0, "cpu")  # a warning would be an error here
    assert asked.near(POINTS, an_rng()).tobytes() == asked.near(POINTS, an_rng()).tobytes()


# ---- the judge ----


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_pairs_are_judged_by_their_auroc(metric):
    relation = pairs_within(Y)
    a, b = POINTS[relation.left], POINTS[relation.right]
    similarity = (a * b).sum(axis=1) if metric == "dot" else -np.linalg.norm(a - b, axis=1)
    found = Judge(relation, metric)(POINTS)
    assert found == pytest.approx(roc_auc_score(relation.similar, similarity), abs=1e-6)


def test_grades_are_judged_by_the_side_of_one_half():
    left, right = np.arange(30), np.arange(30, 60)
    grades = RNG.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=30)
    graded = PairRelation(left, right, grades, 60)
    rounded = PairRelation(left, right, grades > 0.5, 60)
    assert Judge(graded, "euclidean")(POINTS) == Judge(rounded, "euclidean")(POINTS)


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_triplets_are_judged_by_the_share_in_the_right_order(metric):
    relation = triplets_within(Y)
    right = 0.0
    for a, p, n in zip(relation.anchor, relation.positive, relation.negative, strict=True):
        if metric == "dot":
            near, far = POINTS[a] @ POINTS[p], POINTS[a] @ POINTS[n]
        else:
            near, far = (-np.linalg.norm(POINTS[a] - POINTS[k]) for k in (p, n))
        right += 0.5 if near == far else near > far
    assert Judge(relation, metric)(POINTS) == pytest.approx(right / len(relation))


def test_ties_count_one_half():
    zeros = np.zeros((60, 2), dtype=np.float32)
    assert Judge(pairs_within(Y), "euclidean")(zeros) == 0.5
    assert Judge(triplets_within(Y), "euclidean")(zeros) == 0.5


def test_better_points_are_judged_better():
    better = np.eye(3, dtype=np.float32)[Y]
    for relation in (pairs_within(Y), triplets_within(Y)):
        judge = Judge(relation, "euclidean")
        assert judge(-better) == judge(better) == 1 > judge(POINTS)


@pytest.mark.parametrize(
    ("similar", "expected"),
    [([1, 0], True), ([1, 1], False), ([0, 0], False), ([0.9, 0.5], True), ([0.5, 0.1], False)],
)
def test_pairs_of_one_kind_cannot_judge(similar, expected):
    assert Judge(PairRelation([0, 1], [1, 2], similar, 3), "euclidean").can_judge is expected


def test_triplets_can_always_judge():
    assert Judge(TripletRelation([0], [1], [2], 3), "euclidean").can_judge


# ---- which round ----


def a_judge(n_alike: int = 100, n_unalike: int = 100) -> Judge:
    left = np.arange(n_alike + n_unalike)
    similar = np.repeat([1, 0], [n_alike, n_unalike])
    return Judge(PairRelation(left, left + 1, similar, left.size + 1), "euclidean")


@pytest.mark.parametrize(
    "judged", [[0.5, 0.9, 0.9, 0.9], [0.9, 0.9, 0.9, 0.9], [1.0, 1.0, 1.0, 1.0]]
)
def test_of_equal_rounds_the_last_is_taken(judged):
    assert a_judge().choose_round(judged) == 3


def test_of_rounds_that_get_better_the_last_is_taken():
    assert a_judge().choose_round([0.5, 0.6, 0.7, 0.8]) == 3


def test_a_clear_loss_takes_an_earlier_round():
    # With 100 of each kind the standard error of .9 is .03.
    assert a_judge().choose_round([0.5, 0.9, 0.85, 0.8]) == 1
    assert a_judge().choose_round([0.5, 0.9, 0.88, 0.8]) == 2


def test_a_loss_that_few_statements_cannot_tell_from_chance_takes_the_last():
    judged = [0.5, 0.9, 0.85, 0.8]
    assert a_judge(5, 5).choose_round(judged) == 3
    assert a_judge(5, 10_000).choose_round(judged) == 3  # the fewer kind counts
    assert a_judge(10_000, 5).choose_round(judged) == 3
    assert a_judge(10_000, 10_000).choose_round(judged) == 1


def test_rounds_of_triplets_are_told_apart_by_their_number():
    def judge(n):
        roles = np.zeros(n, int), np.ones(n, int), np.arange(2, n + 2)
        return Judge(TripletRelation(*roles, n + 2), "euclidean")

    assert judge(5).choose_round([0.5, 0.9, 0.8]) == 2
    assert judge(500).choose_round([0.5, 0.9, 0.8]) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_round_is_never_before_the_best_and_never_much_worse(judged):
    found = a_judge().choose_round(judged)
    assert found >= judged.index(max(judged))
    assert judged[found] >= max(judged) - np.sqrt(max(judged) * (1 - max(judged)) / 100)


def slow_gain_variance(judge, before, after):
    """DeLong's, a comparison of two statements at a time."""
    stated = judge.relation

    def right(points, alike, unalike):
        near, far = (
            np.linalg.norm(points[stated.left[row]] - points[stated.right[row]])
            for row in (alike, unalike)
        )
        return float(near < far) + 0.5 * (near == far)

    alike, unalike = (np.flatnonzero(stated.similar == kind) for kind in (1, 0))
    gains = np.array([[right(after, a, u) - right(before, a, u) for u in unalike] for a in alike])
    return sum(gains.mean(axis=axis).var(ddof=1) / gains.shape[1 - axis] for axis in (0, 1))


def test_the_error_of_a_gain_is_delong_s():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 20, 40), rng.integers(20, 40, 40)
    judge = Judge(PairRelation(left, right, rng.permutation([1, 0] * 20), 40), "euclidean")
    before, after = rng.standard_normal((2, 40, 3)).astype(np.float32)
    expected = np.sqrt(slow_gain_variance(judge, before, after))
    assert judge.gain_error(before, after) == pytest.approx(expected, rel=1e-6)
    assert judge.gain_error(before, before) == 0
