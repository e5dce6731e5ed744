"""The methods that Twofold is compared with, behind the same interface."""

from twofold.baselines._batch_loss_learner import BatchLossLearner
from twofold.baselines._classifier import ClassifierLearner
from twofold.baselines._fixed_targets import FixedTargetLearner
from twofold.baselines._itml import ITMLLearner
from twofold.baselines._linear_codes import ITQLearner, LSHLearner
from twofold.baselines._linear_nca import NCALearner
from twofold.baselines._lmnn import LMNNLearner
from twofold.baselines._network_codes import FixedCodeLearner, SiameseCodeLearner
from twofold.baselines._nonlinear_nca import NonlinearNCALearner
from twofold.baselines._raw import RawFeatures
from twofold.baselines._siamese import SiameseLearner
from twofold.baselines._triplet import TripletLearner
from twofold.baselines._two_step_codes import TwoStepCodeLearner

__all__ = [
    "BatchLossLearner",
    "ClassifierLearner",
    "FixedCodeLearner",
    "FixedTargetLearner",
    "ITMLLearner",
    "ITQLearner",
    "LMNNLearner",
    "LSHLearner",
    "NCALearner",
    "NonlinearNCALearner",
    "RawFeatures",
    "SiameseCodeLearner",
    "SiameseLearner",
    "TripletLearner",
    "TwoStepCodeLearner",
]
