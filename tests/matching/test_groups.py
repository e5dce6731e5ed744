from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.matching import group_pairs

N_ITEMS = 8


@st.composite
def tables(draw, distinct=False):
    """Return scores of all pairs of a few items, many of them below 0.5."""
    pairs = list(combinations(range(N_ITEMS), 2))
    values = (
        st.permutations(range(len(pairs)))
        if distinct
        else st.lists(st.integers(0, 27), min_size=len(pairs), max_size=len(pairs))
    )
    left, right = np.array(pairs).T
    return left, right, np.array(draw(values)) / 27


def members(groups):
    return {frozenset(np.flatnonzero(groups == one).tolist()) for one in np.unique(groups)}


def linked_completely(left, right, score, n_items, threshold):
    """Return complete linkage by its definition: the two groups whose least pair is best join."""
    table = np.full((n_items, n_items), -np.inf)
    table[left, right] = table[right, left] = score
    groups = [[item] for item in range(n_items)]
    while True:
        least = [(-table[np.ix_(a, b)].min(), a, b) for a, b in combinations(sorted(groups), 2)]
        if not least or -min(least)[0] < threshold:
            return {frozenset(group) for group in groups}
        _, a, b = min(least)
        groups = [group for group in groups if group not in (a, b)] + [sorted(a + b)]


@given(table=tables(distinct=True))
@settings(max_examples=60)
def test_groups_are_those_of_complete_linkage(table):
    groups = group_pairs(*table, N_ITEMS, 0.5)
    assert members(groups) == linked_completely(*table, N_ITEMS, 0.5)


@given(table=tables())
@settings(max_examples=40)
def test_every_two_members_reach_the_threshold_and_the_id_is_the_earliest_row(table):
    left, right, score = table
    groups = group_pairs(left, right, score, N_ITEMS, 0.5)
    assert (score[groups[left] == groups[right]] >= 0.5).all()
    for one in np.unique(groups):
        assert one == np.flatnonzero(groups == one)[0]


@given(table=tables(), n_old=st.integers(1, N_ITEMS))
@settings(max_examples=60)
def test_adding_rows_renames_no_group_and_takes_no_member_away(table, n_old):
    left, right, score = table
    old = right < n_old
    before = group_pairs(left[old], right[old], score[old], n_old, 0.5)
    after = group_pairs(left, right, score, N_ITEMS, 0.5, previous=before)
    assert (score[after[left] == after[right]] >= 0.5).all()
    for one in np.unique(before):
        ids = np.unique(after[:n_old][before == one])
        assert ids.size == 1
        joined = np.unique(before[after[:n_old] == ids[0]])
        assert ids[0] == joined.min()  # its own id, unless it became one with an earlier group
    new = np.setdiff1d(after, before)
    assert (new >= n_old).all()


@given(table=tables(distinct=True), order=st.permutations(range(N_ITEMS)))
@settings(max_examples=40)
def test_groups_do_not_depend_on_the_order_of_rows(table, order):
    left, right, score = table
    order = np.array(order)
    moved = group_pairs(order[left], order[right], score, N_ITEMS, 0.5)
    assert members(moved[order]) == members(group_pairs(left, right, score, N_ITEMS, 0.5))


def test_a_chain_is_no_group():
    assert group_pairs([0, 1], [1, 2], [0.9, 0.8], 3, 0.5).tolist() == [0, 0, 2]
    assert group_pairs([0, 1, 0], [1, 2, 2], [0.9, 0.8, 0.4], 3, 0.5).tolist() == [0, 0, 2]
    assert group_pairs([0, 1, 0], [1, 2, 2], [0.9, 0.8, 0.5], 3, 0.5).tolist() == [0, 0, 0]


def test_two_old_groups_become_one_only_if_all_their_members_are_alike():
    previous = [0, 0, 2, 2]
    left, right = [0, 0, 1, 1], [2, 3, 2, 3]
    three, four = ([0.9, 0.9, 0.9], [0.9] * 4)
    assert group_pairs(left[:3], right[:3], three, 4, 0.5, previous=previous).tolist() == previous
    assert group_pairs(left, right, four, 4, 0.5, previous=previous).tolist() == [0, 0, 0, 0]


def test_previous_groups_stay_although_their_pairs_are_gone():
    assert group_pairs([], [], [], 3, 0.5, previous=[7, 7, -1]).tolist() == [7, 7, 2]


def test_a_new_group_takes_no_id_of_an_old_one():
    # Row 2 is new, and 2 is the id of a group whose first row was taken out of the table.
    assert group_pairs([], [], [], 3, 0.5, previous=[2, 2, -1]).tolist() == [2, 2, 3]


def test_a_pair_given_twice_or_either_way_round_counts_once_by_its_better_score():
    pairs = ([0, 1, 0, 2], [1, 0, 2, 1], [0.1, 0.9, 0.9, 0.9])
    assert group_pairs(*pairs, 3, 0.5).tolist() == [0, 0, 0]
    assert group_pairs([0, 0], [0, 1], [0.9, 0.9], 2, 0.5).tolist() == [0, 0]


def test_items_without_pairs_are_groups_of_their_own():
    assert group_pairs([], [], [], 3, 0.5).tolist() == [0, 1, 2]
    assert group_pairs([], [], [], 0, 0.5).tolist() == []


@pytest.mark.parametrize(
    ("previous", "sentence"),
    [([0, 0, 0], "at most 2 items, got int64 of shape"), ([0.5], "got float64 of shape")],
)
def test_previous_groups_that_do_not_fit_are_refused(previous, sentence):
    with pytest.raises(ValueError, match=sentence):
        group_pairs([0], [1], [0.9], 2, 0.5, previous=previous)
    with pytest.raises(ValueError, match="left has 1 item id"):
        group_pairs([5], [1], [0.9], 2, 0.5)
