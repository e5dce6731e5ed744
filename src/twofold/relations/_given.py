"""What users say is alike, labels or a relation, as one relation over the rows of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from twofold._core.checks import as_array, refuse_masked
from twofold._core.sparse_checks import check_sparse
from twofold.relations._labels import LabelRelation
from twofold.relations._pairs import PairRelation
from twofold.relations._triplets import TripletRelation

Relation = PairRelation | LabelRelation | TripletRelation
SCORING_SEED = 0
"""Pairs that labels are scored on are the same every time, so that scores can be compared."""


def as_relation(
    learner_name: str, X: Any, y: Any, relation: Relation | None, grade: str
) -> Relation:
    """Return what is known of the rows of `X` as one relation that can be learnt from."""
    if y is not None and relation is not None:
        raise ValueError("Both y and relation are given: pass only one of them.")
    if relation is None:
        relation = labels_as_relation(learner_name, X, y, grade)
    elif not isinstance(relation, Relation):
        raise TypeError(
            "relation must be a PairRelation, LabelRelation or TripletRelation, got "
            f"{type(relation).__name__}."
        )
    if relation.n_items != _num_samples(X):
        raise ValueError(
            f"The relation is about {relation.n_items} items, but X has {_num_samples(X)} rows: "
            "each row of X is an item."
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
    refuse_masked("y", y)
    if sparse.issparse(y):
        y = check_sparse("y", y).tocsr()
    try:
        labels: Any = y if sparse.issparse(y) else np.asarray(y)
    except ValueError:
        raise ValueError(
            "y has rows of different lengths. For several labels per item pass a 0/1 matrix; "
            "sklearn.preprocessing.MultiLabelBinarizer makes one."
        ) from None
    if labels.ndim == 2 and labels.shape[1] == 1:
        y = labels = (labels.toarray() if sparse.issparse(labels) else labels).ravel()
    check_consistent_length(X, labels)
    if _num_samples(X) < 2:
        raise ValueError(
            f"{learner_name} needs at least two rows to compare, got n_samples = {_num_samples(X)}."
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
                f"(first: {first:g}). For grades of similarity pass relation=PairRelation(...). "
                "Unknown label type: continuous."
            )


def is_classes(relation: Relation) -> bool:
    """Whether every item has one label."""
    return isinstance(relation, LabelRelation) and relation.is_partition


def stated_pairs(relation: PairRelation | LabelRelation) -> PairRelation:
    """Return pairs to score: those stated, or a fixed sample of what labels say."""
    if isinstance(relation, LabelRelation):
        return relation.sample_pairs(random_state=SCORING_SEED)
    return relation


def alike_by_sign(y: ArrayLike, n_pairs: int) -> NDArray[np.bool_]:
    """Return which pairs are stated as alike, by +1 and not by −1."""
    signs = as_array("y", y)
    if signs.shape != (n_pairs,):
        raise ValueError(f"y must have one entry per pair, shape ({n_pairs},), got {signs.shape}.")
    wrong = np.flatnonzero((signs != 1) & (signs != -1))
    if wrong.size:
        hint = " For {0, 1} pass 2 * y - 1." if signs[wrong[0]] == 0 else ""
        raise ValueError(
            f"y must be +1 for alike and -1 for not alike; {wrong.size} value(s) are not, first at "
            f"row {wrong[0]} ({signs[wrong[0]]!r}).{hint}"
        )
    return np.asarray(signs == 1)


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
            "The relation has no similar pair: every item is only alike to itself. Metric "
            "learning needs some of both kinds."
        )
    if not has_dissimilar:
        raise ValueError(
            "The relation has no dissimilar pair: all known items are alike (one class). Metric "
            "learning needs some of both kinds."
        )
