"""Which of two scores held-out pairs prefer: the pair model's or the embedding's similarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_count
from twofold._core.random import RandomState, as_generator

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
    once = np.ones((1, len(alike)))
    whole = np.array([_merits(alike, score, once)[0] for score in scores])
    drawn = _drawn(left, n_resamples, rng)
    one, other = (_merits(alike, score, drawn) for score in scores)
    errors = np.nanstd(one - other, axis=0, ddof=1)
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


def _merits(
    alike: NDArray[np.int64], score: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the best F1 and the average precision, with pairs weighted in `n` ways.

    Parameters
    ----------
    weight : ndarray of float64, shape (n, n_pairs)
        How often each pair is there.

    Returns
    -------
    ndarray of float64, shape (n, 2)
        NaN where no alike pair is there.
    """
    order = np.argsort(-score, kind="stable")
    # Pairs of equal score are called alike together.
    is_last = np.append(np.diff(score[order]) != 0, True)
    called = np.cumsum(weight[:, order], axis=1)[:, is_last]
    hits = np.cumsum(weight[:, order] * alike[order], axis=1)[:, is_last]
    n_alike = hits[:, -1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.max(2 * hits / (called + n_alike), axis=1)
        gained = np.diff(hits, axis=1, prepend=0) / n_alike
        precision = np.where(called > 0, hits / called, 0)
    merits = np.column_stack([f1, (gained * precision).sum(axis=1)])
    merits[n_alike[:, 0] == 0] = np.nan
    return merits


def _drawn(
    left: NDArray[np.int64], n_resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return how often each pair is there when left records are drawn with replacement."""
    records, record = np.unique(left, return_inverse=True)
    draws = rng.integers(len(records), size=(n_resamples, len(records)))
    times = np.stack([np.bincount(draw, minlength=len(records)) for draw in draws])
    return times[:, record].astype(np.float64)
