"""What is alike: statements about pairs, labels that imply them, and triplets.

A relation comes in as arrays and is checked once, in its constructor; every later stage takes it
as it is.
"""

from twofold.relations._chains import Contradiction, is_transitive
from twofold.relations._diagnosis import Diagnosis, diagnose
from twofold.relations._folds import Fold, TooFewPairsError, split_folds
from twofold.relations._given import (
    Relation,
    alike_by_sign,
    as_relation,
    is_classes,
    refuse_one_sided,
    stated_pairs,
)
from twofold.relations._item_folds import (
    ItemFold,
    Statements,
    hold_out_items,
    hold_out_statements,
    n_rarer,
)
from twofold.relations._labels import LabelRelation
from twofold.relations._pair_checks import pair_keys
from twofold.relations._pairs import PairRelation, check_pair_relation
from twofold.relations._patterns import LabelPatterns
from twofold.relations._statement_arrays import statement_arrays, statements_of
from twofold.relations._triplets import TripletRelation

__all__ = [
    "Contradiction",
    "Diagnosis",
    "Fold",
    "ItemFold",
    "LabelPatterns",
    "LabelRelation",
    "PairRelation",
    "Relation",
    "Statements",
    "TooFewPairsError",
    "TripletRelation",
    "alike_by_sign",
    "as_relation",
    "check_pair_relation",
    "diagnose",
    "hold_out_items",
    "hold_out_statements",
    "is_classes",
    "is_transitive",
    "n_rarer",
    "pair_keys",
    "refuse_one_sided",
    "split_folds",
    "stated_pairs",
    "statement_arrays",
    "statements_of",
]
