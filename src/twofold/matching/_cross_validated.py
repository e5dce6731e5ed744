"""A pair model in cross-validation: its scores of pairs whose items it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score

from twofold.evaluation import choose_threshold
from twofold.matching._decision import IDENTITY, Sigmoid, fit_sigmoid, probability
from twofold.matching._item_apart import Fold, describe_out_of_fold, out_of_fold
from twofold.matching._pair_models import fit_pair_model

Describe = Callable[[NDArray[np.int64], NDArray[np.int64]], ArrayLike]
"""From places of pairs to learn from, and of others, to similarities of the others."""

COLUMNS_SUFFICE = 0.999
"""Average precision by the columns alone, from which on nothing more is asked for. On the training
and validation pairs of dblp-acm the embedding's evidence takes .9998 to .9998 with all columns, and
.9957 to .9986 with titles and venues alone (`results/cpu/pair_evidence.json`)."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidated:
    """What models of folds come to.

    Attributes
    ----------
    calibration : Sigmoid
        From their scores to probabilities.
    threshold : float
        The probability of the best F1.
    held_out : ndarray of float64, shape (n_pairs,)
        The calibrated probability of each pair; NaN where no model could be fitted without it.
    """

    calibration: Sigmoid
    threshold: float
    held_out: NDArray[np.float64]

    def average_precision(self, y: NDArray[np.int64]) -> float | None:
        """Return that of the pairs held out, None if they are not of both kinds."""
        there = ~np.isnan(self.held_out)
        if len(np.unique(y[there])) < 2:
            return None
        return float(average_precision_score(y[there], self.held_out[there]))


def cross_validate(
    model: Any,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    folds: list[Fold],
    rng: np.random.Generator,
) -> CrossValidated:
    """Fit a resolved model once per fold, and calibrate by what it says of the others."""

    def fit_score(kept: NDArray[np.int64], held_out: NDArray[np.int64]) -> NDArray[np.float64]:
        return fit_pair_model(model, X[kept], y[kept], rng).score(X[held_out])

    scores = out_of_fold(fit_score, folds, y)
    there = ~np.isnan(scores)
    if len(np.unique(y[there])) < 2:
        return CrossValidated(IDENTITY, 0.5, np.full(len(y), np.nan))
    calibration = fit_sigmoid(scores[there], y[there])
    held_out = probability(calibration.log_odds(scores))
    threshold = choose_threshold(y[there], held_out[there], "f_beta").threshold
    return CrossValidated(calibration, threshold, held_out)


def columns_and_more(
    model: Any,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    describe: Describe,
    folds: list[Fold],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], CrossValidated, float | None]:
    """Cross-validate on columns, and on what is learnt from pairs beside them where that can help.

    Returns
    -------
    given : ndarray of float32, shape (n_pairs, n_given)
        What `describe` says of each pair out of fold; no column where it was not asked.
    result : CrossValidated
        With these.
    columns_score : float or None
        The average precision by columns alone; None with too few pairs for folds.
    """
    alone = cross_validate(model, X, y, folds, rng)
    score = alone.average_precision(y)
    if score is None or score >= COLUMNS_SUFFICE:
        return np.empty((len(y), 0), dtype=np.float32), alone, score
    given = describe_out_of_fold(describe, folds, y).astype(np.float32)
    return given, cross_validate(model, np.hstack([X, given]), y, folds, rng), score
