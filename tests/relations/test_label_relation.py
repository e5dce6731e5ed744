"""Labels that imply a relation: what counts as a class, and the grades against a double loop."""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_sets import (
    class_vectors,
    indicator_of,
    multi_labels,
    partners_of,
    relation_of,
    sets_of_classes,
    slow_similarity,
)
from scipy import sparse

from twofold._core.warnings import RelationWarning
from twofold.relations import LabelRelation, _patterns

GRADES = st.sampled_from(["overlap", "jaccard"])


class NAType:
    """Stands for pandas' NA, which compares to nothing and is no float."""

    def __eq__(self, other):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


def everything(relation):
    items = np.arange(relation.n_items)
    return relation.similarity(items, items)


# Classes

CLASS_VECTORS = [
    pytest.param([7, 3, 7, -1, 3], id="ints"),
    pytest.param(np.array([7, 3, 7, -1, 3], dtype=np.int8), id="small ints"),
    pytest.param(np.array([7.5, 3.0, 7.5, np.nan, 3.0]), id="floats with NaN"),
    pytest.param([7.5, 3.0, 7.5, -1.0, 3.0], id="floats with -1"),
    pytest.param(["b", "a", "b", None, "a"], id="strings with None"),
    pytest.param(np.array(["b", "a", "b", np.nan, "a"], dtype=object), id="strings with NaN"),
    pytest.param(["b", "a", "b", float("nan"), "a"], id="a list of strings with NaN"),
    pytest.param(["b", "a", "b", -1, "a"], id="a list of strings with -1"),
    pytest.param(np.array(["b", "a", "b", NAType(), "a"], dtype=object), id="strings with NA"),
    pytest.param([7, 3, 7, None, 3], id="ints with None"),
    pytest.param(np.array([7, 3, 7, -1, 3], dtype=object), id="objects with -1"),
    pytest.param([True, False, True, None, False], id="bools with None"),
    pytest.param(
        np.array(["2020", "2019", "2020", "NaT", "2019"], dtype="datetime64[Y]"), id="dates"
    ),
]


@pytest.mark.parametrize("labels", CLASS_VECTORS)
def test_classes_of_any_type_say_the_same(labels):
    relation = LabelRelation(labels)
    assert relation.known.tolist() == [True, True, True, False, True]
    assert relation.class_codes().tolist() == [1, 0, 1, -1, 0]
    assert (relation.n_items, relation.n_labels, relation.n_unknown) == (5, 2, 1)
    assert relation.is_partition
    wanted = slow_similarity([{1}, {0}, {1}, None, {0}])
    np.testing.assert_array_equal(everything(relation), wanted)


def test_bools_and_plain_strings_are_all_known():
    for labels in ([True, False, True], np.array(["x", "", "x"]), np.array([1, 0, 1], np.uint8)):
        relation = LabelRelation(labels)
        assert relation.n_unknown == 0
        np.testing.assert_array_equal(everything(relation), slow_similarity([{1}, {0}, {1}]))


@pytest.mark.parametrize(
    "labels", [[-1, -1, -1], [np.nan, np.nan, np.nan], np.array([None, np.nan, -1], dtype=object)]
)
def test_nothing_but_unknown_classes_is_refused(labels):
    with pytest.raises(ValueError, match="The class of all 3 items is unknown"):
        LabelRelation(labels)


def test_one_class_only_is_refused():
    with pytest.raises(ValueError, match=r"All 3 items with known labels .* no dissimilar pair"):
        LabelRelation([4, 4, -1, 4])


def test_a_label_that_every_item_has_is_refused():
    with pytest.raises(ValueError, match=r"All 3 items .* have a label in common \(number 1\)"):
        LabelRelation([[1, 1, 0], [0, 1, 0], [0, 1, 1]])


def test_labels_of_types_that_cannot_be_compared_are_refused():
    with pytest.raises(TypeError, match=r"\(int, str\)\. Give all classes one type"):
        LabelRelation(np.array([1, "a", 2], dtype=object))


def test_label_sets_are_not_taken_for_classes():
    with pytest.raises((TypeError, ValueError), match="labels"):
        LabelRelation([{1}, {2}, {1}, {2}])


def test_label_lists_of_different_lengths_are_refused_in_our_own_words():
    with pytest.raises((TypeError, ValueError), match="labels"):
        LabelRelation([[1], [2, 3], [1]])


@pytest.mark.parametrize(("labels", "n_items"), [([], 0), ([1], 1), ([[0, 1]], 1)])
def test_fewer_than_two_items_are_refused(labels, n_items):
    with pytest.raises(ValueError, match=f"n_items must be at least 2 .* got {n_items}"):
        LabelRelation(labels)


