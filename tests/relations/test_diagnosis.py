"""What is said of a relation before anything is learnt: counts, parts, contradictions, chains."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold._core.warnings import RelationWarning
from twofold.relations import LabelRelation, PairRelation, diagnose, is_transitive
from twofold.relations import _chains as chains_module

N_ITEMS = 9


@st.composite
def relations(draw):
    """Strategy: up to 24 statements about nine items, grades and contradictions among them."""
    pair = st.tuples(st.integers(0, N_ITEMS - 1), st.integers(0, N_ITEMS - 1)).filter(
        lambda ends: ends[0] != ends[1]
    )
    pairs = draw(st.lists(pair, min_size=1, max_size=24))
    grades = st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0])
    similar = draw(st.lists(grades, min_size=len(pairs), max_size=len(pairs)))
    return relation_of(pairs, similar, N_ITEMS)


def relation_of(pairs, similar, n_items):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return PairRelation.from_pairs(pairs, similar, n_items)


def slow_lengths(relation, start, is_link):
    """Return the links from `start` to every item it reaches, ring by ring: the definition."""
    lengths, ring = {start: 0}, {start}
    while ring:
        following = set()
        for left, right, linked in zip(relation.left, relation.right, is_link, strict=True):
            if linked:
                following |= {int(right)} if left in ring else set()
                following |= {int(left)} if right in ring else set()
        ring = following - set(lengths)
        lengths |= dict.fromkeys(ring, max(lengths.values()) + 1)
    return lengths


def slow_sizes(relation, is_link):
    parts = {frozenset(slow_lengths(relation, item, is_link)) for item in range(relation.n_items)}
    return sorted((len(part) for part in parts if len(part) > 1), reverse=True)


@settings(deadline=None, max_examples=50)
@given(relations())
def test_parts_and_groups_are_what_a_search_from_every_item_finds(relation):
    found = diagnose(relation)
    assert found.part_sizes.tolist() == slow_sizes(relation, np.ones(len(relation), bool))
    assert found.group_sizes.tolist() == slow_sizes(relation, relation.similar > 0.5)
    assert found.n_parts == found.part_sizes.size
    assert found.n_groups == found.group_sizes.size
    assert found.part_sizes.sum() + found.n_unlinked == relation.n_items


@settings(deadline=None, max_examples=50)
@given(relations())
def test_contradictions_are_the_dissimilar_pairs_that_similar_ones_join(relation):
    alike = relation.similar > 0.5
    expected = {}
    for row in np.flatnonzero(relation.similar < 0.5):
        lengths = slow_lengths(relation, int(relation.left[row]), alike)
        if int(relation.right[row]) in lengths:
            expected[int(row)] = lengths[int(relation.right[row])]
    found = diagnose(relation)
    assert found.n_contradictions == len(expected)
    assert {one.row: len(one.chain) - 1 for one in found.contradictions} == expected


@settings(deadline=None, max_examples=50)
@given(relations())
def test_transitive_is_what_no_dissimilar_pair_within_a_similar_group_contradicts(relation):
    alike = relation.similar > 0.5
    inside = any(
        int(right) in slow_lengths(relation, int(left), alike)
        for left, right, similar in zip(
            relation.left, relation.right, relation.similar, strict=True
        )
        if similar < 0.5
    )
    assert is_transitive(relation) is not inside
    assert is_transitive(relation) == (diagnose(relation).n_contradictions == 0)


@pytest.mark.parametrize(("last", "expected"), [(1.0, True), (0.5, True), (0.0, False)])
def test_a_chain_of_two_is_transitive_unless_its_ends_are_said_to_differ(last, expected):
    chain = relation_of([(0, 1), (1, 2), (2, 0)], [1.0, 1.0, last], 3)
    assert is_transitive(chain) is expected


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_classes_are_transitive_and_those_of_several_labels_are_not(seed):
    rng = np.random.default_rng(seed)
    classes = LabelRelation(rng.integers(4, size=30))
    assert is_transitive(classes.sample_pairs(5, 5, random_state=seed))
    labels = LabelRelation(np.eye(4, dtype=int)[rng.integers(4, size=(30, 2))].max(axis=1))
    assert not is_transitive(labels.sample_pairs(5, 5, random_state=seed))


@settings(deadline=None, max_examples=50)
@given(relations())
def test_every_chain_goes_from_left_to_right_over_similar_pairs(relation):
    alike = relation.similar > 0.5
    ends = zip(relation.left[alike], relation.right[alike], strict=True)
    links = {frozenset(pair) for pair in ends}
    for one in diagnose(relation).contradictions:
        assert (one.left, one.right) == (relation.left[one.row], relation.right[one.row])
        assert (one.chain[0], one.chain[-1]) == (one.left, one.right)
        assert all(frozenset(link) in links for link in pairwise(one.chain))


@settings(deadline=None, max_examples=50)
@given(relations())
def test_shortest_chains_come_first(relation):
    lengths = [len(one.chain) for one in diagnose(relation).contradictions]
    assert lengths == sorted(lengths)


@settings(deadline=None, max_examples=50)
@given(relations())
def test_repeated_and_both_ways_are_counted_as_by_hand(relation):
    stated = {}
    for row, pair in enumerate(zip(relation.left.tolist(), relation.right.tolist(), strict=True)):
        stated.setdefault(frozenset(pair), []).append((row, float(relation.similar[row])))
    both = [
        (
            min(row for row, value in said if value > 0.5),
            min(row for row, value in said if value < 0.5),
        )
        for said in stated.values()
        if {value > 0.5 for _, value in said if value != 0.5} == {True, False}
    ]
    found = diagnose(relation)
    assert found.n_repeated == sum(len(said) > 1 for said in stated.values())
    assert found.n_both_ways == len(both)
    assert sorted(found.both_ways) == sorted(both)
    assert found.share_known == pytest.approx(len(stated) / (N_ITEMS * (N_ITEMS - 1) / 2))


@settings(deadline=None, max_examples=50)
@given(relations(), st.randoms(use_true_random=False))
def test_the_order_of_statements_and_of_their_ends_changes_no_count(relation, random):
    rows = list(range(len(relation)))
    random.shuffle(rows)
    left, right = relation.right[rows], relation.left[rows]
    other = diagnose(
        relation_of(np.column_stack([left, right]), relation.similar[rows], relation.n_items)
    )
    found = diagnose(relation)
    for name in ("n_similar", "n_graded", "n_repeated", "n_both_ways", "n_contradictions"):
        assert getattr(found, name) == getattr(other, name)
    assert found.group_sizes.tolist() == other.group_sizes.tolist()


def test_the_kinds_of_statements_add_up():
    relation = PairRelation([0, 1, 2, 3], [1, 2, 3, 4], [1, 0, 0.5, 0.75], n_items=6)
    found = diagnose(relation)
    assert (found.n_similar, found.n_dissimilar, found.n_graded) == (1, 1, 2)
    assert (found.n_pairs, found.n_items, found.n_unlinked) == (4, 6, 1)
    assert found.statements_per_item == pytest.approx(4 / 6)


def test_classes_never_contradict_themselves():
    pairs = LabelRelation([0, 1, 2] * 30).sample_pairs(random_state=0)
    found = diagnose(pairs)
    assert found.n_contradictions == 0
    assert found.contradictions == ()
    assert found.group_sizes.tolist() == [30, 30, 30]


def test_one_wrong_similar_pair_joins_two_classes_and_is_in_every_chain():
    pairs = LabelRelation([0, 1] * 20).sample_pairs(random_state=0)
    wrong = PairRelation([0], [1], [1], n_items=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        found = diagnose(pairs.merge(wrong), max_chains=1000)
    assert found.n_contradictions == len(found.contradictions) == int((pairs.similar == 0).sum())
    for one in found.contradictions:
        assert {0, 1} in [set(link) for link in pairwise(one.chain)]


def test_the_count_is_exact_when_fewer_chains_are_listed():
    # A path 0 ~ 1 ~ … ~ 9, and every longer pair stated as not alike.
    ends = [(i, i + 1) for i in range(9)]
    apart = [(i, j) for i in range(10) for j in range(i + 2, 10)]
    relation = relation_of(ends + apart, [1] * len(ends) + [0] * len(apart), 10)
    found = diagnose(relation, max_chains=8)
    assert found.n_contradictions == 36
    assert [len(one.chain) for one in found.contradictions] == [3] * 8
    assert diagnose(relation, max_chains=0).contradictions == ()


def test_pairs_contradicted_directly_and_by_most_partners_come_first():
    friends = [(0, k) for k in (2, 3, 4)] + [(1, k) for k in (2, 3, 4)] + [(5, 6), (6, 7), (8, 9)]
    apart = [(5, 7), (0, 1), (9, 8)]
    relation = relation_of(friends + apart, [1] * len(friends) + [0] * len(apart), 10)
    assert [one.row for one in diagnose(relation).contradictions] == [11, 10, 9]
    assert [one.row for one in diagnose(relation, max_chains=2).contradictions] == [11, 10]


def test_of_pairs_without_a_common_partner_the_shortest_chain_comes_first():
    path = [(i, i + 1) for i in range(5)]
    relation = relation_of([*path, (0, 5), (1, 4)], [1] * 5 + [0] * 2, 6)
    chains = [one.chain for one in diagnose(relation).contradictions]
    assert chains == [(1, 2, 3, 4), (0, 1, 2, 3, 4, 5)]


def test_pairs_stated_both_ways_are_listed_in_the_order_of_their_rows():
    pairs = [(4, 5), (2, 3), (0, 1), (1, 0), (3, 2), (5, 4)]
    found = diagnose(relation_of(pairs, [1, 0, 1, 0, 1, 0], 6))
    assert found.both_ways == ((0, 5), (4, 1), (2, 3))
    assert diagnose(relation_of(pairs, [1, 0, 1, 0, 1, 0], 6), max_chains=1).both_ways == ((0, 5),)


def test_partners_in_common_are_the_same_looked_up_in_small_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    pairs = rng.integers(60, size=(600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    relation = relation_of(pairs, rng.integers(2, size=len(pairs)), 60)
    friends = chains_module.similar_graph(relation)
    slow = (friends.astype(int) @ friends.astype(int)).toarray()[relation.left, relation.right]
    for size in (1, 7, 2**22):
        monkeypatch.setattr(chains_module, "CHUNK_PARTNERS", size)
        _, common = chains_module._directly_and_in_common(friends, relation.left, relation.right)
        assert (common == slow).all()


def test_of_many_contradictions_all_are_counted_and_some_are_listed():
    pairs = LabelRelation(np.arange(500) % 5).sample_pairs(random_state=0)
    flipped = np.random.default_rng(0).random(pairs.n_pairs) < 0.05
    similar = np.where(flipped, 1 - pairs.similar, pairs.similar)
    relation = relation_of(np.column_stack([pairs.left, pairs.right]), similar, pairs.n_items)
    found = diagnose(relation)
    # So many flipped ones join all classes to one group, inside which all of them then lie.
    assert found.n_groups == 1
    assert found.n_contradictions == found.n_dissimilar
    assert len(found.contradictions) == 100


def test_max_chains_must_be_a_count():
    with pytest.raises(ValueError, match="max_chains must be at least 0, got -1"):
        diagnose(PairRelation([0], [1], [1], 2), max_chains=-1)
