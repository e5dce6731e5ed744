"""An inspection of a user's pairs: counts, gauge, and the most suspicious ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from twofold._core.checks import check_callable, check_count
from twofold._core.keys import check_keys
from twofold._core.random import as_generator
from twofold._core.warnings import RelationWarning, unsaid
from twofold.estimators import MetricLearner
from twofold.evaluation import pair_auroc, pair_similarity
from twofold.experiments._inspection import Inspection, Suggested, Suspect
from twofold.experiments._inspection_reading import Expectation, Together
from twofold.regression import n_rows
from twofold.relations import (
    PairRelation,
    TooFewPairsError,
    check_pair_relation,
    diagnose,
    split_folds,
)
from twofold.targets import Gauge, Targets, gauge_targets, rank_suspicious, suspicion

Progress = Callable[[str, float], Any]
"""Called with what is being done and the share of it that is."""
N_FOLDS = 5
MOST_ASKED, N_NEAREST = 2000, 20
"""Of two tables: left rows that may be asked about, and right rows for each of them."""
N_ROUNDS = 30
"""Of feedback, whatever the pairs decide: ridge maps take seconds, and no network is trained."""


def inspect_pairs(
    relation: PairRelation,
    features: Any = None,
    *,
    keys: ArrayLike | None = None,
    fields: Callable[[int], Mapping[str, str]] | None = None,
    notes: Sequence[str] = (),
    n_left: int | None = None,
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
        With them statements are scored by embeddings, which also know of items in few pairs;
        without, by targets.
    keys : array_like, shape (n_items,), optional
        Ids of the items; by default their numbers.
    fields : callable (item) -> mapping of str to str, optional
        What an item says of itself, shown beside its name: see `Records.fields`.
    notes : sequence of str
        What the user should know about the files.
    n_left : int, optional
        Of two tables, the rows of the left one, which come first: what to ask next are pairs
        between the two.
    n_suspicious : int
        Most suspects listed.
    n_suggested : int
        Pairs to ask next that are listed; they need features.
    random_state : int
        Seed of folds and solutions.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    began = time.perf_counter()
    n_suspicious = check_count("n_suspicious", n_suspicious, minimum=0)
    n_suggested = check_count("n_suggested", n_suggested, minimum=0)
    if n_suggested and features is None:
        raise ValueError(
            f"n_suggested={n_suggested} needs features: questions are found by embedding them."
        )
    check_pair_relation(relation)
    check_callable("progress", progress)
    names = None if keys is None else check_keys("keys", keys, relation.n_items)
    _check_rows(relation, features)
    told: Progress = (lambda what, share: None) if progress is None else progress
    told("counting", 0.0)
    diagnosis = diagnose(relation)
    told("counting", 1.0)
    gauge, why_not = _gauge(relation, random_state, lambda share: told("gauging", share))
    similarity, together = None if gauge is None else gauge.similarity, None
    if gauge is not None and features is not None:
        similarity = embedding_similarity(
            relation, features, random_state, lambda share: told("learning", share)
        )
        together = _together(relation, similarity)
    learner = None
    if features is not None and (gauge is not None or n_suggested):
        told("fitting", 0.0)
        learner = _fit_ridge_maps(features, relation, random_state)
        told("fitting", 1.0)
    suggestions = None
    if learner is not None and n_suggested:
        told("asking", 0.0)
        candidates = None if n_left is None else _between(features, n_left, random_state)
        suggestions = _suggestions(learner, n_suggested, candidates, random_state)
        told("asking", 1.0)
    suspects = () if similarity is None else _suspects(relation, similarity, n_suspicious)
    return Inspection(
        keys=np.arange(relation.n_items) if names is None else names,
        diagnosis=diagnosis,
        gauge=gauge,
        why_no_gauge=why_not,
        scored_by=None if gauge is None else "targets" if features is None else "features",
        together=together,
        expectation=None if learner is None else _expectation(learner),
        suspects=suspects,
        suggestions=suggestions,
        fields=_fields(fields, (*suspects, *(suggestions or ()))),
        notes=tuple(notes),
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
        Statements, parted into five folds; each is scored by what is learnt from the others.
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
        learner = _fit_ridge_maps(features, fold.kept, random_state)
        points = learner.transform(features)
        if learner.metric_ == "cosine":  # distances of rows of one length order as cosines do
            points = normalize(points)
        left, right = relation.left[fold.held_out], relation.right[fold.held_out]
        scores = pair_similarity(points, left, right, "euclidean")
        # Each fold has a scale of its own.
        similarity[fold.held_out] = scores / max(float(np.median(-scores)), 1e-12)
        progress(number / N_FOLDS)
    return similarity


def _fit_ridge_maps(features: Any, relation: PairRelation, random_state: int) -> MetricLearner:
    learner = MetricLearner(
        targets=Targets("contrastive"), feedback=N_ROUNDS, random_state=random_state
    )
    with unsaid(RelationWarning):
        # That features are best as given is told as what to expect.
        return learner.fit(features, relation=relation)


def _expectation(learner: MetricLearner) -> Expectation | None:
    """Return what a learner expects on pairs that are not stated; None without validation."""
    selection = learner.selection_
    if selection is None or selection.expected is None or selection.reference is None:
        return None
    return Expectation(
        candidate=selection.candidate,
        new_items=selection.expected["new items"],
        known_items=selection.expected.get("known items"),
        features_as_given=selection.reference,
    )


def _suggestions(
    learner: MetricLearner,
    n_suggested: int,
    candidates: NDArray[np.int64] | None,
    random_state: int,
) -> tuple[Suggested, ...]:
    with unsaid(RelationWarning):
        # That fewer are left than were asked for is seen.
        pairs = learner.suggest_pairs(n_suggested, candidates=candidates, random_state=random_state)
    columns = (pairs.left.tolist(), pairs.right.tolist(), pairs.probability.tolist())
    return tuple(Suggested(*row) for row in zip(*columns, strict=True))


def _between(features: Any, n_left: int, random_state: int) -> NDArray[np.int64]:
    """Return pairs of two tables that may be alike: some left rows, the right rows nearest each."""
    rows = as_generator(random_state).permutation(n_left)[:MOST_ASKED]
    n_nearest = min(N_NEAREST, n_rows(features) - n_left)
    search = NearestNeighbors(n_neighbors=n_nearest, metric="cosine", algorithm="brute")
    nearest = search.fit(features[n_left:]).kneighbors(features[rows], return_distance=False)
    return np.column_stack([np.repeat(rows, n_nearest), n_left + nearest.ravel()])


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


def _together(relation: PairRelation, similarity: NDArray[np.float32]) -> Together:
    """Compare statements with what features and the other statements say of them."""
    sure, alike = relation.similar != 0.5, relation.similar > 0.5
    opposed = (suspicion(relation, similarity) > 0.5) & sure
    return Together(
        auroc=pair_auroc(alike[sure], similarity[sure]),
        n_similar=int((alike & sure).sum()),
        n_dissimilar=int((~alike & sure).sum()),
        n_similar_opposed=int((alike & opposed).sum()),
        n_dissimilar_opposed=int((~alike & opposed).sum()),
    )


def _fields(
    fields: Callable[[int], Mapping[str, str]] | None, shown: Sequence[Suspect | Suggested]
) -> dict[int, dict[str, str]]:
    """Return the fields of the items that are shown."""
    if fields is None:
        return {}
    items = sorted({item for one in shown for item in (one.left, one.right)})
    return {item: dict(fields(item)) for item in items}


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
