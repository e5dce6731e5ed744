"""Explicit statements about pairs: what they keep, how they are restricted, merged and parted."""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold._core.checks import MAX_ITEMS
from twofold._core.warnings import RelationWarning
from twofold.relations import PairRelation, pair_keys


def statements(relation):
    """Return the relation as a multiset of (left, right, similar, weight)."""
    weight = np.ones(len(relation)) if relation.weight is None else relation.weight
    return Counter(
        zip(
            relation.left.tolist(),
            relation.right.tolist(),
            relation.similar.tolist(),
            weight.tolist(),
            strict=True,
        )
    )


def unordered_pairs(relation):
    return {frozenset(pair) for pair in zip(relation.left, relation.right, strict=True)}


def path_relation(n_alike, n_unalike):
    """Return n_alike + n_unalike different pairs (k, k + 1)."""
    left = np.arange(n_alike + n_unalike)
    similar = np.repeat([1.0, 0.0], [n_alike, n_unalike])
    return PairRelation(left, left + 1, similar, n_items=left.size + 1)


# What it keeps


def test_arrays_are_kept_in_the_types_that_solvers_take():
    relation = PairRelation([0, 1], (1, 2), [True, False], n_items=np.int32(4), weight=[1, 3])
    assert relation.left.dtype == relation.right.dtype == np.int64
    assert relation.similar.dtype == relation.weight.dtype == np.float32
    assert type(relation.n_items) is int
    assert relation.left.tolist() == [0, 1]
    assert relation.right.tolist() == [1, 2]
    assert relation.similar.tolist() == [1.0, 0.0]
    assert relation.weight.tolist() == [1.0, 3.0]
    assert relation.n_items == 4


def test_n_pairs_is_the_number_of_statements():
    relation = path_relation(3, 4)
    assert relation.n_pairs == 7
    assert len(relation) == 7


def test_a_pair_stated_twice_is_two_statements_and_no_warning():
    relation = PairRelation([0, 1, 0], [1, 0, 1], [1, 1, 1], n_items=2)
    assert relation.n_pairs == 3


def test_grades_are_kept():
    relation = PairRelation([0, 1, 2], [1, 2, 3], [0.25, 0.5, 1.0], n_items=4)
    assert relation.similar.tolist() == [0.25, 0.5, 1.0]


def test_ids_of_any_integer_type_are_taken():
    ids = [0, 1]
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        relation = PairRelation(np.array(ids, dtype), np.array(ids[::-1], dtype), [1, 1], 2)
        assert relation.left.tolist() == ids


def test_linked_says_which_items_are_in_a_pair_on_either_side():
    relation = PairRelation([4, 1], [1, 2], [1, 0], n_items=6)
    assert relation.linked.tolist() == [False, True, True, False, True, False]


def test_repr_counts_the_kinds():
    relation = PairRelation([0, 1, 2, 0], [1, 2, 3, 3], [1, 1, 0, 0.3], 4, weight=[1, 1, 2, 1])
    assert repr(relation) == (
        "PairRelation(4 pairs over 4 items: 2 alike, 1 not alike, 1 graded, weighted)"
    )
    assert repr(path_relation(1_000, 1)) == (
        "PairRelation(1,001 pairs over 1,002 items: 1,000 alike, 1 not alike)"
    )


# Frozen


def test_fields_cannot_be_set():
    relation = path_relation(1, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        relation.n_items = 10
    with pytest.raises(dataclasses.FrozenInstanceError):
        relation.left = np.array([1, 0])


@pytest.mark.parametrize("name", ["left", "right", "similar", "weight"])
def test_arrays_are_read_only(name):
    relation = PairRelation([0, 1], [1, 2], [1, 0], 3, weight=[1, 2])
    with pytest.raises(ValueError, match="read-only"):
        getattr(relation, name)[0] = 0


def test_the_callers_own_arrays_stay_writeable():
    left, right = np.array([0, 1]), np.array([1, 2])
    similar, weight = np.ones(2, np.float32), np.ones(2, np.float32)
    PairRelation(left, right, similar, 3, weight)
    assert all(array.flags.writeable for array in (left, right, similar, weight))


# from_pairs


def test_from_pairs_takes_a_list_of_tuples_and_counts_the_items():
    relation = PairRelation.from_pairs([(0, 4), (2, 1)], [True, False])
    assert relation.left.tolist() == [0, 2]
    assert relation.right.tolist() == [4, 1]
    assert relation.similar.tolist() == [1.0, 0.0]
    assert relation.n_items == 5


def test_from_pairs_takes_an_array_n_items_and_weights():
    relation = PairRelation.from_pairs(np.array([[0, 1], [1, 2]]), [1, 0.5], 9, [2, 3])
    assert relation.n_items == 9
    assert relation.weight.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("pairs", [[[0, 1, 2]], [0, 1], np.zeros((2, 2, 2), int)])
def test_from_pairs_refuses_another_shape(pairs):
    shape = str(np.shape(pairs)).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf"pairs must have shape \(n_pairs, 2\), got {shape}"):
        PairRelation.from_pairs(pairs, [1])


