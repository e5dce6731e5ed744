"""Which statements the others contradict most."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from twofold._core.warnings import RelationWarning
from twofold.relations import LabelRelation, PairRelation
from twofold.targets import cross_validated_similarity, rank_suspicious, suspicion

FLIPPED_SHARE = 0.05


def flipped(pairs, seed):
    """Return a relation with a share of the statements turned around, and which."""
    rows = np.random.default_rng(seed).permutation(pairs.n_pairs)
    wrong = np.isin(np.arange(pairs.n_pairs), rows[: int(FLIPPED_SHARE * pairs.n_pairs)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        similar = np.where(wrong, 1 - pairs.similar, pairs.similar)
        return PairRelation(pairs.left, pairs.right, similar, pairs.n_items), wrong


def path(similar):
    """Return statements about the pairs (k, k + 1)."""
    left = np.arange(len(similar))
    return PairRelation(left, left + 1, similar, n_items=left.size + 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_flipped_statements_about_digits_are_found_from_the_others_alone(seed):
    pairs = LabelRelation(load_digits().target[:900]).sample_pairs(10, 10, random_state=seed)
    relation, wrong = flipped(pairs, seed)
    found = suspicion(relation, cross_validated_similarity(relation, random_state=seed))
    assert average_precision_score(wrong, found) >= 0.95  # measured 1.000


def test_flipped_statements_are_found_among_rare_similar_ones_too():
    pairs = LabelRelation(load_digits().target).sample_pairs(2, 10, random_state=0)
    relation, wrong = flipped(pairs, 0)
    found = suspicion(relation, cross_validated_similarity(relation, random_state=0))
    assert average_precision_score(wrong, found) >= 0.3  # by chance 0.05; measured 0.53


def test_a_statement_against_its_similarity_is_the_most_suspicious():
    relation = path([1, 1, 0, 0, 1, 0])
    similarity = [-0.1, -0.2, -0.9, -1.0, -1.1, -0.05]
    assert set(rank_suspicious(relation, similarity)[:2].tolist()) == {4, 5}


def test_ranking_is_by_suspicion_and_names_every_row_once():
    rng = np.random.default_rng(0)
    relation = path(rng.integers(2, size=50))
    similarity = relation.similar + rng.normal(size=50)
    order = rank_suspicious(relation, similarity)
    assert sorted(order.tolist()) == list(range(50))
    assert (np.diff(suspicion(relation, similarity)[order]) <= 0).all()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 200), st.floats(0.01, 100), st.floats(-50, 50))
def test_suspicion_does_not_depend_on_the_similarity_s_unit(seed, scale, shift):
    rng = np.random.default_rng(seed)
    relation = path(np.arange(30) % 2)
    similarity = relation.similar + rng.normal(size=30)
    found = suspicion(relation, similarity)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(suspicion(relation, scale * similarity + shift), found, atol=1e-4)


def test_of_one_kind_the_less_fitting_similarity_is_more_suspicious():
    relation = path([1, 1, 1, 0, 0, 0])
    found = suspicion(relation, [3.0, 2.0, 1.0, 0.5, 0.0, -1.0])
    assert found[0] < found[1] < found[2]
    assert found[3] > found[4] > found[5]


def test_a_similarity_that_points_the_wrong_way_says_nothing():
    relation = path([1, 1, 0, 0, 0, 0])
    found = suspicion(relation, [-3.0, -2.0, 1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3])


def test_equal_similarities_say_nothing():
    found = suspicion(path([1, 1, 0, 0]), np.zeros(4))
    np.testing.assert_allclose(found, 0.5)


def test_grades_of_just_one_half_are_no_example_of_either_kind():
    similar, similarity = [1, 1, 1, 0, 0, 0], [3.0, 2.0, 0.5, 1.0, 0.0, -1.0]
    alone = suspicion(path(similar), similarity)
    # The same similarities once more, so that their mean and spread stay what they are.
    with_halves = suspicion(path(similar + [0.5] * 6), similarity * 2)
    np.testing.assert_allclose(with_halves[:6], alone, atol=1e-4)


def test_a_grade_is_less_suspicious_than_a_certain_statement():
    relation = path([1] * 10 + [0] * 10 + [1, 0.6, 0.5])
    found = suspicion(relation, [1] * 10 + [-1] * 13)
    assert found[20] > found[21] > found[22]


@pytest.mark.parametrize(("similar", "kind"), [([1, 1], "alike"), ([0, 0.2], "not alike")])
def test_statements_of_one_kind_cannot_be_judged(similar, kind):
    with pytest.raises(ValueError, match=f"both kinds, but all are {kind}"):
        suspicion(path(similar), [0.0, 1.0])


def test_a_similarity_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match=r"1 value\(s\) are not, first at row 1 \(nan\)"):
        suspicion(path([1, 0]), [0.0, np.nan])


def test_a_similarity_of_another_length_is_refused():
    with pytest.raises(ValueError, match="relation has 2, similarity has 3"):
        suspicion(path([1, 0]), [0.0, 1.0, 2.0])
