"""Two-step hashing as published: solve a bit from pairs, predict it by boosted trees, repeat.

Lin and others, "Fast Supervised Hashing with Decision Trees", 2014: the bits that follow are solved
with the ones that the trees predict, so that they make up for what these get wrong.
"""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from twofold._core.checks import check_count
from twofold._core.random import RandomState, as_generator
from twofold.estimators import CodeLearner
from twofold.regression import BitClassifiers, check_features, fit_bit_classifiers, survives_fork
from twofold.relations import LabelRelation, Relation, TripletRelation, as_relation
from twofold.targets import PairBits, random_signs


@dataclass(eq=False, repr=False)
class TwoStepCodeLearner(CodeLearner):
    """Two-step hashing: bits are first solved for from the pairs, then predicted by classifiers.

    Parameters
    ----------
    n_bits : int
        Of a code.
    n_similar, n_dissimilar : int
        Partners per item that are sampled from labels.
    embedder : "trees" or scikit-learn classifier
        Predicts a bit; "trees" are boosted trees from LightGBM (extra ``lightgbm``).
    random_state : int, Generator or None
        Of pairs, starts and trees.
    """

    n_bits: int = 64
    _: KW_ONLY
    n_similar: int = 10
    n_dissimilar: int = 10
    embedder: Any = "trees"
    random_state: RandomState = None

    @survives_fork
    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from pairs of the rows of `X`."""
        n_bits, rng = check_count("n_bits", self.n_bits), as_generator(self.random_state)
        X = check_features(self, X, reset=True)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        if isinstance(known, TripletRelation):
            raise TypeError(f"{type(self).__name__} learns from pairs or labels, not triplets.")
        if isinstance(known, LabelRelation):
            known = known.sample_pairs(self.n_similar, self.n_dissimilar, random_state=rng)
        began, models = time.perf_counter(), []
        items, bits = np.flatnonzero(known.linked), PairBits(known, n_bits)
        for number in range(n_bits):
            bits.solve(number, random_signs(known.n_items, rng))
            asked = (bits.bits[number] * bits.margins(number))[items, None]
            fitted = fit_bit_classifiers(self.embedder, X, asked, items, rng)
            predicted = np.where(fitted.predict(X)[:, 0] >= 0, np.float32(1), np.float32(-1))
            bits.set(number, predicted)
            models += fitted.models
        self.embedder_, self.n_components_ = BitClassifiers(models), n_bits
        self.metric_ = "hamming"
        self.timing_ = {"training": time.perf_counter() - began}
        self.history_ = {"codes": [bits.loss()]}
        self._forget_threshold()
        return self
