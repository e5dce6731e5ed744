"""Comparisons: what they refuse, and how they are restricted."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.relations import TripletRelation


def test_triplets_are_kept():
    relation = TripletRelation([0, 3], [1, 2], [2, 0], n_items=5)
    assert relation.n_triplets == len(relation) == 2
    assert relation.anchor.tolist() == [0, 3]
    assert relation.positive.tolist() == [1, 2]
    assert relation.negative.tolist() == [2, 0]
    assert repr(relation) == "TripletRelation(2 triplets over 5 items)"


def test_linked_says_which_items_are_in_a_triplet_in_any_role():
    relation = TripletRelation([0], [3], [5], n_items=7)
    assert np.flatnonzero(relation.linked).tolist() == [0, 3, 5]
    assert relation.linked.shape == (7,)


def test_fields_cannot_be_set_and_arrays_are_read_only():
    anchor = np.array([0])
    relation = TripletRelation(anchor, [1], [2], n_items=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        relation.n_items = 4
    for role in (relation.anchor, relation.positive, relation.negative):
        with pytest.raises(ValueError, match="read-only"):
            role[0] = 1
    anchor[0] = 2  # the caller's own stays writeable


@pytest.mark.parametrize(
    ("anchor", "positive", "negative", "twice"),
    [
        ([0, 1], [1, 1], [2, 2], r"\(1, 1, 2\)"),
        ([0, 2], [1, 1], [2, 2], r"\(2, 1, 2\)"),
        ([0, 0], [1, 2], [2, 2], r"\(0, 2, 2\)"),
    ],
)
def test_a_triplet_that_names_an_item_twice_is_refused(anchor, positive, negative, twice):
    with pytest.raises(ValueError, match=rf"1 triplet\(s\) .* first at row 1 {twice}\. Drop them"):
        TripletRelation(anchor, positive, negative, n_items=3)


@pytest.mark.parametrize("role", ["anchor", "positive", "negative"])
@pytest.mark.parametrize(
    ("ids", "error", "sentence"),
    [
        ([-1, 5], ValueError, r"has 1 item id\(s\) outside 0 \.\. 5, first at row 0 \(item -1\)"),
        ([4, 6], ValueError, r"has 1 item id\(s\) outside 0 \.\. 5, first at row 1 \(item 6\)"),
        ([4.0, 5.0], TypeError, r"must hold integers, got float64"),
        ([[4, 5]], ValueError, r"must have one dimension, got shape \(1, 2\)"),
    ],
)
def test_bad_ids_are_refused_in_every_role(role, ids, error, sentence):
    roles = {"anchor": [0, 1], "positive": [1, 2], "negative": [2, 3]} | {role: ids}
    with pytest.raises(error, match=f"{role} {sentence}"):
        TripletRelation(**roles, n_items=6)


def test_lengths_that_differ_are_listed():
    with pytest.raises(ValueError, match="anchor has 2, positive has 1, negative has 3"):
        TripletRelation([0, 1], [1], [2, 3, 3], n_items=4)


def test_an_empty_relation_is_refused():
    with pytest.raises(ValueError, match="empty: state at least one triplet"):
        TripletRelation([], [], [], n_items=4)


@pytest.mark.parametrize("n_items", [0, 1])
def test_too_few_items_are_refused(n_items):
    with pytest.raises(ValueError, match=f"n_items must be at least 2 .* got {n_items}"):
        TripletRelation([], [], [], n_items=n_items)


def test_take_renumbers_in_the_order_given():
    relation = TripletRelation([0, 1, 2], [1, 2, 3], [2, 3, 4], n_items=5)
    taken = relation.take([3, 2, 1])
    assert taken.n_items == 3
    assert (taken.anchor.item(), taken.positive.item(), taken.negative.item()) == (2, 1, 0)


def test_take_by_a_mask():
    relation = TripletRelation([0, 1, 2], [1, 2, 3], [2, 3, 4], n_items=5)
    taken = relation.take(np.arange(5) > 0)
    assert taken.anchor.tolist() == [0, 1]
    assert taken.positive.tolist() == [1, 2]
    assert taken.negative.tolist() == [2, 3]


def test_take_refuses_to_leave_nothing():
    relation = TripletRelation([0, 1], [1, 2], [2, 3], n_items=4)
    with pytest.raises(ValueError, match="None of the 2 triplets lies within the 3 items taken"):
        relation.take([0, 1, 3])


def test_take_refuses_items_that_come_twice():
    relation = TripletRelation([0], [1], [2], n_items=4)
    with pytest.raises(ValueError, match=r"1 are repeated, first at row 3 \(item 1\)"):
        relation.take([0, 1, 2, 1])


def triplets(relation):
    """Return the relation as a multiset of (anchor, positive, negative)."""
    roles = (relation.anchor, relation.positive, relation.negative)
    return Counter(zip(*(role.tolist() for role in roles), strict=True))


# merge, over, without


def test_merge_keeps_the_statements_of_both_and_the_larger_number_of_items():
    first = TripletRelation([0], [1], [2], n_items=3)
    second = TripletRelation([0, 5], [1, 4], [2, 3], n_items=6)
    for merged in (first.merge(second), second.merge(first)):
        assert merged.n_items == 6
        assert triplets(merged) == triplets(first) + triplets(second)
    with pytest.raises(TypeError, match="other must be a TripletRelation, got list"):
        first.merge([(0, 1, 2)])


def test_the_same_statements_over_more_items():
    relation = TripletRelation([0, 1], [1, 2], [2, 0], n_items=3)
    assert relation.over(5).n_items == 5
    assert triplets(relation.over(5)) == triplets(relation)
    with pytest.raises(ValueError, match="n_items must be at least 3, got 2"):
        relation.over(2)


def test_a_triplet_is_taken_back_as_often_as_it_is_stated_and_no_other():
    relation = TripletRelation([0, 0, 1, 0], [1, 2, 0, 1], [2, 1, 2, 2], n_items=4)
    rest = relation.without([(0, 1, 2)])
    assert rest.n_items == 4
    assert triplets(rest) == Counter([(0, 2, 1), (1, 0, 2)])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([(0, 1, 2), (0, 2, 1)], r"1 triplet\(s\) cannot be withdrawn.* first \(0, 2, 1\)"),
        ([(0, 1, 2), (1, 2, 3)], "all the statements: nothing would remain"),
        ([(0, 1)], r"triplets must have shape \(n_triplets, 3\), got \(1, 2\)"),
    ],
)
def test_what_cannot_be_taken_back_is_named(rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        TripletRelation([0, 1], [1, 2], [2, 3], n_items=4).without(rows)


# split


def star(n_triplets):
    """Return n different triplets about item 0."""
    return TripletRelation(
        np.zeros(n_triplets, dtype=int),
        np.full(n_triplets, n_triplets + 1),
        np.arange(1, n_triplets + 1),
        n_items=n_triplets + 2,
    )


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.permutations(range(4)).map(lambda order: tuple(order[:3])), min_size=2),
    st.floats(0.05, 0.95),
    st.integers(0, 9),
)
def test_split_keeps_every_statement_and_never_separates_equal_ones(rows, share, seed):
    relation = TripletRelation(*np.array(rows).T, n_items=6)
    n_out = round(share * len(set(rows)))
    if not 0 < n_out < len(set(rows)):
        with pytest.raises(ValueError, match="leaves one part empty"):
            relation.split(share, random_state=seed)
        return
    kept, out = relation.split(share, random_state=seed)
    assert triplets(kept) + triplets(out) == triplets(relation)
    assert not triplets(kept).keys() & triplets(out).keys()
    assert len(triplets(out)) == n_out
    assert kept.n_items == out.n_items == 6


@pytest.mark.parametrize(("held_out", "n_out"), [(0.2, 4), (0.5, 10), (7, 7), (np.int64(3), 3)])
def test_split_holds_out_a_share_or_a_number(held_out, n_out):
    kept, out = star(20).split(held_out, random_state=0)
    assert (out.n_triplets, kept.n_triplets) == (n_out, 20 - n_out)


def test_same_seed_same_split_and_another_seed_another():
    first, again, other = (star(40).split(0.3, random_state=seed)[1] for seed in (1, 1, 2))
    assert first.negative.tolist() == again.negative.tolist()
    assert first.negative.tolist() != other.negative.tolist()


def test_split_is_random_over_all_triplets():
    rng = np.random.default_rng(0)
    times_out = np.zeros(22)
    for _ in range(200):
        times_out[star(20).split(0.5, rng)[1].negative] += 1
    assert times_out[1:21].min() > 60
    assert times_out[1:21].max() < 140


@pytest.mark.parametrize("held_out", [1, 0.5, 5])
def test_split_refuses_to_leave_a_part_empty(held_out):
    twice = TripletRelation([0, 0], [1, 1], [2, 2], n_items=3)
    with pytest.raises(ValueError, match=rf"held_out={held_out} of 1 triplet\(s\) leaves one part"):
        twice.split(held_out, random_state=0)


@pytest.mark.parametrize(
    ("held_out", "error", "sentence"),
    [
        (0.0, ValueError, r"held_out must be a share .* got 0\.0"),
        (1.0, ValueError, r"held_out must be a share .* got 1\.0"),
        (0, ValueError, "held_out must be at least 1, got 0"),
        (True, TypeError, "held_out must be .* got True"),
        ("half", TypeError, "held_out must be .* got 'half'"),
    ],
)
def test_split_refuses_what_is_neither_share_nor_number(held_out, error, sentence):
    with pytest.raises(error, match=sentence):
        star(10).split(held_out)
