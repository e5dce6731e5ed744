"""Rows of kinds: which are held out, which are sampled, who is alike among them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from twofold import LabelRelation, PairRelation
from twofold.metric import ClassKinds, PairKinds
from twofold.metric._kinds import FEW_OF_A_KIND, kind_codes, kinds_of, n_kinds, sample_rows


def test_class_means_are_means(rng):
    points, classes = rng.normal(size=(60, 3)).astype(np.float32), rng.integers(5, size=60)
    means = ClassKinds(classes).means(torch.from_numpy(points)).numpy()
    for one in range(5):
        np.testing.assert_allclose(means[one], points[classes == one].mean(axis=0), rtol=1e-4)


def test_a_sample_has_a_few_of_each_kind_of_as_many_kinds_as_fit(rng):
    relation = LabelRelation(np.repeat(np.arange(500), 20))
    rows = sample_rows(relation, np.arange(10_000), 400, rng)
    counts = np.unique(kind_codes(relation)[rows], return_counts=True)[1]
    np.testing.assert_array_equal(counts, FEW_OF_A_KIND)
    assert len(rows) == 400
    assert len(np.unique(rows)) == 400


def test_a_sample_of_few_large_kinds_has_as_many_of_each(rng):
    relation = LabelRelation(np.repeat([0, 1], [5_000, 300]))
    rows = sample_rows(relation, np.arange(5_300), 400, rng)
    counts = np.bincount(kind_codes(relation)[rows])
    np.testing.assert_array_equal(counts, [200, 200])


def test_a_sample_of_few_rows_is_all_of_them(rng):
    relation = LabelRelation(np.arange(30) % 3)
    np.testing.assert_array_equal(sample_rows(relation, np.arange(9), 10, rng), np.arange(9))


def test_pairs_are_known_where_they_are_stated():
    pairs = PairRelation([0, 1, 3], [1, 2, 4], [1, 0, 1], 6)
    kinds = kinds_of(pairs, np.array([1, 0, 2]))
    assert isinstance(kinds, PairKinds)
    alike, known = kinds.blocks("cpu")
    assert alike.nonzero().tolist() == [[0, 1], [1, 0]]
    assert known.nonzero().tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]


def test_groups_are_what_chains_of_alike_pairs_link():
    pairs = PairRelation([0, 1, 3], [1, 2, 4], [1, 1, 0], 6)
    groups = kind_codes(pairs)
    assert groups[0] == groups[1] == groups[2]
    assert len({groups[0], groups[3], groups[4]}) == 3
    assert groups[5] == -1
    assert n_kinds(pairs, np.arange(6)) == 3


@pytest.mark.parametrize("as_labels", [True, False])
def test_who_shares_a_class_or_a_label_is_alike(as_labels):
    several = [[1, 0, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]
    relation = LabelRelation(several if as_labels else [0, 1, 0, 2])
    alike, known = kinds_of(relation, np.arange(4)).blocks("cpu")
    assert alike.nonzero().tolist() == [[0, 2], [2, 0]]
    assert int(known.sum()) == 12
