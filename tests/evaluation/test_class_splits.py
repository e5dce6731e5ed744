"""Whole classes held out: no class on both sides, several labels, and scikit-learn's cv."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from twofold.evaluation import ClassFold, pair_auroc, pair_similarity, split_classes


def slow_sides(labels, drawn):
    """Return (kept, held out) by the definition, from each item's set of labels."""
    kept = [i for i, own in enumerate(labels) if own and not own & drawn]
    held_out = [i for i, own in enumerate(labels) if own and own <= drawn]
    return kept, held_out


@given(st.integers(4, 30), st.integers(0, 2**32 - 1), st.floats(0.01, 0.99))
def test_every_class_is_on_one_side_and_two_are_on_either(n_classes, seed, share):
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 9)]))
    kept, held_out = split_classes(classes, share, seed)
    assert sorted([*kept, *held_out]) == list(range(classes.size))
    seen, unseen = set(classes[kept]), set(classes[held_out])
    assert not seen & unseen
    assert len(unseen) == min(max(2, round(share * n_classes)), n_classes - 2)
    assert kept.tolist() == sorted(kept)
    assert held_out.tolist() == sorted(held_out)
    assert (kept.dtype, held_out.dtype) == (np.int64, np.int64)


def test_a_number_of_classes_may_be_held_out():
    classes = np.repeat(list("abcdefgh"), 3)
    kept, held_out = split_classes(classes, held_out=3, random_state=0)
    assert (np.unique(classes[kept]).size, np.unique(classes[held_out]).size) == (5, 3)


def test_the_seed_draws_the_classes():
    classes = np.arange(100) % 50

    def drawn(seed):
        return split_classes(classes, 0.5, seed)[1].tolist()

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


@pytest.mark.parametrize("unknown", [-1, np.nan, None])
def test_items_of_unknown_class_are_on_neither_side(unknown):
    classes = np.array([0, 1, unknown, 2, 3, unknown, 3], dtype=object)
    kept, held_out = split_classes(classes, 0.5, 0)
    assert sorted([*kept, *held_out]) == [0, 1, 3, 4, 6]
    for kept, held_out in ClassFold(2).split(classes, classes):
        assert sorted([*kept, *held_out]) == [0, 1, 3, 4, 6]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("seed", range(5))
def test_items_with_labels_of_both_sides_are_on_neither(form, seed):
    rng = np.random.default_rng(seed)
    labels = np.eye(8, dtype=int)[rng.integers(0, 8, 60)] | (rng.random((60, 8)) < 0.08)
    labels[7] = 0
    kept, held_out = split_classes(form(labels), 0.4, seed)
    sets = [set(np.flatnonzero(row)) for row in labels]
    drawn = set.union(*(sets[row] for row in held_out))
    assert (kept.tolist(), held_out.tolist()) == slow_sides(sets, drawn)
    assert len(drawn) == 3
    assert 0 < len(kept) + len(held_out) < 59


