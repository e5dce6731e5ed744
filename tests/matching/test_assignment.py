from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from twofold.matching import one_to_one

pairs_of = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-5, 9)), min_size=1, max_size=9
)


def columns(pairs):
    left, right, score = np.array(pairs).T
    return left, right, score / 4


def best_total(left, right, worth):
    """Return the largest total of any set of pairs that shares no item: tried one by one."""
    best = 0.0
    for size in range(1, min(5, len(left)) + 1):
        for some in map(list, combinations(range(len(left)), size)):
            if len(set(left[some])) == len(set(right[some])) == size:
                best = max(best, worth[some].sum())
    return best


@given(pairs=pairs_of)
@settings(max_examples=60)
def test_the_total_is_the_largest_there_is_and_no_item_is_in_two_pairs(pairs):
    left, right, score = columns(pairs)
    chosen = one_to_one(left, right, score)
    assert len(set(left[chosen])) == len(set(right[chosen])) == len(chosen)
    worth = score - min(0, score.min())
    assert worth[chosen].sum() == pytest.approx(best_total(left, right, worth))


@given(pairs=pairs_of, data=st.data())
@settings(max_examples=40)
def test_the_total_does_not_depend_on_order_sides_or_names(pairs, data):
    left, right, score = columns(pairs)
    order = np.array(data.draw(st.permutations(range(len(left)))))
    total = score[one_to_one(left, right, score)].sum()
    shuffled = one_to_one(1000 - 7 * left[order], right[order], score[order])
    assert score[order][shuffled].sum() == pytest.approx(total)
    assert score[one_to_one(right, left, score)].sum() == pytest.approx(total)


def test_a_dense_problem_agrees_with_scipy():
    score = np.random.default_rng(0).random((40, 60))
    left, right = map(np.ravel, np.indices(score.shape))
    chosen = one_to_one(left, right, score.ravel())
    best = score[linear_sum_assignment(score, maximize=True)].sum()
    assert score.ravel()[chosen].sum() == pytest.approx(best)
    assert len(chosen) == 40


def test_a_sparse_problem_that_hangs_together_agrees_with_scipy():
    rng = np.random.default_rng(0)
    left, right = np.repeat(np.arange(150), 4), rng.integers(0, 150, 600)
    score = rng.random(600)
    table = np.zeros((150, 150))
    np.maximum.at(table, (left, right), score)
    best = table[linear_sum_assignment(table, maximize=True)].sum()
    assert score[one_to_one(left, right, score)].sum() == pytest.approx(best)


def test_two_good_pairs_are_better_than_one_that_is_better_than_either():
    assert one_to_one([0, 0, 1], [0, 1, 0], [0.9, 0.8, 0.8]).tolist() == [1, 2]
    assert one_to_one([0, 0, 1], [0, 1, 0], [0.9, 0.3, 0.3]).tolist() == [0]


def test_pairs_below_the_least_score_are_never_chosen():
    assert one_to_one([0, 1], [0, 1], [0.4, 0.6], least=0.5).tolist() == [1]
    # Above the least, what counts is by how much: 0.4 is more than 0.1 and 0.1.
    assert one_to_one([0, 0, 1], [0, 1, 0], [0.9, 0.6, 0.6], least=0.5).tolist() == [0]


def test_distances_as_negative_scores_keep_all_pairs_that_stand_alone():
    assert one_to_one([0, 1, 2], [5, 6, 7], [-1.0, -2.0, -3.0]).tolist() == [0, 1, 2]


def test_the_better_of_a_repeated_pair_counts():
    assert one_to_one([3, 3, 3], [8, 8, 8], [0.2, 0.7, 0.7]).tolist() == [1]


def test_no_pairs_are_no_pairs():
    assert one_to_one([], [], []).tolist() == []
    assert one_to_one([1], [1], [0.1], least=0.5).dtype == np.int64


@pytest.mark.parametrize(
    ("left", "right", "score", "sentence"),
    [
        ([0], [0, 1], [1.0], "left has 1, right has 2"),
        ([0], [0], [np.nan], "score must be finite; 1 are not, first at row 0"),
        ([0], [-1], [1.0], "right has 1 item id"),
        ([0], [0], ["a"], "score must be numbers"),
    ],
)
def test_candidates_that_make_no_sense_are_refused(left, right, score, sentence):
    with pytest.raises(ValueError, match=sentence):
        one_to_one(left, right, score)
