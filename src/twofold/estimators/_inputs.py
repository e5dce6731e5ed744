"""What users pass to a learner, checked once: features, labels and relations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import validate_data
from torch.utils.data import Dataset

from twofold.regression import is_memory_mapped, is_network, item_shape, n_rows
from twofold.relations import LabelRelation, PairRelation, TripletRelation

Relation = PairRelation | LabelRelation | TripletRelation
CHECKED_NUMBERS = 2**24
"""Numbers of a memory-mapped array that are looked at at a time."""


def check_features(learner: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return features as the learner's embedder takes them; set or compare `n_features_in_`.

    A network gets a finite numeric array of any number of dimensions, a CSR matrix, a
    memory-mapped array or a Dataset; a scikit-learn regressor gets what the user gave, and checks
    it itself.
    """
    if not is_network(learner.embedder):
        if isinstance(X, Dataset):
            raise TypeError(
                f"A torch Dataset needs a network; {type(learner.embedder).__name__} takes arrays."
            )
        X = np.asarray(X) if isinstance(X, list) else X
        validate_data(learner, X, reset=reset, skip_check_array=True)
        return X
    if isinstance(X, Dataset):
        if not len(X):  # type: ignore[arg-type]
            raise ValueError("The Dataset is empty: it needs at least one item.")
        _compare_shape(learner, item_shape(X), reset)
        if reset:
            # What an earlier fit on an array knew of its columns says nothing of this.
            learner.n_features_in_ = learner.input_shape_[0]
            learner.__dict__.pop("feature_names_in_", None)
        return X
    if is_memory_mapped(X):
        _refuse_not_finite(X)
        validate_data(learner, X, reset=reset, skip_check_array=True)
    else:
        X = validate_data(
            learner, X, reset=reset, accept_sparse="csr", allow_nd=True, ensure_min_samples=1
        )
    _compare_shape(learner, tuple(int(size) for size in X.shape[1:]), reset)
    return X


def _compare_shape(learner: BaseEstimator, shape: tuple[int, ...], reset: bool) -> None:
    """Images must have the size that was learnt from; scikit-learn looks at one axis only."""
    if reset:
        learner.input_shape_ = shape
    elif shape != learner.input_shape_:
        raise ValueError(
            f"X has items of shape {shape}, but {type(learner).__name__} was fitted on items of "
            f"shape {learner.input_shape_}."
        )


def _refuse_not_finite(X: np.ndarray[Any, Any]) -> None:
    """Look through a memory-mapped array a part at a time."""
    if X.ndim < 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, an item a row, got {X.dtype} of shape {X.shape}.")
    if X.dtype.kind != "f":
        return
    size = max(1, CHECKED_NUMBERS // max(1, int(np.prod(X.shape[1:]))))
    for first in range(0, len(X), size):
        part = np.asarray(X[first : first + size]).reshape(-1, X[0].size)
        wrong = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if wrong.size:
            raise ValueError(
                f"Input X contains NaN or infinity, first in row {first + wrong[0]}. Replace or "
                "drop it first."
            )


def as_relation(
    learner_name: str, X: Any, y: Any, relation: Relation | None, grade: str
) -> Relation:
    """Return what is known of the rows of `X` as one relation that can be learnt from."""
    if y is not None and relation is not None:
        raise ValueError("Both y and relation are given: pass the one that is meant.")
    if relation is None:
        relation = labels_as_relation(learner_name, X, y, grade)
    elif not isinstance(relation, Relation):
        raise TypeError(
            "relation must be a PairRelation, LabelRelation or TripletRelation, got "
            f"{type(relation).__name__}."
        )
    if relation.n_items != n_rows(X):
        raise ValueError(
            f"The relation is about {relation.n_items} items, but X has {n_rows(X)} rows: an item "
            "is a row of X."
        )
    refuse_one_sided(relation)
    return relation


def labels_as_relation(learner_name: str, X: Any, y: Any, grade: str) -> LabelRelation:
    """Return classes or a 0/1 indicator matrix as a relation over the rows of `X`."""
    if y is None:
        raise ValueError(
            f"{learner_name} requires y to be passed, but the target y is None. Pass y (classes "
            "or a 0/1 indicator matrix), or relation=."
        )
    try:
        labels: Any = y if sparse.issparse(y) else np.asarray(y)
    except ValueError:
        raise ValueError(
            "y has rows of different lengths. For several labels an item pass a 0/1 matrix: "
            "sklearn.preprocessing.MultiLabelBinarizer makes one."
        ) from None
    if labels.ndim == 2 and labels.shape[1] == 1:
        y = labels = (labels.toarray() if sparse.issparse(labels) else labels).ravel()
    if isinstance(X, Dataset):
        if labels.shape[0] != n_rows(X):
            raise ValueError(f"X has {n_rows(X)} items, but y has {labels.shape[0]} rows.")
    else:
        check_consistent_length(X, labels)
    if n_rows(X) < 2:
        raise ValueError(
            f"{learner_name} needs at least two rows to compare, got n_samples = {n_rows(X)}."
        )
    _refuse_wrong_kind(labels)
    # A list of strings may hold None, of which NumPy makes text: it is read as it is.
    given = y if isinstance(y, list) else labels
    return LabelRelation(given, grade=grade)  # type: ignore[arg-type]


def _refuse_wrong_kind(labels: Any) -> None:
    if labels.ndim > 2:
        raise ValueError(
            f"y must be classes, shape (n,), or a 0/1 indicator matrix, shape (n, n_labels), got "
            f"shape {labels.shape}."
        )
    if labels.ndim == 1 and labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")
        known = labels[~np.isnan(labels)]
        if known.size and type_of_target(known) == "continuous":
            first = known[known != np.floor(known)][0]
            raise ValueError(
                "y must be classes or a 0/1 indicator matrix, but it holds continuous values "
                f"(first: {first:g}). For grades of likeness pass relation=PairRelation(...). "
                "Unknown label type: continuous."
            )


def refuse_one_sided(relation: Relation) -> None:
    """Refuse a relation that holds no similar, or no dissimilar, pair."""
    if isinstance(relation, TripletRelation):
        return
    if isinstance(relation, PairRelation):
        has_similar = bool((relation.similar > 0).any())
        has_dissimilar = bool((relation.similar < 1).any())
    else:
        has_similar = bool(relation.has_similar.any())
        has_dissimilar = bool(relation.has_dissimilar.any())
    if not has_similar:
        raise ValueError(
            "The relation has no similar pair: every item is alike to itself only. Metric learning "
            "needs some of both kinds."
        )
    if not has_dissimilar:
        raise ValueError(
            "The relation has no dissimilar pair: all known items are alike (one class). Metric "
            "learning needs some of both kinds."
        )
