"""The methods that Twofold is compared with, behind the same interface."""

from twofold.baselines._siamese import SiameseLearner
from twofold.baselines._triplet import TripletLearner

__all__ = ["SiameseLearner", "TripletLearner"]
