"""Twofold: metric learning from pairs at the price of plain regression.

Phase 1 turns statements about pairs into a target vector for every item (`solve_targets`); phase
2 is plain regression from features to targets.
"""

from twofold._core.threads import describe_threads
from twofold._core.warnings import RelationWarning, TargetWarning
from twofold.asking import Suggestions
from twofold.baselines import SiameseLearner, TripletLearner
from twofold.estimators import (
    MetricLearner,
    PairMetricLearner,
    PairMetricLearnerSupervised,
    load,
)
from twofold.regression import Network
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets import Targets, TargetSolution, solve_targets, standardise_targets

__version__ = "0.1.0"

__all__ = [
    "LabelRelation",
    "MetricLearner",
    "Network",
    "PairMetricLearner",
    "PairMetricLearnerSupervised",
    "PairRelation",
    "RelationWarning",
    "SiameseLearner",
    "Suggestions",
    "TargetSolution",
    "TargetWarning",
    "Targets",
    "TripletLearner",
    "TripletRelation",
    "__version__",
    "describe_threads",
    "load",
    "solve_targets",
    "standardise_targets",
]
