"""Statements turned around on purpose, and how well they are found again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from benchmarks.figures import Figure
from benchmarks.relations import why_no_data
from benchmarks.sparse_pairs import PROBLEMS
from twofold import LabelRelation, PairRelation, RelationWarning
from twofold.experiments import inspect_pairs

TITLE = "Flipped pairs: average precision of their suspicion"
SEEDS = 5
SHARE = 0.05
SETTING = {
    "seeds": SEEDS,
    "flipped": f"{SHARE:.0%} of all statements, at random",
    "digits": "all 1,797, 10 similar and 10 dissimilar partners an item, without features",
    "dblp-acm": "the training part's 7,417 pairs, with the features of few_pairs",
    "suspicion": "as `twofold inspect` ranks it, of every statement by what the others say",
}
LEAST = {"digits": 0.9, "dblp-acm": 0.5}


def why_not() -> str | None:
    return why_no_data()


def measure() -> list[Figure]:
    precisions = {name: [] for name in LEAST}
    for seed in range(SEEDS):
        for name, relation, features in _subjects(seed):
            precisions[name].append(_precision(relation, features, seed))
            print(name, seed, f"{precisions[name][-1]:.4f}", flush=True)
    return [
        Figure(
            f"{name}: average precision",
            float(np.mean(values)),
            LEAST[name],
            note=f"± {np.std(values, ddof=1) / np.sqrt(SEEDS):.4f}; chance {SHARE}",
        )
        for name, values in precisions.items()
    ]


def _subjects(seed: int) -> Iterator[tuple[str, PairRelation, NDArray[np.float32] | None]]:
    digits = LabelRelation(load_digits().target).sample_pairs(random_state=seed)
    yield "digits", digits, None
    records = PROBLEMS["dblp-acm"](seed)
    assert isinstance(records.relation, PairRelation)
    yield "dblp-acm", records.relation, records.train


def _precision(pairs: PairRelation, features: NDArray[np.float32] | None, seed: int) -> float:
    wrong = np.random.default_rng(seed).random(pairs.n_pairs) < SHARE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # some are now stated both ways
        similar = np.where(wrong, 1 - pairs.similar, pairs.similar)
        relation = PairRelation(pairs.left, pairs.right, similar, pairs.n_items)
        inspected = inspect_pairs(
            relation, features, n_suspicious=relation.n_pairs, random_state=seed
        )
    suspicion = np.zeros(relation.n_pairs)
    for one in inspected.suspects:
        suspicion[one.row] = one.suspicion
    return float(average_precision_score(wrong, suspicion))
