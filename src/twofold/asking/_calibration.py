"""How likely a pair is alike, from the similarities of pairs whose answer is known.

An embedding agrees better with the statements it was fitted to than with others. So each statement
is scored by an embedding that was fitted without it, and a logistic curve over these similarities
says the rest. It is right as far as the stated pairs are like those it is asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from twofold.evaluation import Metric, pair_similarity
from twofold.relations import PairRelation, TooFewPairsError, split_folds

Points = NDArray[np.float32]
Refit = Callable[[PairRelation], Points]
"""From some of the statements to the points of all items, fitted to these alone."""
N_FOLDS = 3


@dataclass(frozen=True, slots=True)
class SimilarityCalibration:
    """The probability of being alike: 1 / (1 + exp(−slope · similarity / scale − offset)).

    Attributes
    ----------
    slope, offset : float
        Of the logistic curve; the slope is never negative.
    scale : float
        That similarities are divided by.
    """

    slope: float
    offset: float
    scale: float

    def probability(self, similarity: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability that pairs are alike, of any shape."""
        log_odds = self.slope * (similarity / self.scale) + self.offset
        return np.asarray(expit(log_odds), dtype=np.float32)


def fit_calibration(
    relation: PairRelation,
    points: Points,
    metric: Metric,
    refit: Refit | None,
    rng: np.random.Generator,
) -> SimilarityCalibration:
    """Fit the curve to statements.

    Parameters
    ----------
    relation : PairRelation
        What the embedding was fitted to.
    points : ndarray of float32, shape (n_items, dim)
        The embedding of all items.
    metric : {"euclidean", "dot", "cosine"}
        How points are compared.
    refit : callable (PairRelation) -> points, or None
        Fits it again to some of the statements; None if it learnt nothing from them.
    rng : Generator
        Parts the statements.
    """
    similarity = _scaled(points, relation, metric)
    if refit is not None:
        try:
            folds = split_folds(relation, N_FOLDS, rng)
        except TooFewPairsError:
            folds = []
        for fold in folds:
            without = refit(fold.kept)
            held_out = relation.take_pairs(fold.held_out)
            similarity[fold.held_out] = _scaled(without, held_out, metric)
    slope, offset = _fit_curve(similarity, relation)
    return SimilarityCalibration(slope, offset, _scale(points, metric))


def _fit_curve(similarity: NDArray[np.float64], relation: PairRelation) -> tuple[float, float]:
    """Return slope and offset of the logistic curve."""
    centre, spread = float(similarity.mean()), float(similarity.std()) or 1.0
    alike = relation.similar.astype(np.float64)
    weight = np.ones(relation.n_pairs) if relation.weight is None else relation.weight
    # A grade counts as alike by as much as it says, and as different by the rest.
    curve = LogisticRegression().fit(
        np.tile((similarity - centre) / spread, 2)[:, None],
        np.repeat([1, 0], relation.n_pairs),
        sample_weight=np.concatenate([alike * weight, (1 - alike) * weight]),
    )
    slope = float(curve.coef_[0, 0]) / spread
    if slope <= 0:  # similarities that tell nothing: every pair is as likely as another
        return 0.0, float(logit(np.average(alike, weights=weight)))
    return slope, float(curve.intercept_[0]) - slope * centre


def _scaled(points: Points, relation: PairRelation, metric: Metric) -> NDArray[np.float64]:
    similarity = pair_similarity(points, relation.left, relation.right, metric)
    return np.asarray(similarity / _scale(points, metric), dtype=np.float64)


def _scale(points: Points, metric: Metric) -> float:
    """Return the points' root mean square distance from their mean, squared for inner products.

    Embeddings that were fitted apart differ by it; cosines do not.
    """
    if metric == "cosine":
        return 1.0
    variance = float(points.var(axis=0, dtype=np.float64).sum()) or 1.0
    return variance if metric == "dot" else float(np.sqrt(variance))
