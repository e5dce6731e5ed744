"""`suggest`: from an embedding and its statements to the pairs to ask about next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count, check_equal_lengths, check_pairs
from twofold._core.warnings import RelationWarning, warn_user
from twofold.asking._calibration import Points, Refit, calibrate_similarity
from twofold.asking._candidate_pairs import drop_known, propose_pairs
from twofold.asking._choice import choose_pairs
from twofold.evaluation import Metric, pair_similarity
from twofold.regression import equal_rows
from twofold.relations import PairRelation


@dataclass(frozen=True, slots=True, eq=False)
class Suggestions:
    """Pairs to ask about, those likely alike first.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Their items, as rows of the training data.
    probability : ndarray of float32, shape (n_pairs,)
        That they are alike, assuming that the stated pairs were drawn at random; it is too high if
        alike pairs are more frequent among these than among all pairs.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    probability: NDArray[np.float32]

    def __len__(self) -> int:
        return self.left.size


def suggest(
    n: int,
    X: Any,
    known: PairRelation,
    points: Points,
    metric: Metric,
    refit: Refit | None,
    candidates: Any,
    rng: np.random.Generator,
) -> Suggestions:
    """Return the pairs to ask about next; see `MetricLearner.suggest_pairs`.

    `known` is what is stated of the rows of `X`, whose embedding is `points`; `refit` fits that
    again, and is None if it learnt from no statement.
    """
    n = check_count("n", n)
    if candidates is None:
        pairs = propose_pairs(points, known.linked, metric, n, rng)
    else:
        if isinstance(candidates, tuple) and len(candidates) == 2:
            check_equal_lengths(left=candidates[0], right=candidates[1])
            candidates = np.column_stack(candidates)
        pairs = check_pairs("candidates", candidates, known.n_items)
    left, right = drop_known(pairs, known, equal_rows(X))
    calibration = calibrate_similarity(known, points, metric, refit, rng)
    probability = calibration.probability(pair_similarity(points, left, right, metric))
    n_stated = np.bincount(np.concatenate([known.left, known.right]), minlength=known.n_items)
    chosen = choose_pairs(left, right, probability, n_stated, n, rng)
    if len(chosen) < n:
        warn_user(
            f"Only {len(chosen)} of the {n} pairs asked for are suggested: the answers to all "
            "others are known already.",
            RelationWarning,
        )
    return Suggestions(left[chosen], right[chosen], probability[chosen])
