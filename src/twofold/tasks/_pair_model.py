"""The pair model of records in `twofold fit`: columns, and what the embedding says of a pair.

An embedding agrees better with pairs that it was fitted to than with others. So what the pair model
learns from is said by embeddings fitted without the items of the pair, in the folds that the pair
model itself is validated in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import RelationWarning, unsaid
from twofold.estimators import MetricLearner
from twofold.evaluation import similarity_scale
from twofold.matching import PairClassifier, embedding_evidence
from twofold.relations import PairRelation
from twofold.tasks._fit_input import Input

Rows = NDArray[np.int64]


def fit_pair_classifier(
    given: Input, relation: PairRelation, learner: MetricLearner, seed: int
) -> PairClassifier:
    """Fit a pair model on all pairs; its `held_out_` is of folds that keep items apart."""
    right = None if given.right is None else given.right.table
    pairs = given.by_table(np.column_stack([relation.left, relation.right]))
    similarity = None
    # What validation has selected is fitted again in a second. A network to targets that were
    # solved once, and layers that are joined, would be trained anew for every fold.
    if learner.selection_ is not None and learner.metric_step_ is None:
        similarity = _evidence_out_of_fold(given, pairs, relation, learner, seed)
    classifier = PairClassifier(given.left.table, right, random_state=seed)
    classifier.fit(pairs, relation.similar > 0.5, similarity)
    if classifier.columns_score_ is not None and not classifier.n_given_:
        given.notes.append(
            "The columns alone leave nothing to gain (average precision "
            f"{classifier.columns_score_:.4f} on held-out pairs), so the pair model does not use "
            "the embedding's similarity."
        )
    return classifier


def embedding_scale(
    classifier: PairClassifier | None, given: Input, learner: MetricLearner
) -> float | None:
    """Return what the embedding's similarity is divided by, where a pair model asks for it."""
    if classifier is None or not classifier.n_given_:
        return None
    return similarity_scale(learner.transform(given.features), learner.metric_)


def _evidence_out_of_fold(
    given: Input, pairs: Rows, relation: PairRelation, learner: MetricLearner, seed: int
) -> Callable[[Rows, Rows], NDArray[np.float32]]:
    """Return what describes pairs held out by the selected embedding, fitted to the others."""
    fit_part = learner.fit_parts(relation, random_state=seed)
    n_left = given.left.n_items

    def evidence(kept: Rows, held_out: Rows) -> NDArray[np.float32]:
        with unsaid(RelationWarning):  # of all pairs it is said once
            points = fit_part(relation.take_pairs(kept))
        return embedding_evidence(
            points[:n_left],
            None if given.right is None else points[n_left:],
            pairs[held_out],
            metric=learner.metric_,
            scale=similarity_scale(points, learner.metric_),
        )

    return evidence
