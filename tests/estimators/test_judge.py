"""Statements held out that judge points: by slow definitions, and which round they prefer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_problems import beside_loud_noise, pairs_within, triplets_within
from little_trials import looks_at, right_of
from sklearn.metrics import roc_auc_score

from twofold import PairRelation, TripletRelation
from twofold.estimators._judge import Judge, Looks, gain_error, joined

X, Y = beside_loud_noise()
POINTS = X / np.sqrt((X**2).sum(axis=1).mean())
RNG = np.random.default_rng(0)


def judged(relation, points, metric="euclidean") -> float:
    """Return what one look finds."""
    return Looks(Judge(relation, metric))(points)


# ---- one look ----


def slow_auroc(relation: PairRelation, points) -> float:
    """Return the share of all two statements, one of each kind, that are in the right order."""
    gaps = np.linalg.norm(points[relation.left] - points[relation.right], axis=1)
    alike, unalike = gaps[relation.similar == 1], gaps[relation.similar == 0]
    return float(np.mean([float(a < u) + 0.5 * (a == u) for a in alike for u in unalike]))


def test_pairs_are_judged_by_the_share_of_two_in_the_right_order():
    relation = pairs_within(Y, 60)
    assert judged(relation, POINTS) == pytest.approx(slow_auroc(relation, POINTS), abs=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_pairs_are_judged_by_their_auroc(metric):
    relation = pairs_within(Y)
    a, b = POINTS[relation.left], POINTS[relation.right]
    similarity = (a * b).sum(axis=1) if metric == "dot" else -np.linalg.norm(a - b, axis=1)
    found = judged(relation, POINTS, metric)
    assert found == pytest.approx(roc_auc_score(relation.similar, similarity), abs=1e-6)


def test_both_kinds_of_pairs_have_the_same_mean_placement():
    alike, unalike = Judge(pairs_within(Y), "euclidean").placements(POINTS)
    assert alike.mean() == pytest.approx(unalike.mean())
    assert alike.size + unalike.size == len(pairs_within(Y))


def test_grades_are_judged_by_the_side_of_one_half():
    left, right = np.arange(30), np.arange(30, 60)
    grades = RNG.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=30)
    graded = PairRelation(left, right, grades, 60)
    rounded = PairRelation(left, right, grades > 0.5, 60)
    assert judged(graded, POINTS) == judged(rounded, POINTS)


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
    assert judged(relation, POINTS, metric) == pytest.approx(right / len(relation))


def test_ties_count_one_half():
    zeros = np.zeros((60, 2), dtype=np.float32)
    assert judged(pairs_within(Y), zeros) == 0.5
    assert judged(triplets_within(Y), zeros) == 0.5


def test_better_points_are_judged_better():
    better = np.eye(3, dtype=np.float32)[Y]
    for relation in (pairs_within(Y), triplets_within(Y)):
        looks = Looks(Judge(relation, "euclidean"))
        assert looks(-better) == looks(better) == 1 > looks(POINTS)


@pytest.mark.parametrize(
    ("similar", "expected"),
    [([1, 0], True), ([1, 1], False), ([0, 0], False), ([0.9, 0.5], True), ([0.5, 0.1], False)],
)
def test_pairs_of_one_kind_cannot_judge(similar, expected):
    assert Judge(PairRelation([0, 1], [1, 2], similar, 3), "euclidean").can_judge is expected


def test_triplets_can_always_judge():
    assert Judge(TripletRelation([0], [1], [2], 3), "euclidean").can_judge


# ---- the error of a gain ----


def slow_gain_variance(relation, before, after):
    """DeLong's, a comparison of two statements at a time."""

    def right(points, alike, unalike):
        near, far = (
            np.linalg.norm(points[relation.left[row]] - points[relation.right[row]])
            for row in (alike, unalike)
        )
        return float(near < far) + 0.5 * (near == far)

    alike, unalike = (np.flatnonzero(relation.similar == kind) for kind in (1, 0))
    gains = np.array([[right(after, a, u) - right(before, a, u) for u in unalike] for a in alike])
    return sum(gains.mean(axis=axis).var(ddof=1) / gains.shape[1 - axis] for axis in (0, 1))


