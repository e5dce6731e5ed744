"""The probability that a pair is alike, as a curve of similarities from held-out statements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import (
    Metric,
    SimilarityCalibration,
    fit_similarity_calibration,
    scaled_similarity,
    similarity_scale,
)
from twofold.relations import PairRelation, TooFewPairsError, split_folds

Points = NDArray[np.float32]
Refit = Callable[[PairRelation, NDArray[np.int64]], Points]
"""From some of the statements, and items, to the points of these, fitted to the statements alone.
"""

MOST_CALIBRATED_ON = 1000
"""Statements that a curve of two numbers needs at most."""


def calibrate_similarity(
    known: PairRelation,
    points: Points,
    metric: Metric,
    refit: Refit | None,
    rng: np.random.Generator,
    n_folds: int = 5,
) -> SimilarityCalibration:
    """Return the probability of being alike as a curve of the similarity of `points`.

    It is that of pairs drawn as the statements were.

    Parameters
    ----------
    known : PairRelation
        What is stated.
    points : ndarray of float32, shape (n_items, dim)
        The embedding of all items; only those in some statement are looked at.
    metric : {"euclidean", "dot", "cosine"}
        How points are compared.
    refit : callable or None
        Fits the embedding again; None if it learnt from no statement.
    rng : Generator
        Parts the statements.
    n_folds : int
        Parts, each of which is scored without itself; of many statements some are drawn.
    """
    if known.n_pairs > MOST_CALIBRATED_ON:
        drawn = rng.choice(known.n_pairs, MOST_CALIBRATED_ON, replace=False)
        known = known.take_pairs(np.sort(drawn))
    similarity = held_out_similarity(known, points, metric, refit, rng, n_folds)
    scaled = fit_similarity_calibration(known.similar, similarity, known.weight)
    scale = similarity_scale(points[known.linked], metric)
    return SimilarityCalibration(scaled.slope / scale, scaled.offset)


def held_out_similarity(
    known: PairRelation,
    points: Points,
    metric: Metric,
    refit: Refit | None,
    rng: np.random.Generator,
    n_folds: int = 5,
) -> NDArray[np.float64]:
    """Return how similar the items of each statement are, embedded without it if there are enough.

    An embedding agrees better with the statements it was fitted to than with others. Similarities
    are in terms of how far the stated items spread.
    """
    items = np.flatnonzero(known.linked)
    stated = known.take(items)
    similarity = scaled_similarity(points[items], stated.left, stated.right, metric)
    if refit is None:
        return similarity
    try:
        folds = split_folds(known, n_folds, random_state=rng)
    except TooFewPairsError:
        return similarity
    for fold in folds:
        left, right = stated.left[fold.held_out], stated.right[fold.held_out]
        refitted = refit(fold.kept, items)
        similarity[fold.held_out] = scaled_similarity(refitted, left, right, metric)
    return similarity
