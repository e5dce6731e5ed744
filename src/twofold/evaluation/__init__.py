"""How good points are: arrays in, numbers out."""

from twofold.evaluation._all_pairs import all_pairs_auroc
from twofold.evaluation._calibration import (
    SimilarityCalibration,
    fit_similarity_calibration,
    scaled_similarity,
    similarity_scale,
)
from twofold.evaluation._class_splits import ClassFold, split_classes
from twofold.evaluation._decisions import DecisionScores, decision_scores
from twofold.evaluation._knn import knn_accuracy, knn_jaccard
from twofold.evaluation._neighbours import nearest_indices
from twofold.evaluation._one_shot import OneShotScores, one_shot_accuracy
from twofold.evaluation._pair_splits import PairFolds
from twofold.evaluation._pairs import pair_auroc, pair_similarity, sparse_pair_similarity
from twofold.evaluation._points import Metric
from twofold.evaluation._rankings import RankingScores, ranking_scores
from twofold.evaluation._ranks import Ranks, gain_error, pair_ranks, rank_error, triplet_ranks
from twofold.evaluation._resampling import Interval, Resample
from twofold.evaluation._retrieval import RetrievalScores, retrieval_scores
from twofold.evaluation._thresholds import Calibration, Strategy, choose_threshold
from twofold.evaluation._verification import VerificationScores, verification_scores

__all__ = [
    "Calibration",
    "ClassFold",
    "DecisionScores",
    "Interval",
    "Metric",
    "OneShotScores",
    "PairFolds",
    "RankingScores",
    "Ranks",
    "Resample",
    "RetrievalScores",
    "SimilarityCalibration",
    "Strategy",
    "VerificationScores",
    "all_pairs_auroc",
    "choose_threshold",
    "decision_scores",
    "fit_similarity_calibration",
    "gain_error",
    "knn_accuracy",
    "knn_jaccard",
    "nearest_indices",
    "one_shot_accuracy",
    "pair_auroc",
    "pair_ranks",
    "pair_similarity",
    "rank_error",
    "ranking_scores",
    "retrieval_scores",
    "scaled_similarity",
    "similarity_scale",
    "sparse_pair_similarity",
    "split_classes",
    "triplet_ranks",
    "verification_scores",
]
