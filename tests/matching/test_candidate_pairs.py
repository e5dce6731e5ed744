"""Candidates, kinds of columns, and the comparison on held-out pairs."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from little_tables import two_tables

from twofold.matching import candidate_pairs, compare_on_held_out
from twofold.matching._columns import read_column, tell_kind

LEFT, RIGHT, _, _ = two_tables()


def test_the_true_partner_is_among_a_few_candidates() -> None:
    candidates = candidate_pairs(LEFT, RIGHT, k=3)
    assert np.bincount(candidates[:, 0]).max() <= 3
    found = set(map(tuple, candidates.tolist()))
    assert sum((i, i) in found for i in range(40)) >= 38
    assert len(found) == len(candidates)


def test_candidates_of_one_table_are_there_once_and_never_a_record_itself() -> None:
    table = {"title": ["word 2003", "word 2003 pro", "excel 97", "excel"]}
    pairs = candidate_pairs(table, k=1)
    assert sorted(map(tuple, pairs.tolist())) == [(0, 1), (2, 3)]


def test_an_embedding_finds_what_no_letter_does() -> None:
    left, right = {"title": ["abc", "def"]}, {"title": ["xyz", "uvw"]}
    assert len(candidate_pairs(left, right, k=1)) == 0
    points = np.array([[0.0], [1.0]])
    pairs = candidate_pairs(left, right, k=1, points=points, right_points=points[::-1])
    assert pairs.tolist() == [[0, 1], [1, 0]]


def test_the_nearest_by_embedding_comes_first() -> None:
    table = {"title": ["a", "b", "c"]}
    points = np.array([[0.0], [3.0], [1.0]])
    pairs = candidate_pairs(
        {"title": ["x"]}, table, k=2, points=np.array([[0.0]]), right_points=points
    )
    assert pairs.tolist() == [[0, 0], [0, 2]]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["$ 1,299.00", "12", "call us", *["3.5"] * 18], "number"),
        (["cs3", "7.0"], "text"),
        ([None, None], "text"),
        ([1, 2], "number"),
        ([True, False], "category"),
        ([datetime.date(2020, 1, 1)], "date"),
    ],
)
def test_kinds_of_columns_are_told_from_their_values(values: list, kind: str) -> None:
    assert tell_kind("x", pa.chunked_array([values])) == kind


def test_prices_and_dates_become_numbers() -> None:
    prices = read_column("x", pa.chunked_array([["$ 1,299.00", "free", None]]), "number")
    np.testing.assert_array_equal(prices.numbers, [1299, np.nan, np.nan])
    dates = pa.chunked_array([[datetime.date(1970, 1, 3), None]])
    np.testing.assert_array_equal(read_column("x", dates, "date").numbers, [2, np.nan])


def _scored(noise: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(300) < 0.2).astype(int)
    pairs = np.column_stack([np.arange(300) // 3, np.arange(300)])
    return pairs, y, y + rng.normal(scale=noise, size=300)


def test_the_score_that_orders_held_out_pairs_better_is_preferred() -> None:
    pairs, y, good = _scored(0.3, 0)
    bad = np.random.default_rng(1).normal(size=300)
    told = compare_on_held_out(pairs, y, good, bad, random_state=0)
    assert told.prefers_model
    assert told.f1_gain == pytest.approx(told.model_f1 - told.embedding_f1)
    assert 0 < told.average_precision_gain_error < told.average_precision_gain
    assert not compare_on_held_out(pairs, y, bad, good, random_state=0).prefers_model


def test_equal_scores_gain_nothing() -> None:
    pairs, y, score = _scored(0.3, 0)
    told = compare_on_held_out(pairs, y, score, score, random_state=0)
    assert (told.f1_gain, told.average_precision_gain_error) == (0, 0)


def test_pairs_without_both_scores_are_left_out() -> None:
    pairs, y, score = _scored(0.3, 0)
    missing = np.where(y == 1, np.nan, score)
    with pytest.raises(ValueError, match="with both scores all are of one kind"):
        compare_on_held_out(pairs, y, score, missing)


def test_merits_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import average_precision_score

    from twofold.evaluation import choose_threshold

    pairs, y, score = _scored(0.6, 2)
    score = score.round(1)  # with ties
    told = compare_on_held_out(pairs, y, score, -score, random_state=0)
    assert told.model_average_precision == pytest.approx(average_precision_score(y, score))
    assert told.embedding_f1 == pytest.approx(choose_threshold(y, -score, "f_beta").f_beta)