def test_from_pairs_without_pairs_is_an_empty_relation():
    with pytest.raises(ValueError, match="The relation is empty: state at least one pair"):
        PairRelation.from_pairs([], [])


def test_from_pairs_names_the_column_of_a_huge_id():
    with pytest.raises(ValueError, match=r"pairs\[:, 1\] .* row 1 \(item 1000000000000000\)"):
        PairRelation.from_pairs([[0, 1], [0, 10**15]], [1, 0])


def test_from_pairs_names_a_self_pair_even_if_it_is_all_there_is():
    with pytest.raises(ValueError, match=r"1 pair\(s\) join an item to itself, first at row 0"):
        PairRelation.from_pairs([(0, 0)], [1])


def test_from_pairs_refuses_rows_of_different_lengths_in_its_own_words():
    with pytest.raises(ValueError, match="pairs must"):
        PairRelation.from_pairs([(0, 1), (1,)], [1, 0])


def test_from_pairs_refuses_keys_and_says_how_to_number_them():
    with pytest.raises(TypeError, match=r"first: .*'ann'.*np\.unique\(ids, return_inverse=True\)"):
        PairRelation.from_pairs([("ann", "bob")], [1])


# Bad input


@pytest.mark.parametrize(
    ("left", "right", "sentence"),
    [
        ([0, -1], [1, 2], r"left has 1 item id\(s\) outside 0 \.\. 3, first at row 1 \(item -1\)"),
        (
            [0, 1],
            [-7, -2],
            r"right has 2 item id\(s\) outside 0 \.\. 3, first at row 0 \(item -7\)",
        ),
        ([0, 4], [1, 2], r"left has 1 .* row 1 \(item 4\)"),
        ([0, 10**15], [1, 2], r"left has 1 .* row 1 \(item 1000000000000000\)"),
        (
            np.array([0, 2**63 + 5], dtype=np.uint64),
            [1, 2],
            r"left has 1 .* row 1 \(item 9223372036854775813\)",
        ),
    ],
)
def test_ids_out_of_range_are_counted_and_the_first_is_named(left, right, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairRelation(left, right, [1, 0], n_items=4)


def test_the_error_of_an_id_says_the_way_out():
    with pytest.raises(ValueError, match=r"np\.unique\(ids, return_inverse=True\)"):
        PairRelation([0], [99], [1], n_items=4)


@pytest.mark.parametrize(
    ("left", "sentence"),
    [
        ([0.0, 1.0], r"left must hold integers, got float64 \(first: .*0\.0"),
        (["a", "b"], r"left must hold integers, got <U1"),
        ([True, False], r"left must hold integers, got bool"),
        ([10**20, 0], r"left must hold integers, got object \(first: 100000000000000000000"),
    ],
)
def test_ids_that_are_no_integers_are_refused(left, sentence):
    with pytest.raises(TypeError, match=sentence):
        PairRelation(left, [2, 2], [1, 0], n_items=4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[0, 1]], [1], [1]), r"left must have one dimension, got shape \(1, 2\)"),
        (([0], [[1]], [1]), r"right must have one dimension, got shape \(1, 1\)"),
        (([0], [1], [[1]]), r"similar must have one dimension, got shape \(1, 1\)"),
        (([0], [1], 1), r"similar must have one dimension, got shape \(\)"),
    ],
)
def test_arrays_of_two_or_no_dimensions_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairRelation(*arguments, n_items=4)


