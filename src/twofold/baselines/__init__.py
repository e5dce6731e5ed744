"""The methods that Twofold is compared with, behind the same interface."""

from twofold.baselines._pair_trained import SiameseLearner, TripletLearner

__all__ = ["SiameseLearner", "TripletLearner"]
