"""Decisions on pairs of records: candidates, a model of their columns, one to one, groups."""

from twofold.matching._assignment import one_to_one
from twofold.matching._candidates import candidate_pairs
from twofold.matching._embedding_evidence import EMBEDDING_NAMES, embedding_evidence
from twofold.matching._groups import group_pairs
from twofold.matching._pair_classifier import GIVEN, PairClassifier

__all__ = [
    "EMBEDDING_NAMES",
    "GIVEN",
    "PairClassifier",
    "candidate_pairs",
    "embedding_evidence",
    "group_pairs",
    "one_to_one",
]
