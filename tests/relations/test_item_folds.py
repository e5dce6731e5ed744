"""Statements held out: with the items they are about, or at random."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from twofold.relations import (
    ItemFold,
    LabelRelation,
    PairRelation,
    TripletRelation,
    hold_out_items,
    hold_out_statements,
    n_rarer,
)

RNG = np.random.default_rng


def rows_of(statements) -> list[tuple]:
    """Return statements as tuples, a pair with what is said of it."""
    if isinstance(statements, TripletRelation):
        roles = (statements.anchor, statements.positive, statements.negative)
    else:
        roles = (statements.left, statements.right, statements.similar)
    return [tuple(row) for row in np.column_stack(roles).tolist()]


def items_of(row: tuple, statements) -> set:
    return set(row if isinstance(statements, TripletRelation) else row[:2])


@st.composite
def pair_relations(draw):
    """Random pairs, no pair of items twice, of a random share of alike ones."""
    n_items = draw(st.integers(4, 40))
    left, right = np.triu_indices(n_items, 1)
    n_pairs = draw(st.integers(2, min(150, left.size)))
    rng = RNG(draw(st.integers(0, 10**6)))
    some = rng.permutation(left.size)[:n_pairs]
    alike = rng.random(n_pairs) < draw(st.sampled_from([0.05, 0.3, 0.5, 0.9]))
    return PairRelation(left[some], right[some], alike, n_items)


@st.composite
def triplet_relations(draw):
    n_items, n_triplets = draw(st.integers(4, 40)), draw(st.integers(1, 150))
    rng = RNG(draw(st.integers(0, 10**6)))
    rows = np.array([rng.permutation(n_items)[:3] for _ in range(n_triplets)])
    return TripletRelation(*rows.T, n_items)


STATEMENTS = st.one_of(pair_relations(), triplet_relations())
SHARES, SEEDS = st.sampled_from([0.1, 0.2, 0.35, 0.5]), st.integers(0, 100)


def check_parts(fold: ItemFold, statements, share: float) -> None:
    """Hold a fold to what every kind of it promises."""
    assert Counter(rows_of(fold.kept) + rows_of(fold.held_out)) == Counter(rows_of(statements))
    assert fold.kept.n_items == fold.held_out.n_items == statements.n_items
    assert len(fold.held_out) <= round(share * len(statements))
    assert n_rarer(fold.kept) >= 1
    assert n_rarer(fold.held_out) >= 2


@settings(deadline=None, max_examples=150)
@given(STATEMENTS, SHARES, SEEDS)
def test_held_out_statements_are_those_about_new_items_alone(statements, share, seed):
    fold = hold_out_items(statements, share, RNG(seed))
    assume(fold is not None)
    check_parts(fold, statements, share)
    new = set(range(statements.n_items)) - set(fold.known.tolist())
    assert len(new) <= share * statements.n_items
    assert all(items_of(row, statements) <= new for row in rows_of(fold.held_out))
    assert not any(items_of(row, statements) <= new for row in rows_of(fold.kept))


@settings(deadline=None, max_examples=50)
@given(STATEMENTS, SHARES, SEEDS)
def test_statements_held_out_at_random_are_about_any_items(statements, share, seed):
    fold = hold_out_statements(statements, share, RNG(seed))
    assume(fold is not None)
    check_parts(fold, statements, share)
    assert fold.known is None
    assert len(fold.held_out) == round(share * len(statements))


@settings(deadline=None, max_examples=50)
@given(STATEMENTS, SEEDS)
def test_the_same_generator_holds_out_the_same(statements, seed):
    first, again = (hold_out_items(statements, 0.3, RNG(seed)) for _ in range(2))
    assert (first is None) == (again is None)
    if first is not None:
        assert rows_of(first.held_out) == rows_of(again.held_out)


def test_other_generators_hold_out_others():
    pairs = LabelRelation(np.arange(60) % 3).sample_pairs(5, 5, random_state=0)
    drawn = {frozenset(rows_of(hold_out_items(pairs, 0.2, RNG(seed)).held_out)) for seed in (0, 1)}
    assert len(drawn) == 2


@pytest.mark.parametrize("n_alike", [40, 200, 360])
def test_the_rarer_kind_is_held_out_in_its_share_at_least(n_alike):
    left, right = np.triu_indices(40, 1)
    some = RNG(0).permutation(left.size)[:400]
    pairs = PairRelation(left[some], right[some], np.arange(400) < n_alike, 40)
    shares = []
    for seed in range(20):
        fold = hold_out_items(pairs, 0.3, RNG(seed))
        if fold is not None:
            alike = float((fold.held_out.similar > 0.5).mean())
            shares.append(alike if n_alike <= 200 else 1 - alike)
    assert len(shares) >= 10
    assert np.mean(shares) >= 0.9 * n_rarer(pairs) / 400


@pytest.mark.parametrize("share", [0.2, 0.35])
def test_triplets_are_held_out_with_all_three_items(share):
    triplets = TripletRelation(*np.arange(90).reshape(30, 3).T, 90)
    fold = hold_out_items(triplets, share, RNG(0))
    assert len(fold.held_out) == round(share * 30)
    assert fold.known.size == 90 - 3 * len(fold.held_out)


@pytest.mark.parametrize(
    "statements",
    [
        PairRelation([0, 2], [1, 3], [1, 0], 4),
        PairRelation([0], [1], [1], 2),
        PairRelation(np.arange(0, 40, 2), np.arange(1, 40, 2), np.ones(20), 40),
        PairRelation(np.arange(0, 40, 2), np.arange(1, 40, 2), np.arange(20) < 1, 40),
        TripletRelation([0], [1], [2], 3),
        TripletRelation([0, 3], [1, 4], [2, 5], 6),
    ],
    ids=["two", "one", "all alike", "one alike", "one triplet", "two triplets"],
)
@pytest.mark.parametrize("hold_out", [hold_out_items, hold_out_statements])
def test_what_cannot_be_parted_is_no_fold(statements, hold_out):
    assert all(hold_out(statements, 0.2, RNG(seed)) is None for seed in range(5))


@pytest.mark.parametrize("n_alike", [20, 50, 100])
def test_a_rare_kind_among_pairs_that_share_no_item_is_parted_too(n_alike):
    left = np.arange(0, 2000, 2)  # as records of two tables that may match
    pairs = PairRelation(left, left + 1, np.arange(1000) < n_alike, 2000)
    fold = hold_out_items(pairs, 0.2, RNG(0))
    assert fold is not None
    assert n_rarer(fold.kept) >= n_alike / 2


def test_the_rarer_kind_is_counted():
    assert n_rarer(PairRelation([0, 1, 2], [3, 4, 5], [1, 0, 0], 6)) == 1
    assert n_rarer(PairRelation([0, 1, 2], [3, 4, 5], [1, 0.6, 0.4], 6)) == 1
    assert n_rarer(TripletRelation([0, 1], [1, 2], [2, 0], 3)) == 2
