"""Features and classes as linear methods take them: one flat row per item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch.utils.data import Dataset

from twofold.regression import sound_features
from twofold.relations import LabelRelation, PairRelation, Relation, TripletRelation


@dataclass(frozen=True, slots=True, eq=False)
class ClassedRows:
    """The rows whose class is known.

    Attributes
    ----------
    points : ndarray of float64, shape (n_known, n_features)
        Their features.
    classes, items : ndarray of int64, shape (n_known,)
        Their classes as numbers, and which rows they are.
    """

    points: NDArray[np.float64]
    classes: NDArray[np.int64]
    items: NDArray[np.int64]


def flat_features(learner: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return features as an array or CSR matrix of shape (n_items, n_features), of its own dtype.

    Images are made flat, without a copy where they allow it. Sets or compares `n_features_in_`.
    """
    if isinstance(X, Dataset):
        raise TypeError(
            f"{type(learner).__name__} takes arrays and sparse matrices; a torch Dataset needs a "
            "network."
        )
    X = sound_features(np.asarray(X) if isinstance(X, list) else X)
    if getattr(X, "ndim", 2) > 2:
        X = np.asanyarray(X).reshape(len(X), -1)
    return validate_data(learner, X, reset=reset, accept_sparse="csr")


def dense_rows(X: Any, rows: slice | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return some rows as a dense array of float64, shape (n_rows, n_features)."""
    chosen = X[rows]
    dense = chosen.toarray() if sparse.issparse(chosen) else chosen
    return np.ascontiguousarray(dense, dtype=np.float64)


def rows_with_classes(learner_name: str, X: Any, relation: Relation) -> ClassedRows:
    """Return the rows whose class is known; refuse what is not one class per item."""
    classes = _classes(learner_name, relation)
    items = np.flatnonzero(classes >= 0)
    return ClassedRows(dense_rows(X, items), classes[items], items)


def _classes(learner_name: str, relation: Relation) -> NDArray[np.int64]:
    sentence = f"{learner_name} learns from one class per item"
    if isinstance(relation, PairRelation):
        raise TypeError(f"{sentence}; for pairs use ITMLLearner.")
    if isinstance(relation, TripletRelation):
        raise TypeError(f"{sentence}; for triplets use TripletLearner.")
    if not relation.is_partition:
        raise ValueError(f"{sentence}, but {_first_without(relation)}; use ITMLLearner.")
    return relation.class_codes()


def _first_without(relation: LabelRelation) -> str:
    """Say which row is the first that has several labels, or none."""
    n_labels = np.diff(relation.indicator.indptr)
    row = int(np.flatnonzero(relation.known & (n_labels != 1))[0])
    return f"row {row} has {n_labels[row] or 'no'} label{'s' if n_labels[row] else ''}"
