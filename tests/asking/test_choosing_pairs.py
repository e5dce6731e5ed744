"""Which pairs are asked about: in doubt, half of them likely alike, no item twice."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.asking._choice import choose_pairs


def chosen_slowly(left, right, probability, n_stated, n, rng):
    """Return the rows by the definition, one at a time."""
    tie_break = {int(row): place for place, row in enumerate(rng.permutation(len(left)))}

    def certainty(row):
        n_known = n_stated[left[row]] + n_stated[right[row]]
        return abs(probability[row] - np.float32(0.5)) - 0.03 * n_known, tie_break[row]

    order = sorted(range(len(left)), key=certainty)
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
    n_pairs=st.integers(0, 20),
    n=st.integers(1, 24),
)
@settings(max_examples=60, deadline=None)
def test_the_choice_is_that_of_the_slow_definition(seed, n_items, n_pairs, n):
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(n_items, 1)
    rows = rng.permutation(left.size)[:n_pairs]
    left, right = left[rows], right[rows]
    # Distinct, and far enough apart that rounding does not decide.
    probability = (rng.permutation(rows.size) / max(1, rows.size)).astype(np.float32)
    n_stated = rng.integers(3, size=n_items)
    arguments = (left, right, probability, n_stated, n)
    found = choose_pairs(*arguments, np.random.default_rng(seed))
    assert found.tolist() == chosen_slowly(*arguments, np.random.default_rng(seed))


LEFT, RIGHT = np.arange(10), np.arange(10, 20)


def chosen(probability, n, n_stated=None, seed=0):
    probability = np.asarray(probability, dtype=np.float32)
    n_stated = np.zeros(20, dtype=np.int64) if n_stated is None else n_stated
    return choose_pairs(LEFT, RIGHT, probability, n_stated, n, np.random.default_rng(seed))


def test_half_are_likely_alike_and_those_in_doubt_come_before_the_sure():
    probability = np.array([0.95, 0.6, 0.9, 0.7, 0.8, 0.05, 0.4, 0.1, 0.3, 0.2])
    assert probability[chosen(probability, 5)].tolist() == [0.8, 0.7, 0.6, 0.4, 0.3]
    one_sided = np.array([0.9] + [0.1] * 9)  # where one half falls short, the other fills it up
    assert len(chosen(one_sided, 6)) == len(chosen(1 - one_sided, 6)) == 6
    assert chosen(one_sided, 6)[0] == chosen(1 - one_sided, 6)[-1] == 0


def test_of_pairs_as_likely_those_of_items_in_statements_come_first_then_the_seed_decides():
    n_stated = np.isin(np.arange(20), [3, 14]).astype(np.int64)
    draws = {frozenset(chosen([0.6] * 10, 3, n_stated, seed)) for seed in range(6)}
    assert all({3, 4} < draw for draw in draws)
    assert len(draws) > 1
