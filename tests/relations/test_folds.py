"""Statements parted for cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.relations import LabelRelation, PairRelation, TooFewPairsError, split_folds


@pytest.fixture(scope="module")
def pairs():
    return LabelRelation([0, 1, 2] * 20).sample_pairs(3, 6, random_state=0)


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 8), st.integers(0, 100))
def test_every_statement_is_held_out_once_and_kept_by_all_other_folds(n_folds, seed):
    pairs = LabelRelation([0, 1] * 12).sample_pairs(2, 3, random_state=0)
    folds = split_folds(pairs, n_folds, seed)
    assert len(folds) == n_folds
    held_out = np.concatenate([fold.held_out for fold in folds])
    assert sorted(held_out.tolist()) == list(range(pairs.n_pairs))
    for fold in folds:
        assert fold.kept.n_pairs + fold.held_out.size == pairs.n_pairs
        assert fold.kept.n_items == pairs.n_items


def test_no_pair_of_items_is_both_kept_and_held_out(pairs):
    both_orders = pairs.merge(PairRelation(pairs.right, pairs.left, pairs.similar, pairs.n_items))
    for fold in split_folds(both_orders, 5, 0):
        kept = {frozenset(p) for p in zip(fold.kept.left, fold.kept.right, strict=True)}
        rows = fold.held_out
        out = {
            frozenset(p) for p in zip(both_orders.left[rows], both_orders.right[rows], strict=True)
        }
        assert not kept & out


def test_kinds_are_spread_evenly(pairs):
    shares = [pairs.similar[fold.held_out].mean() for fold in split_folds(pairs, 5, 0)]
    assert np.ptp(shares) < 0.08


def test_the_same_seed_gives_the_same_folds(pairs):
    for a, b in zip(split_folds(pairs, 5, 3), split_folds(pairs, 5, 3), strict=True):
        assert (a.held_out == b.held_out).all()


def test_weights_stay_with_their_statements(pairs):
    weight = np.arange(1, pairs.n_pairs + 1)
    weighted = PairRelation(pairs.left, pairs.right, pairs.similar, pairs.n_items, weight)
    fold = split_folds(weighted, 5, 0)[0]
    assert fold.kept.weight.sum() == weight.sum() - weight[fold.held_out].sum()


def test_too_few_pairs_of_a_kind_are_refused_with_their_number():
    relation = PairRelation(np.zeros(9, int), np.arange(1, 10), [1] * 8 + [0], n_items=10)
    with pytest.raises(
        TooFewPairsError, match=r"needs at least 5 different pairs .* 1 is not alike"
    ):
        split_folds(relation, 5)


def test_a_pair_stated_again_and_again_is_one_pair():
    relation = PairRelation([0] * 9 + [1] * 9, [1] * 9 + [2] * 9, [1] * 9 + [0] * 9, n_items=3)
    with pytest.raises(TooFewPairsError, match="1 is alike: add more"):
        split_folds(relation, 2)


def test_one_fold_is_none():
    with pytest.raises(ValueError, match="n_folds must be at least 2, got 1"):
        split_folds(PairRelation([0], [1], [1], 2), 1)


def test_some_statements_can_be_taken_by_rows_or_by_a_mask(pairs):
    by_rows = pairs.take_pairs([4, 0])
    assert by_rows.left.tolist() == [pairs.left[4], pairs.left[0]]
    assert by_rows.n_items == pairs.n_items
    mask = np.zeros(pairs.n_pairs, bool)
    mask[[0, 4]] = True
    assert pairs.take_pairs(mask).right.tolist() == [pairs.right[0], pairs.right[4]]
