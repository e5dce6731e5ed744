"""Statements that the others contradict: each against a similarity computed without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from twofold._core.checks import as_array, check_equal_lengths
from twofold.relations import PairRelation, check_pair_relation


def suspicion(relation: PairRelation, similarity: ArrayLike) -> NDArray[np.float64]:
    """Return how strongly its similarity contradicts each statement, in [0, 1].

    |y − p(s)|, with p(s) = 1 / (1 + exp(−a s − b)) the chance that a pair of similarity s is stated
    alike, fitted on all statements and a ≥ 0. p knows how frequent the two kinds are: where similar
    pairs are rare, a middling similarity speaks against one.

    Parameters
    ----------
    relation : PairRelation
        Statements of both kinds; grades count as the kind they are nearer to when p is fitted.
    similarity : array_like of float, shape (n_pairs,)
        Large for the alike, worked out without the statement itself:
        `cross_validated_similarity`, or that of embeddings fitted to other statements.
    """
    values = _check_similarity(relation, similarity)
    sure = relation.similar != 0.5
    alike = relation.similar[sure] > 0.5
    if alike.all() or not alike.any():
        raise ValueError(
            "Suspicion needs statements of both kinds, but all are "
            f"{'alike' if alike.size and alike.all() else 'not alike'}."
        )
    spread = float(values.std()) or 1.0
    standard = ((values - values.mean()) / spread)[:, None]
    fitted = LogisticRegression().fit(standard[sure], alike)
    if fitted.coef_[0, 0] > 0:
        chance = expit(fitted.decision_function(standard))
    else:  # it says nothing, and never the opposite
        chance = np.full(values.size, alike.mean())
    return np.asarray(np.abs(relation.similar - chance), dtype=np.float64)


def rank_suspicious(relation: PairRelation, similarity: ArrayLike) -> NDArray[np.int64]:
    """Return the rows of all statements, the most suspicious first: see `suspicion`."""
    return np.argsort(-suspicion(relation, similarity), kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class SuspiciousPairs:
    """Stated pairs, those that the others contradict most strongly first.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Their items.
    similar : ndarray of float32, shape (n_pairs,)
        What is stated.
    suspicion : ndarray of float64, shape (n_pairs,)
        How strongly the rest contradicts it, in [0, 1].
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similar: NDArray[np.float32]
    suspicion: NDArray[np.float64]

    @classmethod
    def of(cls, relation: PairRelation, similarity: ArrayLike) -> SuspiciousPairs:
        """Return all statements of a relation by their `suspicion`."""
        rows, values = rank_suspicious(relation, similarity), suspicion(relation, similarity)
        return cls(relation.left[rows], relation.right[rows], relation.similar[rows], values[rows])


def _check_similarity(relation: PairRelation, similarity: ArrayLike) -> NDArray[np.float64]:
    check_pair_relation(relation)
    values = as_array("similarity", similarity)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"similarity must hold numbers, got {values.dtype}.")
    values = values.astype(np.float64)
    if values.ndim != 1:
        raise ValueError(f"similarity must have one dimension, got shape {values.shape}.")
    check_equal_lengths(relation=relation.similar, similarity=values)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise ValueError(
            f"similarity must be finite; {wrong.size} value(s) are not, first at row {wrong[0]} "
            f"({values[wrong[0]]})."
        )
    return values
