"""Candidates, kinds of columns, and the comparison on held-out pairs."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from little_tables import two_tables

from twofold.matching import candidate_pairs
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
