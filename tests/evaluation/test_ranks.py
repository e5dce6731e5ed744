"""Ranks whose mean is the AUROC, and the errors that they know."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from twofold.evaluation import gain_error, pair_ranks, rank_error, triplet_ranks

RNG = np.random.default_rng


def scored_pairs(n_pairs: int, seed: int, levels: int | None = None):
    """Return what is alike, and similarities that tell it in part; of few levels there are ties."""
    rng = RNG(seed)
    alike = np.append([True, False], rng.random(n_pairs - 2) < 0.3)
    similarity = (alike + rng.normal(size=n_pairs)).astype(np.float32)
    if levels:
        similarity = np.round(similarity * levels / 4)
    return alike, similarity


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 60), st.integers(0, 1000), st.sampled_from([None, 1, 5]))
def test_the_mean_rank_of_either_kind_is_the_auroc(n_pairs, seed, levels):
    alike, similarity = scored_pairs(n_pairs, seed, levels)
    near, far = pair_ranks(alike, similarity)
    auroc = roc_auc_score(alike, similarity)
    assert near.mean() == pytest.approx(auroc)
    assert far.mean() == pytest.approx(auroc)
    assert (near.size, far.size) == (alike.sum(), (~alike).sum())


def test_triplets_in_order_rank_1_others_0_and_ties_one_half():
    near, far = np.float32([2, 1, 1]), np.float32([1, 2, 1])
    (ranks,) = triplet_ranks(near, far)
    assert ranks.tolist() == [1, 0, 0.5]


def test_a_rank_is_the_share_of_the_other_kind_that_a_pair_is_right_against():
    alike = np.array([True, True, False, False, False])
    similarity = np.array([0.9, 0.5, 0.7, 0.5, 0.1], np.float32)
    near, far = pair_ranks(alike, similarity)
    np.testing.assert_allclose(near, [1, 1.5 / 3])  # the second ties with one, and beats one
    np.testing.assert_allclose(far, [1 / 2, 1.5 / 2, 1])


@pytest.mark.parametrize(("similarity", "rank"), [([2, 1], 1), ([1, 2], 0), ([1, 1], 0.5)])
def test_better_orders_have_higher_ranks(similarity, rank):
    ranks = pair_ranks(np.array([True, False]), np.array(similarity, np.float32))
    assert [kind.tolist() for kind in ranks] == [[rank], [rank]]


@pytest.mark.parametrize(("n_pairs", "levels"), [(80, None), (400, None), (400, 3)])
def test_the_error_is_what_drawing_pairs_anew_gives(n_pairs, levels):
    def draw(seed):
        return pair_ranks(*scored_pairs(n_pairs, seed, levels))

    aurocs = [draw(seed)[0].mean() for seed in range(400)]
    errors = [rank_error(draw(seed)) for seed in range(50)]
    assert np.mean(errors) == pytest.approx(np.std(aurocs), rel=0.15)


def test_the_error_of_a_gain_is_what_drawing_pairs_anew_gives():
    def draw(seed):
        alike, similarity = scored_pairs(300, seed)
        better = similarity + 0.5 * alike + 0.3 * RNG(seed + 10_000).normal(size=300)
        return pair_ranks(alike, similarity), pair_ranks(alike, better.astype(np.float32))

    drawn = [draw(seed) for seed in range(400)]
    gains = [after[0].mean() - before[0].mean() for before, after in drawn]
    errors = [gain_error(before, after) for before, after in drawn[:50]]
    assert np.mean(gains) > 0.05
    assert np.mean(errors) == pytest.approx(np.std(gains), rel=0.15)
    # Both are of the same pairs, so that most of the chance is common to both.
    assert np.mean(errors) < 0.8 * rank_error(drawn[0][0])


def test_what_is_equal_gains_nothing_for_certain():
    ranks = pair_ranks(*scored_pairs(50, 0))
    assert gain_error(ranks, ranks) == 0


def test_triplets_are_ranks_of_one_kind():
    in_order = np.array([1, 0, 1, 1, 0.5, 1, 0, 1])
    expected = in_order.std(ddof=1) / np.sqrt(8)
    assert rank_error([in_order]) == pytest.approx(expected)


def test_a_single_statement_has_no_error_that_is_known():
    assert rank_error([np.array([0.5])]) == 0
