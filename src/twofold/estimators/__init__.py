"""The learners: features and a relation in, an embedding out. Here the two phases meet."""

from twofold.estimators._asking import Suggestions
from twofold.estimators._embedding_learner import EmbeddingLearner
from twofold.estimators._inputs import Relation, as_relation, check_features
from twofold.estimators._metric_learner import MetricLearner
from twofold.estimators._pair_metric_learner import PairMetricLearner
from twofold.estimators._persistence import load
from twofold.estimators._training_parameters import (
    check_validation_fraction,
    checkpoint_path,
    progress_callback,
    training_config,
)

__all__ = [
    "EmbeddingLearner",
    "MetricLearner",
    "PairMetricLearner",
    "Relation",
    "Suggestions",
    "as_relation",
    "check_features",
    "check_validation_fraction",
    "checkpoint_path",
    "load",
    "progress_callback",
    "training_config",
]
