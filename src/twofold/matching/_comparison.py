"""Which of two scores held-out pairs prefer: the pair model's or the embedding's similarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_count
from twofold._core.random import RandomState, as_generator
from twofold.evaluation import choose_threshold

N_RESAMPLES = 200
"""Enough for a standard error to two digits."""


@dataclass(frozen=True, slots=True)
class HeldOutComparison:
    """What two scores reached on pairs that were held out.

    Attributes
    ----------
    model_f1, embedding_f1 : float
        F1 at the threshold that is best for each on these pairs.
    model_average_precision, embedding_average_precision : float
        Area under the precision-recall curve.
    f1_gain, average_precision_gain : float
        The model's less the embedding's.
    f1_gain_error, average_precision_gain_error : float
        Their standard errors, by drawing left records with replacement.
    prefers_model : bool
        Whether the gain in average precision is above 0.
    """

    model_f1: float
    embedding_f1: float
    model_average_precision: float
    embedding_average_precision: float
    f1_gain: float
    average_precision_gain: float
    f1_gain_error: float
    average_precision_gain_error: float

    @property
    def prefers_model(self) -> bool:
        """Whether the pair model orders held-out pairs better."""
        return self.average_precision_gain > 0


def compare_on_held_out(
    pairs: ArrayLike,
    y: ArrayLike,
    model_score: ArrayLike,
    embedding_similarity: ArrayLike,
    *,
    n_resamples: int = N_RESAMPLES,
    random_state: RandomState = None,
) -> HeldOutComparison:
    """Compare a pair model with an embedding on pairs that neither was fitted to.

    Parameters
    ----------
    pairs : array_like of int, shape (n_pairs, 2)
        Rows; pairs of one left record succeed and fail together, and are drawn together.
    y : array_like, shape (n_pairs,)
        1 for alike, 0 for not.
    model_score, embedding_similarity : array_like of float, shape (n_pairs,)
        Large for the alike: `PairClassifier.held_out_`, and what the embedding says out of fold.
        Pairs for which either is NaN are left out.
    n_resamples : int
        For the standard errors.
    random_state : int, Generator, RandomState or None
        Draws the records.
    """
    check_count("n_resamples", n_resamples, minimum=2)
    rng = as_generator(random_state)
    rows, alike = np.asarray(pairs), np.asarray(as_array("y", y), dtype=np.int64)
    scores = np.stack(
        [
            _checked("model_score", model_score, len(rows)),
            _checked("embedding_similarity", embedding_similarity, len(rows)),
        ]
    )
    there = ~np.isnan(scores).any(axis=0)
    alike, scores, left = alike[there], scores[:, there], rows[there, 0]
    if len(np.unique(alike)) < 2:
        raise ValueError(
            f"Of the {len(alike)} pair(s) with both scores all are of one kind: alike pairs and "
            "others are both needed."
        )
    whole = np.array([_merits(alike, score) for score in scores])
    gains = _resampled_gains(alike, scores, left, n_resamples, rng)
    errors = np.nanstd(gains, axis=0, ddof=1)
    gain = whole[0] - whole[1]
    return HeldOutComparison(
        model_f1=float(whole[0, 0]),
        embedding_f1=float(whole[1, 0]),
        model_average_precision=float(whole[0, 1]),
        embedding_average_precision=float(whole[1, 1]),
        f1_gain=float(gain[0]),
        average_precision_gain=float(gain[1]),
        f1_gain_error=float(errors[0]),
        average_precision_gain_error=float(errors[1]),
    )


def _checked(name: str, values: ArrayLike, n_pairs: int) -> NDArray[np.float64]:
    scores = np.asarray(as_array(name, values), dtype=np.float64)
    if scores.shape != (n_pairs,):
        raise ValueError(f"{name} must have one number a pair, {n_pairs}, got {scores.shape}.")
    return scores


def _merits(alike: NDArray[np.int64], score: NDArray[np.float64]) -> tuple[float, float]:
    """Return the best F1 and the average precision."""
    from sklearn.metrics import average_precision_score

    f1 = choose_threshold(alike, score, "f_beta").f_beta
    return f1, float(average_precision_score(alike, score))


def _resampled_gains(
    alike: NDArray[np.int64],
    scores: NDArray[np.float64],
    left: NDArray[np.int64],
    n_resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the gains in F1 and average precision with other left records, NaN if of one kind."""
    order = np.argsort(left, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(left[order])) + 1)
    gains = np.full((n_resamples, 2), np.nan)
    for number in range(n_resamples):
        drawn = np.concatenate([groups[at] for at in rng.integers(len(groups), size=len(groups))])
        if len(np.unique(alike[drawn])) == 2:
            one, other = (_merits(alike[drawn], score[drawn]) for score in scores)
            gains[number] = np.subtract(one, other)
    return gains