def test_a_weight_of_two_dimensions_is_refused():
    with pytest.raises(ValueError, match=r"weight must have one dimension, got shape \(1, 1\)"):
        PairRelation([0], [1], [1], 2, weight=[[1]])


def test_self_pairs_are_counted_and_the_first_is_named():
    with pytest.raises(ValueError, match=r"2 pair\(s\) join .* first at row 1 \(item 3\)\. Drop"):
        PairRelation([0, 3, 2], [1, 3, 2], [1, 0, 1], n_items=4)


@pytest.mark.parametrize(
    ("similar", "sentence"),
    [
        ([1, 1.5, 0], r"1 value\(s\) are not in \[0, 1\], first at row 1 \(1\.5\)"),
        ([1, 0, -0.25], r"1 value\(s\) are not in \[0, 1\], first at row 2 \(-0\.25\)"),
        ([np.nan, 0, np.nan], r"2 value\(s\) are not in \[0, 1\], first at row 0 \(nan\)"),
        ([1, np.inf, 0], r"first at row 1 \(inf\)"),
        ([1, -1, 1], r"first at row 1 \(-1\)\. For \{\+1, -1\} pass \(y \+ 1\) / 2"),
        ([1, 1e300, 0], r"first at row 1 \("),
    ],
)
def test_similar_outside_0_to_1_is_counted_and_the_first_is_named(similar, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairRelation([0, 1, 2], [1, 2, 3], similar, n_items=4)


@pytest.mark.parametrize("similar", [["yes", "no"], [None, 1]])
def test_similar_that_is_no_number_is_refused(similar):
    with pytest.raises(TypeError, match=f"similar must hold numbers.*{similar[0]}"):
        PairRelation([0, 1], [1, 2], similar, n_items=3)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1, -2, 1], r"1 value\(s\) are not, first at row 1 \(-2\)"),
        ([1, 1, np.nan], r"1 value\(s\) are not, first at row 2 \(nan\)"),
        ([np.inf, 1, np.inf], r"2 value\(s\) are not, first at row 0 \(inf\)"),
        ([0, 0, 0], r"weight is 0 for every pair"),
        ([1, 1e39, 1], r"first at row 1 \("),
    ],
)
def test_bad_weights_are_refused(weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairRelation([0, 1, 2], [1, 2, 3], [1, 0, 1], n_items=4, weight=weight)


def test_lengths_that_differ_are_listed():
    with pytest.raises(ValueError, match="left has 2, right has 3, similar has 1"):
        PairRelation([0, 1], [1, 2, 3], [1], n_items=4)
    with pytest.raises(ValueError, match="left has 1, right has 1, similar has 1, weight has 2"):
        PairRelation([0], [1], [1], n_items=4, weight=[1, 2])


def test_an_empty_relation_is_refused():
    with pytest.raises(ValueError, match="The relation is empty: state at least one pair"):
        PairRelation([], [], [], n_items=4)


@pytest.mark.parametrize("n_items", [0, 1])
def test_no_pair_can_be_formed_of_fewer_than_two_items(n_items):
    with pytest.raises(ValueError, match=f"n_items must be at least 2 .* got {n_items}"):
        PairRelation([], [], [], n_items=n_items)


def test_a_negative_number_of_items_is_refused():
    with pytest.raises(ValueError, match=r"n_items must be at least \d, got -3"):
        PairRelation([0], [1], [1], n_items=-3)


def test_more_items_than_solvers_can_address_are_refused():
    with pytest.raises(ValueError, match=r"n_items must be at most 2147483647, got 10{15}\."):
        PairRelation([0], [1], [1], n_items=10**15)
    assert PairRelation([0], [2**31 - 2], [1], n_items=2**31 - 1).n_items == 2**31 - 1


@pytest.mark.parametrize("n_items", [3.0, "3", True, None])
def test_n_items_that_is_no_integer_is_refused(n_items):
    with pytest.raises(TypeError, match=f"n_items must be an integer, got {n_items!r}"):
        PairRelation([0], [1], [1], n_items=n_items)


# Contradictions


def test_a_pair_stated_both_ways_gives_one_warning_that_counts_and_names_the_first():
    left, right = [5, 0, 3, 2, 0, 1], [6, 1, 2, 3, 4, 0]
    similar = [1, 1, 0.9, 0.1, 1, 0]
    with pytest.warns(RelationWarning) as caught:
        relation = PairRelation(left, right, similar, n_items=7)
    assert len(caught) == 1
    assert "2 pair(s) are stated both as alike and as not alike" in str(caught[0].message)
    assert "first items 0 and 1 (row 1)" in str(caught[0].message)
    assert relation.n_pairs == 6


def test_the_warning_of_contradictions_points_at_the_caller():
    with pytest.warns(RelationWarning) as caught:
        PairRelation([0, 0], [1, 1], [1, 0], n_items=2)
    assert caught[0].filename == __file__


def test_the_warning_of_contradictions_points_at_the_caller_of_from_pairs():
    with pytest.warns(RelationWarning) as caught:
        PairRelation.from_pairs([(0, 1), (0, 1)], [1, 0])
    assert caught[0].filename == __file__


def test_grades_on_one_side_of_a_half_or_on_it_contradict_nothing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PairRelation([0, 0, 0, 0], [1, 1, 2, 2], [0.6, 1.0, 0.5, 1.0], n_items=3)
        PairRelation([0, 1], [1, 0], [0.0, 0.4], n_items=2)
    assert not caught


def test_different_pairs_of_neighbouring_numbers_contradict_nothing():
    left, right = np.triu_indices(12, k=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PairRelation(left, right, np.arange(left.size) % 2, n_items=12)
    assert not caught


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0, 0.4, 0.5, 0.8, 1])),
        min_size=1,
        max_size=12,
    ).filter(lambda rows: all(a != b for a, b, _ in rows))
)
def test_the_count_of_contradictions_is_that_of_a_loop(rows):
    sides = {}
    for a, b, grade in rows:
        if grade != 0.5:
            sides.setdefault(frozenset((a, b)), set()).add(grade > 0.5)
    both = [pair for pair, found in sides.items() if len(found) == 2]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PairRelation(*map(list, zip(*rows, strict=True)), n_items=4)
    if both:
        first = next(k for k, row in enumerate(rows) if frozenset(row[:2]) in both)
        assert len(caught) == 1
        assert str(caught[0].message).startswith(f"{len(both)} pair(s)")
        assert f"{rows[first][0]} and {rows[first][1]} (row {first})" in str(caught[0].message)
    else:
        assert not caught


