"""How good points are: arrays in, numbers out."""

from twofold.evaluation._knn import knn_accuracy, knn_jaccard
from twofold.evaluation._pairs import pair_auroc, pair_similarity
from twofold.evaluation._points import Metric
from twofold.evaluation._retrieval import RetrievalScores, retrieval_scores
from twofold.evaluation._thresholds import Calibration, Strategy, choose_threshold
from twofold.evaluation._verification import VerificationScores, verification_scores

NeighbourMetric = Metric  # the former name, until its last users are gone

__all__ = [
    "Calibration",
    "Metric",
    "NeighbourMetric",
    "RetrievalScores",
    "Strategy",
    "VerificationScores",
    "choose_threshold",
    "knn_accuracy",
    "knn_jaccard",
    "pair_auroc",
    "pair_similarity",
    "retrieval_scores",
    "verification_scores",
]
