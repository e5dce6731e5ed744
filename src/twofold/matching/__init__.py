"""Decisions on pairs of records: candidates, similarities by column, and a model of them."""

from twofold.matching._candidates import candidate_pairs
from twofold.matching._comparison import HeldOutComparison, compare_on_held_out
from twofold.matching._pair_classifier import PairClassifier

__all__ = ["HeldOutComparison", "PairClassifier", "candidate_pairs", "compare_on_held_out"]
