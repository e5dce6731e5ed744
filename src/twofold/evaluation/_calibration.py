"""How likely a pair is alike, from the similarities of pairs whose answer is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from twofold.evaluation._pairs import pair_similarity
from twofold.evaluation._points import Metric


@dataclass(frozen=True, slots=True)
class SimilarityCalibration:
    """The probability of being alike: 1 / (1 + exp(−slope · similarity − offset)).

    Attributes
    ----------
    slope, offset : float
        Of the logistic curve; the slope is never negative.
    """

    slope: float
    offset: float

    def probability(self, similarity: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the probability that pairs are alike, of any shape."""
        return np.asarray(expit(self.slope * similarity + self.offset), dtype=np.float32)


def fit_similarity_calibration(
    similar: NDArray[np.float32],
    similarity: NDArray[np.floating],
    weight: NDArray[np.float32] | None = None,
) -> SimilarityCalibration:
    """Fit the logistic curve to pairs.

    Parameters
    ----------
    similar : ndarray of float32, shape (n_pairs,)
        1 for alike, 0 for not alike; a grade counts as alike by as much as it says, and as
        different by the rest.
    similarity : ndarray of float, shape (n_pairs,)
        Large for the alike.
    weight : ndarray of float32, shape (n_pairs,), optional
        How much a pair counts.
    """
    similarity = similarity.astype(np.float64)
    centre, spread = float(similarity.mean()), float(similarity.std()) or 1.0
    alike = similar.astype(np.float64)
    weight = np.ones(alike.size, dtype=np.float32) if weight is None else weight
    curve = LogisticRegression().fit(
        np.tile((similarity - centre) / spread, 2)[:, None],
        np.repeat([1, 0], alike.size),
        sample_weight=np.concatenate([alike * weight, (1 - alike) * weight]),
    )
    slope = float(curve.coef_[0, 0]) / spread
    if slope <= 0:  # similarities that tell nothing: every pair is as likely as another
        return SimilarityCalibration(0.0, float(logit(np.average(alike, weights=weight))))
    return SimilarityCalibration(slope, float(curve.intercept_[0]) - slope * centre)


def scaled_similarity(
    points: NDArray[np.float32],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    metric: Metric,
) -> NDArray[np.float64]:
    """Return `pair_similarity` in terms of how far the points spread: see `similarity_scale`."""
    similarity = pair_similarity(points, left, right, metric).astype(np.float64)
    return similarity / similarity_scale(points, metric)


def similarity_scale(points: NDArray[np.float32], metric: Metric) -> float:
    """Return how far points spread, by which embeddings that were fitted apart differ.

    That is their root mean square distance from their mean, squared for inner products; cosines
    do not differ, so that it is 1 of them.
    """
    if metric == "cosine":
        return 1.0
    variance = float(points.var(axis=0, dtype=np.float64).sum()) or 1.0
    return variance if metric == "dot" else float(np.sqrt(variance))
