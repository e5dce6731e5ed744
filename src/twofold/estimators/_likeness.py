"""How likely a pair is to be alike, from the similarities of pairs whose answer is known.

What was learnt from a statement agrees with it better than with others. So every statement is
judged by what is learnt without it, and a logistic curve over these similarities says the rest.
It is right as far as the pairs that were stated are like those it is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from torch.utils.data import Dataset, Subset

from twofold.estimators._feedback import learn_same_way
from twofold.estimators._fitting import fit_once
from twofold.estimators._training_parameters import training_config
from twofold.evaluation import pair_similarity
from twofold.regression import take_rows
from twofold.relations import PairRelation, TooFewPairsError, split_folds

if TYPE_CHECKING:
    from twofold.estimators._metric_learner import MetricLearner

Points = NDArray[np.float32]
N_FOLDS = 3


@dataclass(frozen=True, slots=True)
class Likeness:
    """The probability of being alike by similarity: 1 / (1 + exp(−slope · similarity − offset)).

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
        """Return the probability that pairs are alike.

        Parameters
        ----------
        similarity : ndarray of float32, any shape
            Large for the alike.
        """
        height = self.slope * (similarity / self.scale) + self.offset
        return np.asarray(expit(height), dtype=np.float32)


def fit_likeness(
    learner: MetricLearner,
    X: Any,
    relation: PairRelation,
    points: Points,
    rng: np.random.Generator,
) -> Likeness:
    """Fit the curve to a learner's statements.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    X : n_items rows
        What it was fitted to.
    relation : PairRelation
        What it was told of them, some alike and some not.
    points : ndarray of float32, shape (n_items, dim)
        Their embedding.
    rng : Generator
        Parts the statements.
    """
    scale = _scale(points[relation.linked], learner.metric_)
    similarity = _unbiased_similarity(learner, X, relation, points, rng)
    slope, offset = _fit_curve(similarity, relation)
    return Likeness(slope, offset, scale)


def _fit_curve(similarity: NDArray[np.float64], relation: PairRelation) -> tuple[float, float]:
    """Return slope and offset of the logistic curve that statements ask for."""
    centre, spread = float(similarity.mean()), float(similarity.std()) or 1.0
    alike = relation.similar.astype(np.float64)
    weight = np.ones(relation.n_pairs) if relation.weight is None else relation.weight
    # A statement is two: alike, as much as it says so, and not alike.
    curve = LogisticRegression().fit(
        np.tile((similarity - centre) / spread, 2)[:, None],
        np.repeat([1, 0], relation.n_pairs),
        sample_weight=np.concatenate([alike * weight, (1 - alike) * weight]),
    )
    slope = float(curve.coef_[0, 0]) / spread
    if slope <= 0:  # similarities that say nothing: every pair is as likely as another
        return 0.0, float(logit(np.average(alike, weights=weight)))
    return slope, float(curve.intercept_[0]) - slope * centre


def _unbiased_similarity(
    learner: MetricLearner,
    X: Any,
    relation: PairRelation,
    points: Points,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the similarity of each statement by what is learnt without it, scale taken out.

    Where too few are known to leave some out, they are judged by what is learnt from all.
    """
    linked = np.flatnonzero(relation.linked)
    stated = relation.take(linked)
    similarity = _scaled_similarity(points[linked], stated, learner.metric_)
    if learner._feedback is not None and learner._feedback.chosen.way == "raw":
        return similarity
    try:
        folds = split_folds(relation, N_FOLDS, rng)
    except TooFewPairsError:
        return similarity
    rows = _take_rows(X, linked)
    for fold in folds:
        without = _points_without(learner, X, fold.kept, rows, rng)
        held_out = stated.take_pairs(fold.held_out)
        similarity[fold.held_out] = _scaled_similarity(without, held_out, learner.metric_)
    return similarity


def _points_without(
    learner: MetricLearner, X: Any, kept: PairRelation, rows: Any, rng: np.random.Generator
) -> Points:
    """Return the points of some rows by what is learnt from fewer statements, the same way."""
    if learner._feedback is not None:
        embedder = learn_same_way(
            learner._feedback,
            learner.embedder,
            X,
            kept,
            training_config(learner, kept, by_feedback=True),
            rng,
            loss=learner._pair_loss(by_feedback=True),
            margin=learner.margin,
            n_rounds=None if learner.feedback == "auto" else learner.feedback,
            flips=learner.flips,
        )
        return learner._own_coordinates(embedder.predict(rows))
    other = clone(learner).set_params(checkpoint=None, callback=None, verbose=False)
    fit_once(other, X, kept, rng)
    return np.asarray(other._own_coordinates(other.embedder_.predict(rows)))


def _scaled_similarity(
    points: Points, relation: PairRelation, metric: Literal["euclidean", "dot"]
) -> NDArray[np.float64]:
    similarity = pair_similarity(points, relation.left, relation.right, metric)
    return np.asarray(similarity / _scale(points, metric), dtype=np.float64)


def _scale(points: Points, metric: Literal["euclidean", "dot"]) -> float:
    """Return the root mean square distance of points from their mean, squared for dot products."""
    variance = float(points.var(axis=0, dtype=np.float64).sum()) or 1.0
    return variance if metric == "dot" else float(np.sqrt(variance))


def _take_rows(X: Any, items: NDArray[np.int64]) -> Any:
    return Subset(X, items.tolist()) if isinstance(X, Dataset) else take_rows(X, items)