def random_pairs(n_alike: int = 20, n_unalike: int = 20, seed: int = 0) -> PairRelation:
    """Return pairs of 20 items with 20 others, of both kinds at random."""
    rng = np.random.default_rng(seed)
    similar = rng.permutation(np.repeat([1, 0], [n_alike, n_unalike]))
    left, right = np.divmod(rng.permutation(400)[: similar.size], 20)
    return PairRelation(left, 20 + right, similar, 40)


def random_points(n_looks: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_looks, 40, 3)).astype(np.float32)


@pytest.mark.parametrize(("n_alike", "n_unalike"), [(20, 20), (5, 30), (30, 2)])
def test_the_error_of_a_gain_is_delong_s(n_alike, n_unalike):
    relation = random_pairs(n_alike, n_unalike)
    before, after = random_points(2)
    judge = Judge(relation, "euclidean")
    seen = [judge.placements(points) for points in (before, after)]
    expected = np.sqrt(slow_gain_variance(relation, before, after))
    assert gain_error(*seen) == gain_error(*seen[::-1]) == pytest.approx(expected, rel=1e-6)
    assert gain_error(seen[0], seen[0]) == 0


def test_the_error_of_triplets_is_that_of_a_mean_of_differences():
    relation = triplets_within(Y)
    judge = Judge(relation, "euclidean")
    seen = [judge.placements(points) for points in (POINTS, POINTS[:, ::2])]
    differences = seen[1][0] - seen[0][0]
    expected = differences.std(ddof=1) / np.sqrt(differences.size)
    assert gain_error(*seen) == pytest.approx(expected, rel=1e-6)


def test_statements_drawn_again_and_again_vary_by_the_error():
    rng = np.random.default_rng(0)
    alike = rng.random((2, 200)) + np.array([[0.3], [0.4]])
    unalike = rng.random((2, 150))
    seen = [
        [(a[:, None] > u).mean(axis=1), (a[:, None] > u).mean(axis=0)]
        for a, u in zip(alike, unalike, strict=True)
    ]
    gains = []
    for _ in range(300):
        rows, columns = rng.integers(200, size=200), rng.integers(150, size=150)
        right = [(a[rows, None] > u[columns]).mean() for a, u in zip(alike, unalike, strict=True)]
        gains.append(right[1] - right[0])
    assert gain_error(*seen) == pytest.approx(np.std(gains), rel=0.15)


# ---- which round, and which way ----


@pytest.mark.parametrize("n_right", [[50, 90, 90, 90], [90, 90, 90, 90], [100, 100, 100, 100]])
def test_of_equal_rounds_the_last_is_taken(n_right):
    looks = looks_at(*map(right_of, n_right))
    assert looks.choose_round() == looks.best_round == 3


def test_of_rounds_that_get_better_the_last_is_taken():
    looks = looks_at(*map(right_of, [50, 60, 70, 80]))
    assert looks.choose_round() == looks.best_round == 3


def test_of_rounds_that_are_all_worse_than_the_start_none_is_taken():
    looks = looks_at(*map(right_of, [90, 60, 70, 50]))
    assert looks.choose_round() == looks.best_round == 0


def test_a_loss_is_clear_from_half_an_error_of_the_difference_on():
    # One statement of 100 is lost: .01, with a paired error of .01; that of .9 alone is .03.
    assert looks_at(*map(right_of, [50, 90, 89])).choose_round() == 1
    exchanged = right_of(90)
    exchanged[:10], exchanged[91:] = 0, 1  # ten lost and nine won: .01, with an error of .04
    assert looks_at(right_of(50), right_of(90), exchanged).choose_round() == 2