def test_a_matrix_of_one_label_each_is_split_as_its_classes():
    classes = np.random.default_rng(0).integers(0, 9, 50)
    for one, other in zip(
        split_classes(classes, 0.3, 5), split_classes(np.eye(9)[classes], 0.3, 5), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_labels_that_nobody_has_are_no_classes():
    labels = np.eye(6)[[0, 1, 2, 3]]
    kept, held_out = split_classes(labels, 0.9, 0)
    assert (len(kept), len(held_out)) == (2, 2)


@given(st.integers(2, 6), st.integers(0, 8), st.booleans(), st.integers(0, 2**32 - 1))
def test_every_class_is_held_out_in_one_fold(n_splits, n_more, shuffle, seed):
    classes = np.random.default_rng(seed).permutation(np.arange(40) % (2 * n_splits + n_more))
    splitter = ClassFold(n_splits, shuffle, seed if shuffle else None)
    folds = list(splitter.split(classes, classes))
    assert len(folds) == splitter.get_n_splits() == n_splits
    for kept, held_out in folds:
        assert sorted([*kept, *held_out]) == list(range(40))
        assert not set(classes[kept]) & set(classes[held_out])
        assert np.unique(classes[held_out]).size >= 2
    assert sorted(np.concatenate([held_out for _, held_out in folds])) == list(range(40))


def test_without_a_shuffle_folds_go_by_the_order_of_classes():
    classes = np.array(list("dcbadcba"))
    folds = [sorted(set(classes[held_out])) for _, held_out in ClassFold(2).split(classes, classes)]
    assert folds == [["a", "b"], ["c", "d"]]


def test_a_shuffle_deals_otherwise_and_the_same_seed_the_same():
    classes = np.arange(40)

    def dealt(seed):
        folds = ClassFold(4, shuffle=True, random_state=seed).split(classes, classes)
        return [held_out.tolist() for _, held_out in folds]

    assert dealt(0) == dealt(0)
    assert dealt(0) != dealt(1)


class _SeenClasses(KNeighborsClassifier):
    """Scores by pairs, and refuses to be scored on a class that it was fitted on."""

    def score(self, X, y):
        assert not set(y) & set(self.classes_)
        left, right = np.triu_indices(len(X), 1)
        return pair_auroc(y[left] == y[right], pair_similarity(X, left, right))


def test_scikit_learn_takes_it_as_cv():
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 12
    features = rng.normal(size=(12, 3))[classes] + 0.1 * rng.normal(size=(60, 3))
    splitter = ClassFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(_SeenClasses(3), features, classes, cv=splitter)
    assert scores.shape == (4,)
    assert scores.min() > 0.9
    search = GridSearchCV(_SeenClasses(), {"n_neighbors": [1, 3]}, cv=splitter)
    assert search.fit(features, classes).n_splits_ == 4


def test_too_few_classes_say_how_many_and_the_way_out():
    few = r"needs at least 4, 2 on each side, but there are 3: hold out items instead"
    with pytest.raises(ValueError, match=few):
        split_classes([0, 1, 2, 2, -1])
    with pytest.raises(ValueError, match=few):
        list(ClassFold(2).split(np.eye(3), np.eye(3)))
    with pytest.raises(ValueError, match=r"but there are 0: hold out items"):
        split_classes([-1, -1])
    sentence = r"n_splits=3 needs at least 6 classes, 2 per fold, but there are 5: .* at most 2"
    with pytest.raises(ValueError, match=sentence):
        list(ClassFold(3).split(np.eye(5), np.arange(5)))


@pytest.mark.parametrize(
    ("held_out", "error", "sentence"),
    [
        (0.0, ValueError, "held_out must be finite and above 0, got 0"),
        (1.0, ValueError, "a share below 1 or a whole number of classes, got 1"),
        (np.nan, ValueError, "held_out must be finite"),
        (1, ValueError, "held_out must be at least 2, got 1"),
        (5, ValueError, "held_out=5 of 6 classes leaves fewer than 2 .* hold out at most 4"),
        ("half", TypeError, "held_out must be an integer, got 'half'"),
        (True, TypeError, "held_out must be an integer, got True"),
    ],
)
def test_a_wrong_number_to_hold_out_is_refused(held_out, error, sentence):
    with pytest.raises(error, match=sentence):
        split_classes(np.arange(6), held_out)


def test_labels_that_always_come_together_cannot_be_held_out():
    labels = np.ones((10, 6), dtype=int)
    with pytest.raises(ValueError, match=r"3 labels held out, the 0 item.* have 0 label.* draw"):
        split_classes(labels, 0.5, 0)
    with pytest.raises(ValueError, match=r"the 0 item.* without a held-out label .* fewer folds"):
        list(ClassFold(2).split(labels, labels))


def test_wrong_parameters_of_the_splitter_are_refused():
    with pytest.raises(ValueError, match="n_splits must be at least 2, got 1"):
        ClassFold(1)
    with pytest.raises(ValueError, match=r"random_state has no effect .* set shuffle=True"):
        ClassFold(3, random_state=0)
    with pytest.raises(ValueError, match="random_state must be a non-negative integer"):
        ClassFold(3, shuffle=True, random_state=-1)
    with pytest.raises(ValueError, match="pass them as y"):
        list(ClassFold(2).split(np.eye(8)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(ClassFold(2).split(np.eye(8), np.arange(7)))
    assert repr(ClassFold(3)) == "ClassFold(n_splits=3, shuffle=False, random_state=None)"
