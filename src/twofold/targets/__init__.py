"""Phase 1: a target vector for every item, from the relation alone.

A relation comes in, points go out; features are unknown here. Labels with the dot-product loss
have an exact answer; explicit pairs and triplets are solved by Adam over their edges.
"""

from twofold.targets._losses import ContrastiveLoss, DotLoss, PairLoss, TripletLoss
from twofold.targets._solution import TargetSolution
from twofold.targets._solve import solve_targets
from twofold.targets._standardise import standardise_targets

__all__ = [
    "ContrastiveLoss",
    "DotLoss",
    "PairLoss",
    "TargetSolution",
    "TripletLoss",
    "solve_targets",
    "standardise_targets",
]