@pytest.mark.parametrize("labels", [np.zeros((2, 2, 2)), "cat", 3])
def test_labels_of_another_shape_are_refused(labels):
    shape = re.escape(str(np.shape(labels)))
    with pytest.raises(ValueError, match=rf"labels must have shape \(n_items,\) .* got {shape}"):
        LabelRelation(labels)


def test_sparse_labels_of_one_dimension_are_refused():
    with pytest.raises(ValueError, match=r"labels? .*\(3,\)"):
        LabelRelation(sparse.coo_array(np.array([1, 0, 1])))


def test_an_unknown_grade_is_refused():
    with pytest.raises(ValueError, match="grade must be one of 'overlap', 'jaccard', got 'cosine'"):
        LabelRelation([0, 1], grade="cosine")


# Indicator matrices

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@settings(deadline=None, max_examples=40)
@given(sets=multi_labels(), grade=GRADES, name=st.sampled_from(FORMATS), old=st.booleans())
def test_sparse_and_dense_indicators_agree(sets, grade, name, old):
    dense = indicator_of(sets)
    as_sparse = (sparse.csr_matrix if old else sparse.csr_array)(dense).asformat(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        relation = LabelRelation(as_sparse, grade)
    np.testing.assert_array_equal(relation.indicator.toarray(), dense)
    np.testing.assert_array_equal(everything(relation), everything(relation_of(sets, grade)))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_indicators_of_any_number_type_agree(dtype):
    dense = np.array([[1, 0, 1], [0, 1, 0], [0, 1, 1]])
    wanted = slow_similarity([{0, 2}, {1}, {1, 2}])
    for labels in (dense.astype(dtype), sparse.csr_array(dense.astype(dtype))):
        np.testing.assert_array_equal(everything(LabelRelation(labels)), wanted)


def test_stored_zeros_are_no_labels_and_the_callers_matrix_is_left_alone():
    stored = sparse.csr_array(
        (np.array([1.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    relation = LabelRelation(stored)
    assert relation.class_codes().tolist() == [0, 1]
    assert stored.nnz == 3


def test_the_matrix_need_not_have_sorted_indices():
    unsorted = sparse.csr_array(
        (np.ones(4), np.array([2, 0, 1, 2]), np.array([0, 2, 3, 4])), shape=(3, 3)
    )
    relation = LabelRelation(unsorted, "jaccard")
    np.testing.assert_array_equal(
        everything(relation), slow_similarity([{0, 2}, {1}, {2}], "jaccard")
    )


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.coo_matrix, sparse.lil_array])
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([[1, 0], [0, 2]], r"1 value\(s\) do not, first at row 1, column 1 \(2"),
        ([[1, 0.5], [-1, 1]], r"2 value\(s\) do not, first at row 0, column 1 \(0\.5\)"),
        ([[1, 0], [np.nan, 1]], r"1 value\(s\) do not, first at row 1, column 0 \(nan\)"),
        (
            [[3], [5], [3]],
            r"3 value\(s\) .* row 0, column 0 \(3.*\)\. For a column .* labels\[:, 0\]",
        ),
    ],
)
def test_a_label_matrix_that_is_not_0_and_1_is_refused(make, labels, sentence):
    with pytest.raises(ValueError, match=f"A label matrix must hold 0 and 1 only; {sentence}"):
        LabelRelation(make(labels))


def test_a_label_matrix_of_strings_is_refused():
    with pytest.raises(TypeError, match="A label matrix must hold 0 and 1, got <U1"):
        LabelRelation([["a"], ["b"]])


@pytest.mark.parametrize("labels", [np.zeros((3, 2)), sparse.csr_array((3, 2)), np.zeros((3, 0))])
def test_a_label_matrix_without_any_label_is_refused(labels):
    shape = re.escape(str(labels.shape))
    with pytest.raises(ValueError, match=f"label matrix of shape {shape} has no label at all"):
        LabelRelation(labels)


def test_rows_without_a_label_are_alike_to_nothing_and_counted():
    labels = [[1, 0], [0, 0], [0, 1], [0, 0], [1, 0]]
    with pytest.warns(RelationWarning) as caught:
        relation = LabelRelation(labels, "jaccard")
    assert len(caught) == 1
    assert "2 of 5 rows have no label, first row 1" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert relation.n_empty == 2
    assert relation.n_unknown == 0
    assert not relation.is_partition
    assert not relation.similarity([1, 3], np.arange(5)).any()
    assert not relation.similarity(np.arange(5), [1, 3]).any()


def test_an_unknown_class_is_not_an_empty_row():
    relation = LabelRelation([0, 1, -1])
    assert (relation.n_unknown, relation.n_empty) == (1, 0)


# Grades


@settings(deadline=None, max_examples=40)
@given(sets=multi_labels(), grade=GRADES, data=st.data())
def test_similarity_of_label_sets_is_the_double_loop(sets, grade, data):
    items = st.lists(st.integers(0, len(sets) - 1), max_size=6)
    rows, columns = data.draw(items), data.draw(items)
    block = relation_of(sets, grade).similarity(rows, columns)
    assert block.dtype == np.float32
    assert block.shape == (len(rows), len(columns))
    wanted = slow_similarity(sets, grade)[np.ix_(rows, columns)] if rows and columns else block
    np.testing.assert_array_equal(block, wanted)


@settings(deadline=None, max_examples=60)
@given(classes=class_vectors(), grade=GRADES)
def test_similarity_of_classes_is_the_double_loop_with_nan_where_unknown(classes, grade):
    relation = LabelRelation(classes, grade)
    np.testing.assert_array_equal(
        everything(relation), slow_similarity(sets_of_classes(classes), grade)
    )


def test_jaccard_of_a_worked_example():
    relation = LabelRelation([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]], "jaccard")
    np.testing.assert_allclose(relation.similarity([0], [1, 2])[0], [1 / 4, 0])
    np.testing.assert_allclose(relation.similarity([1], [2, 1])[0], [1 / 3, 1])


