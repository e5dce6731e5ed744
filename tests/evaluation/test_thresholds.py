"""Thresholds against every one that there is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.evaluation import choose_threshold

PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=14).filter(
    lambda rows: len({kind for kind, _ in rows}) == 2
)


def figures(alike, called, beta):
    """Return accuracy, true-positive rate, true-negative rate, precision and F-beta, counted."""
    rows = list(zip(alike, called, strict=True))
    hits = sum(a and c for a, c in rows)
    false = sum(c and not a for a, c in rows)
    missed = sum(a and not c for a, c in rows)
    right_no = len(rows) - hits - false - missed
    precision = hits / (hits + false) if hits + false else 1.0
    f_beta = (1 + beta**2) * hits / ((1 + beta**2) * hits + beta**2 * missed + false)
    return (
        (hits + right_no) / len(rows),
        hits / (hits + missed),
        right_no / (right_no + false),
        precision,
        f_beta,
    )


def merit(strategy, found, min_rate):
    accuracy, tpr, tnr, _, f_beta = found
    return {
        "accuracy": accuracy,
        "f_beta": f_beta,
        "max_tpr": tpr if tnr >= min_rate else -1,
        "max_tnr": tnr if tpr >= min_rate else -1,
    }[strategy]


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@settings(deadline=None, max_examples=40)
@given(
    rows=PAIRS,
    min_rate=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
    beta=st.sampled_from([0.5, 1, 3]),
)
def test_the_choice_is_the_best_there_is_and_the_highest_of_equals(strategy, rows, min_rate, beta):
    alike, similarity = zip(*rows, strict=True)
    outcomes = {}
    for threshold in [math.inf, *sorted(set(similarity), reverse=True)]:
        called = [value >= threshold for value in similarity]
        outcomes[threshold] = merit(strategy, figures(alike, called, beta), min_rate)
    best = max(outcomes.values())
    found = choose_threshold(alike, similarity, strategy, min_rate=min_rate, beta=beta)
    called = [value >= found.threshold for value in similarity]
    reached = figures(alike, called, beta)
    assert merit(strategy, reached, min_rate) == pytest.approx(best)
    told = (
        found.accuracy,
        found.true_positive_rate,
        found.true_negative_rate,
        found.precision,
        found.f_beta,
    )
    assert told == pytest.approx(reached)
    if strategy != "f_beta":  # whose equals differ by rounding
        highest = max(
            threshold for threshold, value in outcomes.items() if value == pytest.approx(best)
        )
        assert called == [value >= highest for value in similarity]
    assert (found.n_similar, found.n_dissimilar) == (sum(alike), len(alike) - sum(alike))
    assert found.beta == beta
    assert found.strategy == strategy


def test_the_highest_of_equal_f_betas_is_taken():
    # 2 of 6 alike and 1 other above, 6 and 6 above: F is 2.5 / 4.5 and 7.5 / 13.5.
    similarity = [1] * 3 + [0] * 9
    alike = [1, 1, 0] + [1] * 4 + [0] * 5
    found = choose_threshold(alike, similarity, "f_beta", beta=0.5)
    assert found.f_beta == pytest.approx(5 / 9)
    assert found.threshold == 0.5


def test_the_threshold_stands_half_way_between_two_similarities():
    assert choose_threshold([1, 0], [3.0, 1.0]).threshold == 2
    assert choose_threshold([1, 1, 0, 0], [9, 8, 4, 2]).threshold == 6


def test_a_better_similarity_reaches_more():
    assert choose_threshold([1, 1, 0, 0], [4, 3, 2, 1]).accuracy == 1
    assert choose_threshold([1, 0, 1, 0], [4, 3, 2, 1]).accuracy == 0.75
    assert choose_threshold([0, 0, 1, 1], [4, 3, 2, 1]).accuracy == 0.5


def test_calling_nothing_alike_has_precision_one():
    found = choose_threshold([0, 0, 0, 1], [4.0, 3.0, 2.0, 1.0])
    assert found.threshold > 4
    assert (found.precision, found.true_positive_rate, found.f_beta) == (1, 0, 0)


def test_calling_all_alike_is_a_choice():
    found = choose_threshold([1, 1, 1, 0], [1.0, 2.0, 3.0, 4.0])
    assert found.threshold == 1
    assert found.true_positive_rate == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_numbers_of_any_type_are_taken(kind):
    found = choose_threshold(np.array([True, False]), np.array([4, 2], dtype=kind))
    assert type(found.threshold) is float
    assert found.threshold == 3


def test_similarities_a_hair_apart_are_parted():
    for start in (1.0, float(np.nextafter(np.float32(1), np.float32(2)))):
        low = np.float32(start)
        similarity = np.array([np.nextafter(low, np.float32(2)), low])
        found = choose_threshold([1, 0], similarity)
        assert (similarity >= found.threshold).tolist() == [True, False]


def test_a_wrong_call_is_refused():
    with pytest.raises(ValueError, match=r"strategy must be one of 'accuracy', 'f_beta'.*'best'"):
        choose_threshold([1, 0], [2, 1], "best")
    with pytest.raises(ValueError, match="'max_tpr' needs min_rate, the true-negative rate"):
        choose_threshold([1, 0], [2, 1], "max_tpr")
    with pytest.raises(ValueError, match="'max_tnr' needs min_rate, the true-positive rate"):
        choose_threshold([1, 0], [2, 1], "max_tnr")
    with pytest.raises(ValueError, match=r"min_rate must be at most 1, got 1\.5"):
        choose_threshold([1, 0], [2, 1], "max_tnr", min_rate=1.5)
    with pytest.raises(ValueError, match="min_rate must be finite and at least 0"):
        choose_threshold([1, 0], [2, 1], "max_tnr", min_rate=-0.5)
    with pytest.raises(ValueError, match="beta must be finite and above 0"):
        choose_threshold([1, 0], [2, 1], "f_beta", beta=0)
    with pytest.raises(ValueError, match="A threshold needs pairs of both kinds"):
        choose_threshold([1, 1], [2, 1])
    with pytest.raises(ValueError, match=r"similarity must be finite, first wrong at row 1"):
        choose_threshold([1, 0], [2, np.nan])
    with pytest.raises(ValueError, match="similar must be 0 or 1 here"):
        choose_threshold([1, 0.5], [2, 1])
