"""Phase 1: a target vector for every item, from the relation alone.

A relation comes in, points go out; features are unknown here. Labels with the dot-product loss
have an exact answer; explicit pairs and triplets are solved by Adam over their edges. Targets of a
part of the statements also score the others: the gauge, and which statements are suspicious.
"""

from twofold.targets._codes import CodeSolution, solve_codes
from twofold.targets._codewords import codewords
from twofold.targets._cross_validation import cross_validated_similarity
from twofold.targets._gauge import (
    DECIDING_AUROC,
    Gauge,
    GaugePoint,
    gauge_targets,
    pairs_decide,
)
from twofold.targets._losses import ContrastiveLoss, DotLoss, PairLoss, TripletLoss
from twofold.targets._near_points import TargetSolver, target_solver
from twofold.targets._pair_codes import PairBits, random_signs
from twofold.targets._parameters import Named, Targets, as_targets, resolve_grade
from twofold.targets._refined_bits import BitMap, refine_bits
from twofold.targets._rotation import rotate_to_binary, signs_of
from twofold.targets._simplex import simplex_vertices
from twofold.targets._solution import TargetRows, TargetSolution
from twofold.targets._solve import solve_targets
from twofold.targets._standardise import standardise_solution, standardise_targets
from twofold.targets._suspicion import SuspiciousPairs, rank_suspicious, suspicion

__all__ = [
    "DECIDING_AUROC",
    "BitMap",
    "CodeSolution",
    "ContrastiveLoss",
    "DotLoss",
    "Gauge",
    "GaugePoint",
    "Named",
    "PairBits",
    "PairLoss",
    "SuspiciousPairs",
    "TargetRows",
    "TargetSolution",
    "TargetSolver",
    "Targets",
    "TripletLoss",
    "as_targets",
    "codewords",
    "cross_validated_similarity",
    "gauge_targets",
    "pairs_decide",
    "random_signs",
    "rank_suspicious",
    "refine_bits",
    "resolve_grade",
    "rotate_to_binary",
    "signs_of",
    "simplex_vertices",
    "solve_codes",
    "solve_targets",
    "standardise_solution",
    "standardise_targets",
    "suspicion",
    "target_solver",
]
