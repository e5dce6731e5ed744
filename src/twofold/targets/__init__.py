"""Phase 1: a target vector for every item, from the relation alone.

A relation comes in, points go out; features are unknown here. Labels with the dot-product loss
have an exact answer; explicit pairs and triplets are solved by Adam over their edges. Targets of a
part of the statements also score the others: the gauge, and which statements are suspicious.
"""

from twofold.targets._cross_validation import cross_validated_similarity
from twofold.targets._gauge import DECIDING_AUROC, Gauge, GaugePoint, gauge_targets
from twofold.targets._losses import ContrastiveLoss, DotLoss, PairLoss, TripletLoss
from twofold.targets._near_points import TargetSolver, target_solver
from twofold.targets._parameters import Named, Targets, as_targets, resolve_grade
from twofold.targets._simplex import simplex_vertices
from twofold.targets._solution import TargetRows, TargetSolution
from twofold.targets._solve import solve_targets
from twofold.targets._standardise import standardise_solution, standardise_targets
from twofold.targets._suspicion import SuspiciousPairs, rank_suspicious, suspicion

__all__ = [
    "DECIDING_AUROC",
    "ContrastiveLoss",
    "DotLoss",
    "Gauge",
    "GaugePoint",
    "Named",
    "PairLoss",
    "SuspiciousPairs",
    "TargetRows",
    "TargetSolution",
    "TargetSolver",
    "Targets",
    "TripletLoss",
    "as_targets",
    "cross_validated_similarity",
    "gauge_targets",
    "rank_suspicious",
    "resolve_grade",
    "simplex_vertices",
    "solve_targets",
    "standardise_solution",
    "standardise_targets",
    "suspicion",
    "target_solver",
]