# take


def test_take_renumbers_in_the_order_given():
    relation = PairRelation([0, 1, 2, 3], [1, 2, 3, 4], [1, 0, 0.5, 1], 5, weight=[1, 2, 3, 4])
    taken = relation.take([3, 1, 2])
    assert taken.n_items == 3
    assert statements(taken) == Counter({(1, 2, 0.0, 2.0): 1, (2, 0, 0.5, 3.0): 1})


def test_take_by_a_mask_keeps_the_order_of_items():
    relation = PairRelation([0, 1, 2, 3], [1, 2, 3, 4], [1, 0, 0.5, 1], n_items=5)
    taken = relation.take(np.array([False, True, True, True, False]))
    assert taken.n_items == 3
    assert statements(taken) == Counter({(0, 1, 0.0, 1.0): 1, (1, 2, 0.5, 1.0): 1})


def test_take_of_all_items_changes_nothing():
    relation = path_relation(3, 2)
    assert statements(relation.take(np.arange(6))) == statements(relation)


def test_take_keeps_items_that_are_in_no_pair():
    assert path_relation(1, 0).merge(PairRelation([0], [4], [0], 5)).take([3, 1, 0]).n_items == 3


@pytest.mark.parametrize(
    ("items", "error", "sentence"),
    [
        ([0, 1, 0], ValueError, r"distinct, but 1 are repeated, first at row 2 \(item 0\)"),
        ([2, 1, 2, 1], ValueError, r"distinct, but 2 are repeated, first at row 2 \(item 2\)"),
        ([0, 6], ValueError, r"items has 1 item id\(s\) outside 0 \.\. 5, .* row 1 \(item 6\)"),
        ([0, -1], ValueError, r"items has 1 .* row 1 \(item -1\)"),
        ([0.0, 1.0], TypeError, r"items must hold integers, got float64"),
        ([[0, 1]], ValueError, r"items must have one dimension, got shape \(1, 2\)"),
        ([True, False], ValueError, r"mask of items must have shape \(6,\), got \(2,\)"),
        ([0, 2, 4], ValueError, r"None of the 5 pairs lies within the 3 items taken"),
        ([], ValueError, r"None of the 5 pairs lies within the 0 items taken"),
    ],
)
def test_take_refuses_bad_items(items, error, sentence):
    with pytest.raises(error, match=sentence):
        path_relation(3, 2).take(items)