@pytest.mark.parametrize(
    ("rows", "columns", "error", "sentence"),
    [
        ([3], [0], ValueError, r"rows has 1 .* 0 \.\. 2, first at row 0 \(item 3\)"),
        ([0], [0, -1], ValueError, r"columns has 1 .* first at row 1 \(item -1\)"),
        ([0.5], [0], TypeError, r"rows must hold integers, got float64"),
        ([[0]], [0], ValueError, r"rows must have one dimension, got shape \(1, 1\)"),
    ],
)
def test_similarity_refuses_bad_items(rows, columns, error, sentence):
    with pytest.raises(error, match=sentence):
        LabelRelation([0, 1, 1]).similarity(rows, columns)


# pairs


@settings(deadline=None, max_examples=40)
@given(sets=multi_labels(), grade=GRADES)
def test_pairs_state_what_the_double_loop_says(sets, grade):
    left, right = np.triu_indices(len(sets), k=1)
    relation = relation_of(sets, grade).pairs(right, left)
    np.testing.assert_array_equal(relation.left, right)
    np.testing.assert_array_equal(relation.right, left)
    np.testing.assert_array_equal(relation.similar, slow_similarity(sets, grade)[left, right])
    assert relation.n_items == len(sets)


def test_pairs_with_an_unknown_item_are_counted_and_the_first_is_named():
    relation = LabelRelation([0, 1, -1, 0])
    with pytest.raises(ValueError, match=r"2 pair\(s\) .* first at row 1 \(items 2 and 0\)"):
        relation.pairs([0, 2, 1], [1, 0, 2])


def test_pairs_of_different_lengths_and_self_pairs_are_refused():
    relation = LabelRelation([0, 1, 0])
    with pytest.raises(ValueError, match="left has 2, right has 1"):
        relation.pairs([0, 1], [1])
    with pytest.raises(ValueError, match=r"first at row 1 \(item 2\)"):
        relation.pairs([0, 2], [1, 2])


# Who has a partner


@settings(deadline=None, max_examples=50)
@given(sets=multi_labels())
def test_has_similar_and_has_dissimilar_are_those_of_a_loop(sets):
    relation = relation_of(sets)
    items = range(len(sets))
    assert relation.has_similar.tolist() == [bool(partners_of(sets, i, True)) for i in items]
    assert relation.has_dissimilar.tolist() == [bool(partners_of(sets, i, False)) for i in items]


@settings(deadline=None, max_examples=60)
@given(classes=class_vectors())
def test_has_similar_and_has_dissimilar_of_classes_are_those_of_a_loop(classes):
    relation, sets = LabelRelation(classes), sets_of_classes(classes)
    items = range(len(sets))
    assert relation.has_similar.tolist() == [bool(partners_of(sets, i, True)) for i in items]
    assert relation.has_dissimilar.tolist() == [bool(partners_of(sets, i, False)) for i in items]


# take


