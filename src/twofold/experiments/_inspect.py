"""The truth about a user's pairs: counted, gauged, and the most suspicious named."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import Ridge

from twofold._core.checks import check_count
from twofold._core.warnings import RelationWarning
from twofold.estimators import MetricLearner
from twofold.evaluation import pair_auroc, pair_similarity
from twofold.experiments._inspection import Inspection, Suggested, Suspect
from twofold.regression import n_rows
from twofold.relations import PairRelation, TooFewPairsError, diagnose, split_folds
from twofold.targets import Gauge, gauge_targets, rank_suspicious, suspicion

Progress = Callable[[str, float], Any]
"""Called with what is being done and the share of it that is."""
N_FOLDS = 5


def inspect_pairs(
    relation: PairRelation,
    features: Any = None,
    *,
    keys: ArrayLike | None = None,
    n_suspicious: int = 20,
    n_suggested: int = 0,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Inspection:
    """Inspect a user's statements about pairs.

    Parameters
    ----------
    relation : PairRelation
        The statements.
    features : array or sparse matrix, n_items rows, optional
        With them the suspicious are found by embeddings, which also know of items in few pairs;
        without, by targets.
    keys : array_like, shape (n_items,), optional
        What the items are called; by default their numbers.
    n_suspicious : int
        Most suspects listed.
    n_suggested : int
        Pairs to ask next that are listed; they need features.
    random_state : int
        Seed of folds and solutions.
    progress : callable (what, share), optional
        Called as the work goes on.
    """
    began = time.perf_counter()
    n_suspicious = check_count("n_suspicious", n_suspicious, minimum=0)
    n_suggested = check_count("n_suggested", n_suggested, minimum=0)
    if n_suggested and features is None:
        raise ValueError(
            f"n_suggested={n_suggested} needs features: what to ask next is found by embeddings of "
            "them."
        )
    names = _check_keys(relation, keys)
    _check_rows(relation, features)
    told: Progress = (lambda what, share: None) if progress is None else progress
    told("counting", 0.0)
    diagnosis = diagnose(relation)
    told("counting", 1.0)
    gauge, why_not = _gauge(relation, random_state, lambda share: told("gauging", share))
    similarity, features_auroc = None if gauge is None else gauge.similarity, None
    if gauge is not None and features is not None:
        similarity = embedding_similarity(
            relation, features, random_state, lambda share: told("learning", share)
        )
        sure = relation.similar != 0.5
        features_auroc = pair_auroc(relation.similar[sure] > 0.5, similarity[sure])
    suggestions = None
    if n_suggested:
        told("asking", 0.0)
        suggestions = _suggestions(relation, features, n_suggested, random_state)
        told("asking", 1.0)
    return Inspection(
        keys=names,
        diagnosis=diagnosis,
        gauge=gauge,
        why_no_gauge=why_not,
        judge=None if gauge is None else "targets" if features is None else "features",
        features_auroc=features_auroc,
        suspects=() if similarity is None else _suspects(relation, similarity, n_suspicious),
        suggestions=suggestions,
        seed=random_state,
        seconds=time.perf_counter() - began,
    )


def embedding_similarity(
    relation: PairRelation,
    features: Any,
    random_state: int,
    progress: Callable[[float], Any],
) -> NDArray[np.float32]:
    """Return the similarity of each stated pair by an embedding learnt without that statement.

    Parameters
    ----------
    relation : PairRelation
        Statements, parted into five folds; each is judged by what is learnt from the others.
    features : array or sparse matrix, n_items rows
        What the embedding starts from.
    random_state : int
        Seed of folds and training.
    progress : callable (share)
        Called after every fold.

    Returns
    -------
    similarity : ndarray of float32, shape (n_pairs,)
        Large for the alike.
    """
    similarity = np.empty(relation.n_pairs, dtype=np.float32)
    for number, fold in enumerate(split_folds(relation, N_FOLDS, random_state), start=1):
        points = _learnt_points(features, fold.kept, random_state)
        left, right = relation.left[fold.held_out], relation.right[fold.held_out]
        found = pair_similarity(points, left, right, "euclidean")
        # Each fold has a scale of its own.
        similarity[fold.held_out] = found / max(float(np.median(-found)), 1e-12)
        progress(number / N_FOLDS)
    return similarity


def _learnt_points(features: Any, relation: PairRelation, random_state: int) -> NDArray[np.float32]:
    """Return the features under the map that statements ask for, or as they are."""
    with warnings.catch_warnings():
        # Features that are best as they are are no news here.
        warnings.simplefilter("ignore", RelationWarning)
        learner = _quick_learner(random_state).fit(features, relation=relation)
        return learner.transform(features)


def _quick_learner(random_state: int) -> MetricLearner:
    """Maps and ridge regression are solved for in seconds; no network is trained."""
    return MetricLearner(loss="contrastive", embedder=Ridge(), random_state=random_state)


def _suggestions(
    relation: PairRelation, features: Any, n_suggested: int, random_state: int
) -> tuple[Suggested, ...]:
    with warnings.catch_warnings():
        # That fewer are left than were asked for is seen.
        warnings.simplefilter("ignore", RelationWarning)
        learner = _quick_learner(random_state).fit(features, relation=relation)
        found = learner.suggest_pairs(n_suggested, random_state=random_state)
    columns = (found.left.tolist(), found.right.tolist(), found.probability.tolist())
    return tuple(Suggested(*row) for row in zip(*columns, strict=True))


def _check_keys(relation: PairRelation, keys: ArrayLike | None) -> NDArray[Any]:
    names = np.arange(relation.n_items) if keys is None else np.asarray(keys)
    if names.shape != (relation.n_items,):
        raise ValueError(
            f"keys must name each of the {relation.n_items} items, got shape {names.shape}."
        )
    return names


def _check_rows(relation: PairRelation, features: Any) -> None:
    if features is not None and n_rows(features) != relation.n_items:
        raise ValueError(
            f"features must have a row for each of the {relation.n_items} items, got "
            f"{n_rows(features)} row(s)."
        )


def _gauge(
    relation: PairRelation, seed: int, progress: Callable[[float], Any]
) -> tuple[Gauge | None, str]:
    """Return the gauge, or why there is none."""
    try:
        return gauge_targets(relation, n_folds=N_FOLDS, random_state=seed, progress=progress), ""
    except TooFewPairsError as reason:
        return None, str(reason)


def _suspects(
    relation: PairRelation, similarity: NDArray[np.float32], n_suspicious: int
) -> tuple[Suspect, ...]:
    how_much = suspicion(relation, similarity)
    return tuple(
        Suspect(
            row=int(row),
            left=int(relation.left[row]),
            right=int(relation.right[row]),
            similar=float(relation.similar[row]),
            suspicion=float(how_much[row]),
        )
        for row in rank_suspicious(relation, similarity)[:n_suspicious]
    )
