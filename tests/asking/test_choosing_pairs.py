"""Which pairs are asked about: in doubt, half of them likely alike, no item twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.asking import choose_pairs


def chosen_slowly(left, right, probability, n_stated, n, rng):
    """Return the rows by the definition, one at a time."""
    tie_break = {int(row): place for place, row in enumerate(rng.permutation(len(left)))}

    def doubt(row):
        n_known = n_stated[left[row]] + n_stated[right[row]]
        distance = np.abs(probability[row] - np.float32(0.5)).astype(np.float32)
        return np.float32(distance - 0.03 * n_known), tie_break[row]

    order = sorted(range(len(left)), key=doubt)
    chosen, asked = [], set()

    def take(rows, at_most, again=False):
        for row in rows:
            if len(chosen) < at_most and row not in chosen:
                ends = {left[row], right[row]}
                if again or not ends & asked:
                    chosen.append(row)
                    asked.update(ends)

    likely = [row for row in order if probability[row] >= 0.5]
    take(likely, n - n // 2)
    take([row for row in order if row not in likely], n)
    take(likely, n)
    take(order, n, again=True)
    return sorted(chosen, key=lambda row: -probability[row])


@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(4, 12),
    n_pairs=st.integers(1, 20),
    n=st.integers(1, 24),
)
@settings(max_examples=60, deadline=None)
def test_the_choice_is_that_of_the_slow_definition(seed, n_items, n_pairs, n):
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(n_items, 1)
    rows = rng.permutation(left.size)[:n_pairs]
    left, right = left[rows], right[rows]
    # Distinct, and far enough apart that rounding does not decide.
    probability = (rng.permutation(rows.size) / rows.size).astype(np.float32)
    n_stated = rng.integers(3, size=n_items)
    arguments = (left, right, probability, n_stated, n)
    found = choose_pairs(*arguments, np.random.default_rng(seed))
    assert found.tolist() == chosen_slowly(*arguments, np.random.default_rng(seed))


LEFT, RIGHT = np.arange(10), np.arange(10, 20)
NOTHING = np.zeros(20, dtype=np.int64)


def chosen(probability, n, n_stated=NOTHING, left=LEFT, right=RIGHT, seed=0):
    probability = np.asarray(probability, dtype=np.float32)
    return choose_pairs(left, right, probability, n_stated, n, np.random.default_rng(seed))


@pytest.mark.parametrize(("n", "n_likely"), [(1, 1), (4, 2), (5, 3)])
def test_half_are_likely_alike_and_those_in_doubt_come_before_the_sure(n, n_likely):
    probability = np.array([0.95, 0.6, 0.9, 0.7, 0.8, 0.05, 0.4, 0.1, 0.3, 0.2])
    found = chosen(probability, n)
    likely = probability[found] >= 0.5
    assert likely.sum() == n_likely
    assert sorted(probability[found[likely]]) == sorted([0.6, 0.7, 0.8][:n_likely])
    assert sorted(probability[found[~likely]]) == sorted([0.4, 0.3][: n - n_likely])
    assert (np.diff(probability[found]) < 0).all()


def test_where_one_half_falls_short_the_other_fills_it_up():
    probability = np.array([0.9] + [0.1] * 9)
    assert chosen(probability, 6)[0] == 0
    assert len(chosen(probability, 6)) == 6
    assert chosen(1 - probability, 6)[-1] == 0
    assert len(chosen(1 - probability, 6)) == 6


def test_of_pairs_as_likely_those_of_items_in_statements_come_first():
    n_stated = NOTHING.copy()
    n_stated[[3, 14]] = 2
    for seed in range(5):
        assert set(chosen([0.6] * 10, 2, n_stated, seed=seed)) == {3, 4}


def test_an_item_is_asked_about_again_only_if_there_are_too_few():
    left, right = np.array([0, 0, 3]), np.array([1, 2, 4])
    probability = [0.55, 0.54, 0.9]
    assert chosen(probability, 2, left=left, right=right).tolist() == [2, 1]
    assert chosen(probability, 9, left=left, right=right).tolist() == [2, 0, 1]


def test_equals_are_drawn_by_the_seed_and_of_nothing_nothing_is_chosen():
    draws = [tuple(chosen([0.5] * 10, 3, seed=seed)) for seed in range(6)]
    assert len(set(draws)) > 1
    nobody = np.empty(0, dtype=np.int64)
    assert chosen(np.empty(0), 3, left=nobody, right=nobody).size == 0
