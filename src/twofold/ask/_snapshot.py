"""What has been learnt from the answers so far: swapped in whole, never changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.ask._questions import Question
from twofold.asking import Quality
from twofold.estimators import MetricLearner
from twofold.evaluation import Metric, SimilarityCalibration, pair_similarity


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A metric, what to ask next, and how good it is.

    Attributes
    ----------
    points : ndarray of float32, shape (n_items, dim)
        Of all items: what neighbours are looked up in.
    metric : {"euclidean", "cosine", "dot"}
        How points are compared.
    n_answers : int
        Answers that were there when it was made.
    questions : tuple of Question
        Made ahead, in the order to be asked.
    quality : Quality or None
        Estimate of the AUROC over all pairs that may be asked about, from test answers alone; None
        while they are too few.
    learner : MetricLearner or None
        None while there are too few answers to learn from; it takes new rows.
    calibration : SimilarityCalibration
        From similarity to the probability of being alike.
    """

    points: NDArray[np.float32]
    metric: Metric
    n_answers: int
    questions: tuple[Question, ...]
    quality: Quality | None
    learner: MetricLearner | None
    calibration: SimilarityCalibration

    @property
    def threshold(self) -> float | None:
        """The similarity from which on a pair is rather alike; None where none tells."""
        slope, offset = self.calibration.slope, self.calibration.offset
        return -offset / slope if slope > 0 else None

    @property
    def keeps_features(self) -> bool:
        """Whether points are the features as given, since nothing better is known."""
        if self.learner is None:
            return True
        selection = self.learner.selection_
        return selection is not None and selection.candidate == "features as given"

    def probability(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how likely pairs of items are alike, as the model guesses."""
        similarity = pair_similarity(self.points, left, right, self.metric)
        return self.calibration.probability(similarity)


@dataclass(frozen=True, slots=True)
class Review:
    """What is only looked at now and then.

    Attributes
    ----------
    features : Quality or None
        How good the features as given are; None while test answers are too few.
    suspicion : dict of pair to float
        How strongly the rest contradicts what was answered about a pair, in [0, 1].
    """

    features: Quality | None
    suspicion: dict[tuple[int, int], float]