def test_take_does_not_repeat_the_warning_of_contradictions():
    with pytest.warns(RelationWarning):
        relation = PairRelation([0, 1, 2], [1, 0, 3], [1, 0, 1], n_items=4)
    assert relation.take([0, 1]).n_pairs == 2


# merge


def test_merge_keeps_the_statements_of_both_and_the_larger_number_of_items():
    first = PairRelation([0], [1], [1], n_items=2)
    second = PairRelation([0, 3], [1, 2], [1, 0.5], n_items=6)
    for merged in (first.merge(second), second.merge(first)):
        assert merged.n_items == 6
        assert merged.weight is None
        assert statements(merged) == statements(first) + statements(second)


def test_merge_fills_missing_weights_with_ones():
    plain = PairRelation([0, 1], [1, 2], [1, 0], n_items=3)
    weighted = PairRelation([0], [2], [1], n_items=3, weight=[7])
    assert plain.merge(weighted).weight.tolist() == [1.0, 1.0, 7.0]
    assert weighted.merge(plain).weight.tolist() == [7.0, 1.0, 1.0]


def test_merge_warns_of_a_contradiction_between_the_two():
    with pytest.warns(RelationWarning, match=r"1 pair\(s\) .* first items 0 and 1 \(row 0\)"):
        PairRelation([0], [1], [1], 2).merge(PairRelation([1], [0], [0], 2))


def test_merge_takes_pairs_only():
    with pytest.raises(TypeError, match="other must be a PairRelation, got list"):
        PairRelation([0], [1], [1], 2).merge([(0, 1)])


# over, without


def test_the_same_statements_over_more_items():
    relation = PairRelation([0, 1], [1, 2], [1, 0.5], n_items=3, weight=[2, 3])
    more = relation.over(5)
    assert more.n_items == 5
    assert statements(more) == statements(relation)
    with pytest.raises(ValueError, match="n_items must be at least 3, got 2"):
        relation.over(2)


def test_statements_are_taken_back_whichever_item_comes_first():
    relation = PairRelation([0, 1, 2, 0], [1, 0, 3, 2], [1, 0.9, 0, 1], 5, weight=[1, 2, 3, 4])
    rest = relation.without([(1, 0)])
    assert rest.n_items == 5
    assert statements(rest) == Counter({(2, 3, 0.0, 3.0): 1, (0, 2, 1.0, 4.0): 1})


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([(0, 1), (3, 0)], r"1 pair\(s\) cannot be withdrawn.* items 3 and 0 \(row 1\)"),
        ([(0, 1), (1, 2)], "all the statements: nothing would remain"),
        ([(0, 7)], r"pairs\[:, 1\] has 1 item id\(s\) outside"),
        ([0, 1], r"pairs must have shape \(n_pairs, 2\), got \(2,\)"),
    ],
)
def test_what_cannot_be_taken_back_is_named(pairs, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairRelation([0, 1], [1, 2], [1, 0], n_items=4).without(pairs)


# split

PAIR_ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=40
).filter(lambda rows: all(a != b for a, b, _ in rows))


