"""Random label sets, and the slow definition of what they imply."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import strategies as st

from twofold._core.warnings import RelationWarning
from twofold.relations import LabelRelation

N_LABELS = 5


def multi_labels(max_items=12):
    """Strategy: a set of labels an item, some empty, some labels rare, none on every item."""
    one_set = st.frozensets(st.integers(0, N_LABELS - 1), max_size=N_LABELS - 1)
    return st.lists(one_set, min_size=2, max_size=max_items).filter(
        lambda sets: any(sets) and not frozenset.intersection(*sets)
    )


def class_vectors(max_items=12):
    """Strategy: a class 0 .. 3 an item, -1 for unknown, at least two classes."""
    return st.lists(st.integers(-1, 3), min_size=2, max_size=max_items).filter(
        lambda classes: len(set(classes) - {-1}) > 1
    )


def sets_of_classes(classes):
    """Return one set an item, None if its class is unknown."""
    return [None if value == -1 else frozenset([value]) for value in classes]


def indicator_of(sets, n_labels=N_LABELS):
    """Return the dense 0/1 matrix, shape (n_items, n_labels)."""
    matrix = np.zeros((len(sets), n_labels), dtype=np.int64)
    for item, labels in enumerate(sets):
        matrix[item, list(labels)] = 1
    return matrix


def relation_of(sets, grade="overlap"):
    """Return the relation of label sets, without the warning of empty rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        return LabelRelation(indicator_of(sets), grade)


def slow_grade(a, b, grade="overlap"):
    """Return the definition: is a label shared; or the shared labels over all labels of both."""
    if a is None or b is None:
        return np.float32(np.nan)
    if grade == "overlap":
        return np.float32(1.0 if a & b else 0.0)
    return np.float32(len(a & b) / len(a | b) if a | b else 0.0)


def slow_similarity(sets, grade="overlap"):
    """Return the whole relation by a double loop, shape (n_items, n_items)."""
    return np.array([[slow_grade(a, b, grade) for b in sets] for a in sets])


def partners_of(sets, item, alike):
    """Return the true set: all other known items that share a label, or that share none."""
    if sets[item] is None:
        return []
    return [
        other
        for other, labels in enumerate(sets)
        if other != item and labels is not None and bool(labels & sets[item]) == alike
    ]