def test_a_loss_of_few_statements_is_not_told_from_chance():
    rng = np.random.default_rng(0)
    best, later = rng.permuted(np.tile(np.repeat([1.0, 0.0], [85, 15]), (2, 1)), axis=1)
    later[np.flatnonzero(later)[:2]] = 0
    assert looks_at(0 * best, best, later).choose_round() == 2
    many = looks_at(0 * np.tile(best, 50), np.tile(best, 50), np.tile(later, 50))
    assert many.choose_round() == 1


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_the_round_is_the_latest_within_half_a_paired_error_of_the_best(seed, n_rounds):
    relation = random_pairs(6, 8, seed)
    shown = random_points(n_rounds, seed)
    looks = Looks(Judge(relation, "euclidean"))
    found = [looks(points) for points in shown]
    best = shown[int(np.argmax(found))]
    equal = [
        max(found) - now <= 0.5 * np.sqrt(slow_gain_variance(relation, best, points)) + 1e-12
        for now, points in zip(found, shown, strict=True)
    ]
    assert looks.found == found
    assert looks.best == max(found)
    assert looks.choose_round() == np.flatnonzero(equal)[-1]
    assert looks.best_round == np.flatnonzero(np.equal(found, max(found)))[-1]


@pytest.mark.parametrize(("n_gained", "expected"), [(0, False), (2, False), (3, True), (9, True)])
def test_the_best_is_clearly_better_from_one_and_a_half_errors_on(n_gained, expected):
    # Of 100 statements, 2 gained are .02 with an error of .0141, 3 are .03 with one of .0171.
    looks = looks_at(right_of(50), right_of(50 + n_gained), right_of(20))
    assert looks.is_clearly_better() is expected


def test_a_start_that_nothing_beats_is_not_clearly_beaten():
    assert not looks_at(right_of(90), right_of(50)).is_clearly_better()
    assert not looks_at(right_of(90)).is_clearly_better()


def test_a_way_is_better_than_another_if_their_bests_do_not_count_as_equal():
    better, worse = (looks_at(right_of(50), right_of(n), right_of(60)) for n in (90, 80))
    assert better.is_better_than(worse)
    assert not worse.is_better_than(better)
    assert not better.is_better_than(better)


def test_ways_that_are_right_about_others_and_as_often_are_equal():
    one, other = looks_at(right_of(50)), looks_at(right_of(51)[::-1])
    assert not one.is_better_than(other)
    assert not other.is_better_than(one)  # better by .01, with an error of .1
    assert looks_at(right_of(51)).is_better_than(one)  # by .01, with an error of .01


# ---- several judges ----


def test_several_judges_are_as_one_of_all_their_statements():
    all_looks = []
    for seed, n_alike in ((0, 10), (1, 20), (2, 5)):
        looks = Looks(Judge(random_pairs(n_alike, 20, seed), "euclidean"))
        for points in random_points(4, seed):
            looks(points)
        all_looks.append(looks)
    whole = joined(all_looks)
    np.testing.assert_allclose(whole.found, np.mean([one.found for one in all_looks], axis=0))
    assert all(type(found) is float for found in whole.found)
    for number in range(4):
        for kind in (0, 1):
            expected = np.concatenate([one._seen[number][kind] for one in all_looks])
            np.testing.assert_array_equal(whole._seen[number][kind], expected)
    assert [len(one.found) for one in all_looks] == [4, 4, 4]


def test_judges_of_equal_size_find_together_what_one_of_all_triplets_finds():
    relation = triplets_within(Y)
    roles = np.array([relation.anchor, relation.positive, relation.negative])
    n_each = len(relation) // 2
    parts = (slice(0, n_each), slice(n_each, 2 * n_each), slice(0, 2 * n_each))
    relations = [TripletRelation(*roles[:, part], 60) for part in parts]
    all_looks = [Looks(Judge(one, "euclidean")) for one in relations]
    for looks in all_looks:
        for points in (POINTS, POINTS[:, :3], POINTS[:, :2], POINTS[:, 2:]):
            looks(points)
    whole, expected = joined(all_looks[:2]), all_looks[2]
    np.testing.assert_allclose(whole.found, expected.found)
    assert whole.choose_round() == expected.choose_round()
    assert whole.is_clearly_better() == expected.is_clearly_better()


def test_one_judge_alone_stays_as_it_is():
    looks = looks_at(right_of(50), right_of(60))
    assert joined([looks]) is looks
