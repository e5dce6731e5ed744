"""Verification scores: against the definition counted pair by pair, by hand, and the refusals."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, astuple
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.evaluation import verification_scores


def operating_points(similar, similarity):
    """Return (FMR, FNMR) at a threshold above all similarities and at each of them, descending."""
    alike = [s for kind, s in zip(similar, similarity, strict=True) if kind]
    others = [s for kind, s in zip(similar, similarity, strict=True) if not kind]
    points = [(Fraction(0), Fraction(1))]
    for threshold in sorted(set(similarity), reverse=True):
        false_matches = sum(s >= threshold for s in others)
        missed = sum(s < threshold for s in alike)
        points.append((Fraction(false_matches, len(others)), Fraction(missed, len(alike))))
    return points


def slow_eer(similar, similarity):
    """Return where the line through the operating points crosses FMR = FNMR."""
    points = operating_points(similar, similarity)
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 >= x0 and y1 <= x1:
            share = (y0 - x0) / ((y0 - x0) - (y1 - x1))
            return float(x0 + share * (x1 - x0))
    raise AssertionError("the line goes from (0, 1) to (1, 0)")


def slow_fnmr(similar, similarity, bound):
    points = operating_points(similar, similarity)
    return float(min(fnmr for fmr, fnmr in points if fmr <= bound))


SCORED_PAIRS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-4, 4)), min_size=2, max_size=40
).filter(lambda rows: len({kind for kind, _ in rows}) == 2)


@settings(deadline=None, max_examples=60)
@given(SCORED_PAIRS)
def test_scores_are_their_definition_with_ties(rows):
    similar, similarity = zip(*rows, strict=True)
    found = verification_scores(similar, similarity)
    assert found.eer == pytest.approx(slow_eer(similar, similarity))
    assert found.fnmr_at_fmr_1_in_100 == pytest.approx(slow_fnmr(similar, similarity, 0.01))
    assert found.fnmr_at_fmr_1_in_1000 == pytest.approx(slow_fnmr(similar, similarity, 0.001))
    assert (found.n_similar, found.n_dissimilar) == (sum(similar), len(rows) - sum(similar))


@pytest.mark.parametrize("step", [0.5, 0.01, 1e-9])
def test_scores_of_many_pairs_are_their_definition(step):
    rng = np.random.default_rng(0)
    similar = rng.random(2000) < 0.3
    similarity = np.round((rng.normal(size=2000) + 2 * similar) / step) * step
    alike, others = similarity[similar], similarity[~similar]
    found = verification_scores(similar, similarity)
    for bound, fnmr in ((0.01, found.fnmr_at_fmr_1_in_100), (0.001, found.fnmr_at_fmr_1_in_1000)):
        thresholds = [t for t in [*similarity, np.inf] if np.mean(others >= t) <= bound]
        assert fnmr == pytest.approx(np.mean(alike < min(thresholds)))
    lowest = min(t for t in [*similarity, np.inf] if np.mean(others >= t) <= np.mean(alike < t))
    assert np.mean(others >= lowest) - 1e-12 <= found.eer <= np.mean(alike < lowest) + 1e-12


def test_equal_error_rate_by_hand():
    # From the top: alike, other, alike, other: (0, 1/2), then (1/2, 1/2).
    assert verification_scores([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).eer == 0.5
    # Operating points (0, 1), (0, 2/3), (1/2, 1/3), (1, 0), on the line y = 2/3 - x·2/3: x = 0.4.
    found = verification_scores([1, 1, 0, 1, 0], [3.0, 2.0, 2.0, 1.0, 1.0])
    assert found.eer == pytest.approx(0.4)


def test_the_bound_itself_is_allowed_and_one_false_match_more_is_not():
    others = np.arange(1000.0)  # the k-th from the top is 1000 - k
    similar = np.r_[np.zeros(1000), np.ones(4)]

    def scores(*alike):
        return verification_scores(similar, np.r_[others, alike])

    found = scores(998.5, 989.5, 988.5, 5000.0)
    assert found.fnmr_at_fmr_1_in_100 == 0.25  # 10 of 1000 are above 989.5, 11 above 988.5
    assert found.fnmr_at_fmr_1_in_1000 == 0.5  # 1 of 1000 is above 998.5, 10 above 989.5


def test_fewer_pairs_than_the_bound_asks_for_allow_no_false_match():
    def scores(n_others):
        similarity = np.r_[np.arange(n_others), n_others - 1.5]
        return verification_scores(np.r_[np.zeros(n_others), 1], similarity)

    assert (scores(99).fnmr_at_fmr_1_in_100, scores(100).fnmr_at_fmr_1_in_100) == (1.0, 0.0)
    assert (scores(999).fnmr_at_fmr_1_in_1000, scores(1000).fnmr_at_fmr_1_in_1000) == (1.0, 0.0)


def test_operating_points_on_one_straight_line_are_all_there():
    # 200 times one alike and one other of one similarity: (FMR, FNMR) = (i / 200, 1 - i / 200).
    found = verification_scores([1, 0] * 200, np.repeat(np.arange(200), 2))
    assert found.fnmr_at_fmr_1_in_100 == pytest.approx(1 - 2 / 200)
    assert found.eer == pytest.approx(0.5)


def test_pairs_of_equal_similarity_match_together():
    # Two others tie with two alike: to match these two is to let both others in.
    similar = [1, 1, 1, 0, 0, *[0] * 98]
    similarity = [3.0, 2.0, 2.0, 2.0, 2.0, *[1.0] * 98]
    found = verification_scores(similar, similarity)
    assert found.fnmr_at_fmr_1_in_100 == pytest.approx(2 / 3)


def test_a_better_similarity_has_smaller_errors():
    similar = [1, 1, 0, 0]
    good, middling, bad = (
        verification_scores(similar, similarity)
        for similarity in ([4, 3, 2, 1], [4, 2, 3, 1], [1, 2, 3, 4])
    )
    assert astuple(good)[:3] == (0.0, 0.0, 0.0)
    assert astuple(middling)[:3] == (0.5, 0.5, 0.5)
    assert astuple(bad)[:3] == (1.0, 1.0, 1.0)


def test_similarities_that_are_all_equal_say_nothing():
    found = verification_scores([1, 1, 1, 0], [0.3] * 4)
    assert (found.eer, found.fnmr_at_fmr_1_in_100) == (0.5, 1.0)


@settings(deadline=None, max_examples=25)
@given(SCORED_PAIRS, st.randoms())
def test_order_of_pairs_and_what_keeps_the_order_of_similarity_change_nothing(rows, random):
    similar, similarity = map(np.array, zip(*rows, strict=True))
    before = verification_scores(similar, similarity)
    items = list(range(len(rows)))
    random.shuffle(items)
    after = verification_scores(similar[items], np.exp(similarity[items] / 2.0))
    assert astuple(after) == pytest.approx(astuple(before))


def test_equal_error_rate_is_the_same_seen_from_the_other_side():
    rng = np.random.default_rng(0)
    similar, similarity = rng.random(300) < 0.4, rng.normal(size=300).round(1)
    assert verification_scores(~similar, -similarity).eer == pytest.approx(
        verification_scores(similar, similarity).eer
    )


def test_scores_are_frozen_numbers():
    found = verification_scores(np.array([1, 0], np.float32), np.array([1, 0], np.float32))
    assert [type(value) for value in astuple(found)] == [float] * 3 + [int] * 2
    with pytest.raises(FrozenInstanceError):
        found.eer = 0.0


@pytest.mark.parametrize(
    ("similar", "similarity", "sentence"),
    [
        ([1, 1], [1.0, 2.0], r"Verification scores need pairs of both kinds, but all 2 .* alike"),
        ([0, 0], [1.0, 2.0], r"both kinds, but all 2 pair\(s\) are not alike"),
        ([], [], r"both kinds, but all 0 pair\(s\)"),
        ([1, 0.5], [1.0, 2.0], r"similar must be 0 or 1 here; 1 value.* row 1 \(0\.5\)"),
        ([1, 0], [1.0, np.nan], r"similarity must be finite, first wrong at row 1 \(nan\)"),
        ([1, 0], [1.0], "similar has 2, similarity has 1"),
        ([[1, 0]], [1.0, 2.0], r"similar must have one dimension, got shape \(1, 2\)"),
    ],
)
def test_pairs_that_cannot_be_scored_are_refused(similar, similarity, sentence):
    with pytest.raises(ValueError, match=sentence):
        verification_scores(similar, similarity)
