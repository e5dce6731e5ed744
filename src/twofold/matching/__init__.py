"""Decisions on pairs of records: similarities by column, and a model of them."""

from twofold.matching._pair_classifier import PairClassifier

__all__ = ["PairClassifier"]
