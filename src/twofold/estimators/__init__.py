"""The learners: features and a relation in, an embedding out. Here the steps meet."""

from twofold.estimators._code_learner import CodeLearner
from twofold.estimators._embedding_learner import EmbeddingLearner
from twofold.estimators._hash_learner import HashLearner
from twofold.estimators._loading import load
from twofold.estimators._metric_learner import MetricLearner
from twofold.estimators._pair_metric_learner import PairMetricLearner
from twofold.estimators._pair_metric_learner_supervised import PairMetricLearnerSupervised
from twofold.estimators._plan import Plan
from twofold.estimators._together import refuse_different_data

__all__ = [
    "CodeLearner",
    "EmbeddingLearner",
    "HashLearner",
    "MetricLearner",
    "PairMetricLearner",
    "PairMetricLearnerSupervised",
    "Plan",
    "load",
    "refuse_different_data",
]
