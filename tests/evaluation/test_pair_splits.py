"""PairFolds: pairs to score share no item with pairs to learn from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.evaluation import PairFolds

RNG = np.random.default_rng(0)
PAIRS = RNG.integers(40, size=(300, 2))


def parts(pairs, folds, **parameters):
    return list(folds.split(pairs, **parameters))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(20, 60))
def test_no_item_is_on_both_sides(seed, n_splits, n_items):
    pairs = np.random.default_rng(seed).integers(n_items, size=(400, 2))
    folds = parts(pairs, PairFolds(n_splits, random_state=seed))
    assert len(folds) == n_splits
    for train, test in folds:
        assert not set(pairs[train].ravel()) & set(pairs[test].ravel())
    scored = np.concatenate([test for _, test in folds])
    assert len(scored) == len(set(scored))


def test_every_pair_that_shares_no_item_with_the_scored_ones_is_learnt_from():
    pairs = np.random.default_rng(1).integers(200, size=(220, 2))
    for train, test in parts(pairs, PairFolds(3)):
        scored = set(pairs[test].ravel())
        apart = [k for k, pair in enumerate(pairs) if not scored & set(pair)]
        assert train.tolist() == apart


def test_groups_that_no_pair_joins_are_kept_whole_and_no_pair_is_lost():
    blocks = RNG.integers(6, size=(200, 1))
    pairs = 10 * blocks + RNG.integers(10, size=(200, 2))
    for train, test in parts(pairs, PairFolds(2)):
        lost = 200 - len(train) - len(test)
        assert lost <= np.bincount(blocks.ravel()).max()  # of the one that is cut
    pairs = np.array([[0, 1], [1, 2], [5, 6], [6, 7]])
    assert all(len(train) + len(test) == 4 for train, test in parts(pairs, PairFolds(2)))


def test_vectors_that_are_equal_are_one_item_and_ids_may_be_words():
    features = RNG.normal(size=(40, 3))
    by_number = parts(PAIRS, PairFolds(3), groups=None)
    words = np.array([f"item {k:02d}" for k in range(40)], dtype=object)
    for same in (
        parts(words[PAIRS], PairFolds(3)),
        parts(features[PAIRS], PairFolds(3), groups=PAIRS),
    ):
        for one, other in zip(by_number, same, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])
    for train, test in parts(features[PAIRS], PairFolds(3)):
        assert not set(PAIRS[train].ravel()) & set(PAIRS[test].ravel())


def test_equal_ids_of_two_tables_are_two_items():
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])  # a ring, if they were of one
    folds = parts(pairs, PairFolds(2, two_tables=True))
    assert sum(len(test) for _, test in folds) == 4
    for train, test in folds:
        assert not set(pairs[train, 0]) & set(pairs[test, 0])
        assert not set(pairs[train, 1]) & set(pairs[test, 1])


def test_the_same_seed_gives_the_same_folds():
    one, other = (parts(PAIRS, PairFolds(3, random_state=5)) for _ in range(2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True))
    assert PairFolds(4).get_n_splits() == 4


def test_folds_without_pairs_or_of_one_kind_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"Fold 1 of 2 has no pair .*Use fewer folds"):
        parts(np.array([[0, 1], [1, 2], [2, 0]]), PairFolds(2))
    pairs, y = np.array([[0, 1], [1, 2], [5, 6], [6, 7]]), np.array([1, 1, -1, -1])
    with pytest.raises(ValueError, match=r"has no pair with y = .* to score"):
        parts(pairs, PairFolds(2), y=y)
    with pytest.raises(ValueError, match=r"two items per row.*got shape \(4, 3\)"):
        parts(np.zeros((4, 3)), PairFolds(2))
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        PairFolds(1)
