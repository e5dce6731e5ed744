"""How good points are: arrays in, numbers out."""

from twofold.evaluation._calibration import (
    SimilarityCalibration,
    fit_similarity_calibration,
    scaled_similarity,
)
from twofold.evaluation._knn import knn_accuracy, knn_jaccard
from twofold.evaluation._neighbours import nearest_indices
from twofold.evaluation._pairs import pair_auroc, pair_similarity
from twofold.evaluation._points import Metric
from twofold.evaluation._ranks import Ranks, gain_error, pair_ranks, rank_error, triplet_ranks
from twofold.evaluation._retrieval import RetrievalScores, retrieval_scores
from twofold.evaluation._thresholds import Calibration, Strategy, choose_threshold
from twofold.evaluation._verification import VerificationScores, verification_scores

__all__ = [
    "Calibration",
    "Metric",
    "Ranks",
    "RetrievalScores",
    "SimilarityCalibration",
    "Strategy",
    "VerificationScores",
    "choose_threshold",
    "fit_similarity_calibration",
    "gain_error",
    "knn_accuracy",
    "knn_jaccard",
    "nearest_indices",
    "pair_auroc",
    "pair_ranks",
    "pair_similarity",
    "rank_error",
    "retrieval_scores",
    "scaled_similarity",
    "triplet_ranks",
    "verification_scores",
]
