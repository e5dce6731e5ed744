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

    def probability(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how likely pairs of items are alike, as the model guesses."""
        similarity = pair_similarity(self.points, left, right, self.metric)
        return self.calibration.probability(similarity)
