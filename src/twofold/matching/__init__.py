"""Decisions on pairs: a model of records' columns, pairs one to one, groups that do not chain."""

from twofold.matching._assignment import one_to_one
from twofold.matching._groups import group_pairs
from twofold.matching._pair_classifier import PairClassifier

__all__ = ["PairClassifier", "group_pairs", "one_to_one"]