@settings(deadline=None, max_examples=60)
@given(sets=multi_labels(), grade=GRADES, as_sparse=st.booleans(), data=st.data())
def test_take_restricts_the_relation(sets, grade, as_sparse, data):
    items = data.draw(st.permutations(range(len(sets))))[: data.draw(st.integers(2, len(sets)))]
    left = [sets[item] for item in items]
    if not any(left) or frozenset.intersection(*left):
        return
    labels = sparse.coo_array(indicator_of(sets)) if as_sparse else indicator_of(sets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        taken = LabelRelation(labels, grade).take(items)
    assert taken.grade == grade
    np.testing.assert_array_equal(
        everything(taken), slow_similarity(sets, grade)[np.ix_(items, items)]
    )


def test_take_of_classes_by_indices_and_by_a_mask():
    relation = LabelRelation(["b", "a", None, "c", "b"])
    by_index = relation.take([4, 2, 0, 1])
    np.testing.assert_array_equal(
        everything(by_index), slow_similarity([{"b"}, None, {"b"}, {"a"}])
    )
    by_mask = relation.take([True, True, True, False, False])
    np.testing.assert_array_equal(everything(by_mask), slow_similarity([{"b"}, {"a"}, None]))


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ([0, 2, 0], r"1 are repeated, first at row 2 \(item 0\)"),
        ([0, 4], r"items has 1 .* row 1 \(item 4\)"),
        ([True], r"mask of items must have shape \(4,\), got \(1,\)"),
        ([], r"n_items must be at least 2 .* got 0"),
        ([0, 1], r"All 2 items with known labels have a label in common"),
    ],
)
def test_take_refuses_bad_items(items, sentence):
    with pytest.raises(ValueError, match=sentence):
        LabelRelation([5, 5, 6, 6]).take(items)


# Frozen


def test_fields_cannot_be_set():
    relation = LabelRelation([0, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        relation.grade = "jaccard"


def test_arrays_are_read_only():
    relation = LabelRelation([0, 0, 1])
    with pytest.raises(ValueError, match="read-only"):
        relation.known[0] = False
    with pytest.raises(ValueError, match="read-only"):
        relation.indicator.data[0] = 0


def test_a_later_change_of_the_callers_labels_changes_nothing():
    labels = np.array([0, 0, 1, 1])
    relation = LabelRelation(labels)
    labels[:] = [0, 1, 0, 1]
    assert relation.class_codes().tolist() == [0, 0, 1, 1]
    assert relation.take([0, 1, 2, 3]).class_codes().tolist() == [0, 0, 1, 1]


# Codes, patterns, repr


def test_class_codes_of_an_indicator_are_its_columns():
    assert LabelRelation([[0, 0, 1], [1, 0, 0], [0, 0, 1]]).class_codes().tolist() == [2, 0, 2]


def test_items_with_several_labels_have_no_class_code():
    with pytest.raises(ValueError, match="several labels, or none, have no class"):
        LabelRelation([[1, 1], [0, 1], [1, 0]]).class_codes()


def assert_exact(patterns, dense, known):
    wanted, counts = np.unique(dense[known], axis=0, return_counts=True)
    found = patterns.indicator.toarray()
    order = np.lexsort(found.T[::-1])
    np.testing.assert_array_equal(found[order], wanted)
    np.testing.assert_array_equal(patterns.counts[order], counts)
    np.testing.assert_array_equal(found[patterns.of_item[known]], dense[known])
    assert (patterns.of_item[~known] == -1).all()


@settings(deadline=None, max_examples=40)
@given(sets=multi_labels(max_items=30))
def test_patterns_are_the_unique_rows(sets):
    dense = indicator_of(sets)
    assert_exact(relation_of(sets).patterns(), dense, np.ones(len(sets), dtype=bool))


@settings(deadline=None, max_examples=40)
@given(classes=class_vectors())
def test_patterns_of_classes_leave_out_the_unknown(classes):
    relation = LabelRelation(classes)
    assert_exact(relation.patterns(), relation.indicator.toarray(), np.array(classes) >= 0)


def test_rows_that_meet_in_one_hash_are_told_apart(monkeypatch):
    tries = []
    sum_of_labels = _patterns._sum_of_labels

    def colliding_at_first(rows, numbers):
        tries.append(numbers)
        return sum_of_labels(rows, numbers * np.uint64(len(tries) > 1))

    monkeypatch.setattr(_patterns, "_sum_of_labels", colliding_at_first)
    # As many labels in each row, so that their lengths do not tell them apart.
    dense = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0]])
    patterns = LabelRelation(dense).patterns()
    assert len(tries) == 2
    assert not np.array_equal(tries[0], tries[1])
    assert_exact(patterns, dense, np.ones(4, dtype=bool))


def test_repr_says_the_facts():
    assert repr(LabelRelation(["cat", "dog", "cat", None])) == (
        "LabelRelation(4 items, 2 classes, 1 unknown)"
    )
    sets = [{0, 1}, {2}, set()]
    assert repr(relation_of(sets, "jaccard")) == (
        "LabelRelation(3 items, 5 labels, 1 without a label, grade='jaccard')"
    )
    assert len(relation_of(sets)) == 3