@settings(deadline=None, max_examples=60)
@given(rows=PAIR_ROWS, share=st.floats(0.1, 0.9), seed=st.integers(0, 100))
def test_split_never_separates_the_statements_of_one_pair(rows, share, seed):
    left, right, similar = map(list, zip(*rows, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        relation = PairRelation(left, right, similar, 6, weight=np.arange(1, len(rows) + 1))
    try:
        kept, held_out = relation.split(share, random_state=seed)
    except ValueError:
        return
    assert not unordered_pairs(kept) & unordered_pairs(held_out)
    assert statements(kept) + statements(held_out) == statements(relation)
    assert kept.n_items == held_out.n_items == 6


def test_a_pair_given_both_ways_round_stays_together():
    left = np.arange(40)
    both_ways = PairRelation(
        np.concatenate([left, left + 1]),
        np.concatenate([left + 1, left]),
        np.tile(left % 2, 2),
        n_items=41,
    )
    kept, held_out = both_ways.split(0.5, random_state=0)
    assert (kept.n_pairs, held_out.n_pairs) == (40, 40)
    assert not unordered_pairs(kept) & unordered_pairs(held_out)


@pytest.mark.parametrize("held_out", [0.2, 20])
def test_split_holds_out_alike_and_not_alike_in_proportion(held_out):
    kept, out = path_relation(30, 70).split(held_out, random_state=3)
    assert np.count_nonzero(out.similar == 1) == 6
    assert np.count_nonzero(out.similar == 0) == 14
    assert kept.n_pairs == 80


@pytest.mark.parametrize(
    ("n_alike", "n_unalike", "n_out"), [(3, 7, 5), (2, 2, 1), (5, 5, 9), (1, 1, 1), (1, 99, 50)]
)
def test_split_by_a_number_holds_out_just_that_number_of_pairs(n_alike, n_unalike, n_out):
    kept, out = path_relation(n_alike, n_unalike).split(n_out, random_state=0)
    assert out.n_pairs == n_out
    assert kept.n_pairs == n_alike + n_unalike - n_out


def test_split_takes_a_share_of_any_float_type():
    assert path_relation(10, 10).split(np.float32(0.5), random_state=0)[1].n_pairs == 10


def test_same_seed_same_split_and_another_seed_another():
    relation = path_relation(30, 70)
    first, again, other = (relation.split(0.3, random_state=seed)[1] for seed in (1, 1, 2))
    assert first.left.tolist() == again.left.tolist()
    assert first.left.tolist() != other.left.tolist()


def test_split_is_random_over_all_pairs():
    relation = path_relation(10, 10)
    rng = np.random.default_rng(0)
    times_out = np.zeros(20)
    for _ in range(200):
        times_out[relation.split(0.5, rng)[1].left] += 1
    assert times_out.min() > 60
    assert times_out.max() < 140


@pytest.mark.parametrize("held_out", [1, 0.5, 5])
def test_split_refuses_to_leave_a_part_empty(held_out):
    with pytest.raises(ValueError, match=rf"held_out={held_out} of 1 pair\(s\) leaves one part"):
        PairRelation([0, 1], [1, 0], [1, 1], n_items=2).split(held_out, random_state=0)


@pytest.mark.parametrize("held_out", [0.0, 1.0, -0.5, 2.5, float("nan")])
def test_split_refuses_a_share_outside_0_to_1(held_out):
    with pytest.raises(ValueError, match=f"held_out must be a share .* got {held_out}"):
        path_relation(5, 5).split(held_out)


@pytest.mark.parametrize(
    ("held_out", "error", "sentence"),
    [
        (0, ValueError, "held_out must be at least 1, got 0"),
        (-2, ValueError, "held_out must be at least 1, got -2"),
        (True, TypeError, "held_out must be .* got True"),
        ("half", TypeError, "held_out must be .* got 'half'"),
    ],
)
def test_split_refuses_what_is_neither_share_nor_number(held_out, error, sentence):
    with pytest.raises(error, match=sentence):
        path_relation(5, 5).split(held_out)


def test_split_does_not_repeat_the_warning_of_contradictions():
    with pytest.warns(RelationWarning):
        relation = PairRelation([0, 1, 2, 3], [1, 0, 3, 4], [1, 0, 1, 0], n_items=5)
    kept, held_out = relation.split(0.5, random_state=0)
    assert kept.n_pairs + held_out.n_pairs == 4


# balanced


def totals(relation):
    """Return how much is stated as alike, and how much as not alike."""
    weight = np.asarray(relation.weight, dtype=float)
    return weight @ relation.similar, weight @ (1 - relation.similar)


@pytest.mark.parametrize(("n_alike", "n_unalike"), [(1, 10), (10, 1), (3, 7), (5, 5), (1, 999)])
def test_balanced_kinds_count_alike_in_all(n_alike, n_unalike):
    found = path_relation(n_alike, n_unalike).balanced()
    n_pairs = n_alike + n_unalike
    np.testing.assert_allclose(totals(found), n_pairs / 2, rtol=1e-5)
    np.testing.assert_allclose(found.weight[:n_alike], n_pairs / (2 * n_alike), rtol=1e-6)
    np.testing.assert_allclose(found.weight[n_alike:], n_pairs / (2 * n_unalike), rtol=1e-6)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.9, 1.0]), st.floats(0.01, 100.0)),
        min_size=1,
        max_size=30,
    )
)
def test_balancing_changes_weights_only_and_keeps_their_sum(rows):
    similar, weight = (np.array(column, dtype=np.float32) for column in zip(*rows, strict=True))
    left = np.arange(len(rows))
    relation = PairRelation(left, left + 1, similar, len(rows) + 1, weight)
    found = relation.balanced()
    assert found.weight.dtype == np.float32
    np.testing.assert_array_equal(found.left, relation.left)
    np.testing.assert_array_equal(found.right, relation.right)
    np.testing.assert_array_equal(found.similar, relation.similar)
    assert found.n_items == relation.n_items
    np.testing.assert_allclose(found.weight.sum(), weight.sum(), rtol=1e-4)
    if set(similar.tolist()) == {0.0, 1.0}:
        np.testing.assert_allclose(*totals(found), rtol=1e-4)


