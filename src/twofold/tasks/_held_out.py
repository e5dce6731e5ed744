"""The part that is held out from fitting, for scores and for the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import paired_cosine_distances, paired_euclidean_distances

from twofold._core.warnings import RelationWarning, unsaid
from twofold.evaluation import DecisionScores, choose_threshold, decision_scores, pair_auroc
from twofold.relations import (
    LabelRelation,
    PairRelation,
    Relation,
    TripletRelation,
    refuse_one_sided,
)

SHARE = 0.2
MOST_ITEMS = 500
"""Items with labels that are held out: a hundred thousand pairs, which say enough."""
MOST_DRAWN, N_RESAMPLES = 10**7, (100, 500)
"""Pairs that a bootstrap draws in all, about a second's work, and the fewest and most resamples."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Pairs that the learner has not seen.

    Attributes
    ----------
    known : Relation
        What is left to learn from, over the rows `rows`.
    rows : ndarray of int64
        Rows that `known` is about.
    pairs : ndarray of int64, shape (n_pairs, 2)
        Rows of pairs that are held out.
    similar : ndarray of bool, shape (n_pairs,)
        Whether they are alike.
    whole : Relation
        What is known in all.
    places : ndarray of int64, shape (n_pairs,), or None
        Where the pairs are among those of `whole`, if it states pairs.
    """

    known: Relation
    rows: NDArray[np.int64]
    pairs: NDArray[np.int64]
    similar: NDArray[np.bool_]
    whole: Relation
    places: NDArray[np.int64] | None = None

    def score(self, similarity: NDArray[Any], threshold: float, seed: int) -> DecisionScores:
        """Score similarities of the pairs; those of one left item are drawn together."""
        return decision_scores(
            self.similar,
            similarity,
            threshold,
            units=self.pairs[:, 0],
            n_resamples=int(np.clip(MOST_DRAWN // self.similar.size, *N_RESAMPLES)),
            random_state=seed,
        )

    def best_threshold(self, similarity: NDArray[Any]) -> float:
        """Return the threshold of the best F1."""
        return choose_threshold(self.similar, similarity, "f_beta").threshold


def hold_out(
    relation: PairRelation | LabelRelation, seed: int, item_share: float = SHARE
) -> HeldOut | None:
    """Hold out a fifth; None if there is too little for pairs of both kinds on both sides.

    Of items with labels it is `item_share`.
    """
    rng = np.random.default_rng(seed)
    with unsaid(RelationWarning):  # of the whole relation it is said once
        if isinstance(relation, LabelRelation):
            return _hold_out_labels(relation, rng, item_share)
        return _hold_out_pairs(relation, rng)


def given_validation(relation: PairRelation, valid: PairRelation) -> HeldOut:
    """Take the user's own validation pairs."""
    with unsaid(RelationWarning):  # of either file it is said once
        whole = relation.merge(valid)
    places = np.arange(relation.n_pairs, whole.n_pairs)
    return _without_pairs(whole, places)


def pairs_beside(relation: TripletRelation, valid: PairRelation) -> HeldOut:
    """Take the user's own pairs to score on what is learnt from all triplets."""
    pairs = np.column_stack([valid.left, valid.right])
    return HeldOut(relation, np.arange(valid.n_items), pairs, valid.similar > 0.5, relation)


def _hold_out_pairs(relation: PairRelation, rng: np.random.Generator) -> HeldOut | None:
    """Hold out the pairs of some left items, so that no record stands on both sides of a choice."""
    items, codes = np.unique(relation.left, return_inverse=True)
    order = rng.permutation(items.size)
    counts = np.bincount(codes, minlength=items.size)[order]
    # The items with which the held-out pairs come nearest to their share.
    n_items = int(np.argmin(np.abs(np.cumsum(counts) - SHARE * relation.n_pairs))) + 1
    is_held = np.isin(codes, order[:n_items])
    similar = relation.similar > 0.5
    if all(_has_both(similar[part]) for part in (is_held, ~is_held)):
        return _without_pairs(relation, np.flatnonzero(is_held))
    places = _stratified(similar, rng)
    return None if places is None else _without_pairs(relation, places)


def _without_pairs(whole: PairRelation, places: NDArray[np.int64]) -> HeldOut:
    """Hold out the pairs at these places."""
    is_held = np.zeros(whole.n_pairs, dtype=bool)
    is_held[places] = True
    pairs = np.column_stack([whole.left, whole.right])[is_held]
    known, similar = whole.take_pairs(~is_held), whole.similar[is_held] > 0.5
    return HeldOut(known, np.arange(whole.n_items), pairs, similar, whole, places)


def _stratified(similar: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Choose a fifth of either kind of pairs; None if there are fewer than two of one."""
    kinds = [np.flatnonzero(similar == kind) for kind in (True, False)]
    if min(places.size for places in kinds) < 2:
        return None
    chosen = [rng.permutation(places)[: max(1, round(SHARE * places.size))] for places in kinds]
    return np.sort(np.concatenate(chosen))


def _hold_out_labels(
    relation: LabelRelation, rng: np.random.Generator, share: float
) -> HeldOut | None:
    known = np.flatnonzero(relation.known)
    n_held = min(MOST_ITEMS, round(share * known.size))
    order = rng.permutation(known)
    held, rows = np.sort(order[:n_held]), np.sort(order[n_held:])
    if n_held < 2 or rows.size < 2:
        return None
    left, right = np.triu_indices(n_held, k=1)
    similar = relation.similarity(held, held)[left, right] > 0
    try:
        rest = relation.take(rows)
        refuse_one_sided(rest)
    except ValueError:  # of one class, or an item each
        return None
    if not _has_both(similar):
        return None
    return HeldOut(rest, rows, np.column_stack([held[left], held[right]]), similar, relation)


def _has_both(similar: NDArray[np.bool_]) -> bool:
    return bool(similar.any() and not similar.all())


def features_similarity(X: Any, held: HeldOut) -> NDArray[np.float64]:
    """Return the similarity of pairs by the features as given: cosine or distance, the better."""
    X = X.reshape(len(X), -1) if isinstance(X, np.ndarray) and X.ndim > 2 else X
    candidates = [
        -_in_blocks(distance, X, held.pairs)
        for distance in (paired_cosine_distances, paired_euclidean_distances)
    ]
    return max(candidates, key=lambda similarity: pair_auroc(held.similar, similarity))


def _in_blocks(distance: Any, X: Any, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return distances of pairs of rows, some thousand at a time."""
    blocks = np.array_split(pairs, max(1, len(pairs) // 4096))
    return np.concatenate(
        [distance(X[block[:, 0]], X[block[:, 1]]).astype(np.float64) for block in blocks]
    )
