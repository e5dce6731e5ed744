"""Pairs that may be asked about: all of few items, near and random partners of many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch.utils.data import TensorDataset

from twofold import PairRelation
from twofold.asking._candidate_pairs import drop_known, propose_pairs
from twofold.evaluation import pair_similarity
from twofold.regression import equal_rows


def keys(left, right):
    return {frozenset(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)}


def proposed(points, stated=(), metric="euclidean", n=10, seed=0):
    is_stated = np.isin(np.arange(len(points)), stated)
    return propose_pairs(points, is_stated, metric, n, np.random.default_rng(seed))


@pytest.mark.parametrize("n_items", [2, 7, 500])
def test_of_few_items_every_pair_is_proposed_once(n_items):
    left, right = proposed(np.zeros((n_items, 2), dtype=np.float32))
    assert len(left) == len(keys(left, right)) == n_items * (n_items - 1) // 2
    assert (left != right).all()


@pytest.mark.parametrize("metric", ["euclidean", "dot", "cosine"])
def test_of_many_items_partners_are_near_by_the_metric_and_random(metric):
    points = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32) + 1
    left, right = proposed(points, metric=metric)
    for item in range(0, 600, 97):
        similarity = pair_similarity(points, np.full(600, item), np.arange(600), metric)
        of_partners = similarity[right[left == item]]
        nearest = np.sort(similarity)[-49]  # one may change places by rounding
        assert (of_partners >= nearest).sum() >= 49
        assert (of_partners < np.median(similarity)).any()


def test_of_more_items_than_are_looked_at_those_in_statements_come_first():
    points = np.random.default_rng(0).normal(size=(4000, 2)).astype(np.float32)
    stated = np.arange(7, 4000, 5)
    left, _ = proposed(points, stated)
    assert set(stated.tolist()) <= set(left.tolist())
    assert len(left) <= 2**17
    more, _ = proposed(points, stated, n=3500)
    assert len(set(more.tolist())) == 3500


def test_known_pairs_self_pairs_and_repeats_are_dropped_also_those_of_equal_items():
    known = PairRelation([0, 4], [1, 3], [1, 0], 6)
    left, right = np.array([1, 0, 2, 2, 5, 3, 2]), np.array([0, 1, 2, 5, 2, 4, 1])
    pairs = drop_known((left, right), known, np.arange(6))
    assert keys(*pairs) == {frozenset((2, 5)), frozenset((2, 1))}
    assert len(pairs[0]) == 2
    group = np.array([0, 1, 2, 0, 1, 2])  # 3 equals 0, 4 equals 1, 5 equals 2
    left, right = drop_known(np.triu_indices(6, 1), PairRelation([0], [1], [1], 6), group)
    assert keys(group[left], group[right]) == {frozenset((0, 2)), frozenset((1, 2))}
    assert len(left) == 2


ROWS = np.array([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0], [2.0, 1e-30], [2.0, 0.0]], dtype=np.float32)


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        np.float64,
        sparse.csr_matrix,
        pd.DataFrame,
        lambda rows: sparse.csr_array((rows.ravel(), [0, 1] * 5, range(0, 11, 2)), shape=(5, 2)),
        lambda rows: rows[:, None, None],
        lambda rows: TensorDataset(torch.from_numpy(rows)),
    ],
    ids=["array", "fortran", "float64", "csr", "table", "stored zeros", "images", "dataset"],
)
def test_equal_rows_have_one_number(form):
    assert equal_rows(form(ROWS)).tolist() == [0, 1, 0, 2, 1]