def test_balancing_keeps_weights_in_proportion_within_a_kind():
    relation = PairRelation(
        [0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 0, 0], n_items=5, weight=[1, 3, 10, 30]
    )
    found = relation.balanced().weight
    np.testing.assert_allclose(found[1] / found[0], 3, rtol=1e-6)
    np.testing.assert_allclose(found[3] / found[2], 3, rtol=1e-6)
    np.testing.assert_allclose(found, [5.5, 16.5, 5.5, 16.5], rtol=1e-6)


def test_a_grade_is_weighted_between_the_two_kinds():
    similar = [1.0, 0.75, 0.5, 0.25, 0.0, 0.0, 0.0, 0.0]
    left = np.arange(8)
    found = PairRelation(left, left + 1, similar, n_items=9).balanced().weight
    alike, unalike = 4 / 2.5, 4 / 5.5  # half of all, over what is stated of the kind
    expected = [grade * alike + (1 - grade) * unalike for grade in similar]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (np.diff(found[:5]) < 0).all()


def test_a_balanced_relation_stays_as_it_is():
    found = path_relation(4, 4).balanced()
    np.testing.assert_allclose(found.weight, 1, rtol=1e-6)
    once = path_relation(2, 9).balanced()
    np.testing.assert_allclose(once.balanced().weight, once.weight, rtol=1e-5)


@pytest.mark.parametrize(("n_alike", "n_unalike"), [(4, 0), (0, 4)])
def test_pairs_of_one_kind_are_not_weighted(n_alike, n_unalike):
    relation = path_relation(n_alike, n_unalike)
    assert relation.balanced() is relation


def test_a_kind_that_weighs_nothing_is_not_weighted():
    relation = PairRelation([0, 1], [1, 2], [1, 0], n_items=3, weight=[0, 2])
    assert relation.balanced() is relation


def test_balancing_does_not_repeat_the_warning_of_contradictions():
    with pytest.warns(RelationWarning):
        relation = PairRelation([0, 1, 2], [1, 0, 3], [1, 0, 0], n_items=5)
    np.testing.assert_allclose(relation.balanced().weight, [1.5, 0.75, 0.75])


# Keys of pairs


def test_a_pair_has_one_key_whichever_item_comes_first_and_no_other_pair_has_it():
    left, right = (ends.ravel() for ends in np.indices((7, 7)))
    keys = pair_keys(left, right, 7)
    pairs = [frozenset(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)]
    assert len(set(zip(keys.tolist(), pairs, strict=True))) == len(set(keys)) == len(set(pairs))


def test_the_keys_of_the_most_items_do_not_overflow():
    last = np.array([MAX_ITEMS - 1])
    keys = pair_keys(last, last - 1, MAX_ITEMS)
    assert keys.tolist() == [(MAX_ITEMS - 2) * MAX_ITEMS + MAX_ITEMS - 1]
