"""`suggest`: from an embedding and its statements to the pairs to ask about next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count, check_equal_lengths, check_item_ids
from twofold._core.warnings import RelationWarning, warn_user
from twofold.asking._calibration import Points, Refit, fit_calibration
from twofold.asking._candidate_pairs import Pairs, drop_known, propose_pairs
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
        Their items, as rows of what was learnt from.
    probability : ndarray of float32, shape (n_pairs,)
        That they are alike, as if the stated pairs had been drawn at random: where these hold more
        alike ones than there are, it is too high.
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
    """Return the pairs to ask about next.

    Parameters
    ----------
    n : int
        How many.
    X : n_items rows
        Features.
    known : PairRelation
        What is stated of their rows.
    points : ndarray of float32, shape (n_items, dim)
        Their embedding.
    metric : {"euclidean", "dot", "cosine"}
        How points are compared.
    refit : callable (PairRelation) -> points, or None
        See `fit_calibration`.
    candidates : array_like of int, shape (n_candidates, 2), a pair of arrays, or None
        The pairs that may be asked about; any by default.
    rng : Generator
        Of all that is random.
    """
    n = check_count("n", n)
    stated = np.flatnonzero(known.linked)
    if candidates is None:
        pairs = propose_pairs(points, stated, metric, n, rng)
    else:
        pairs = _check_candidates(candidates, known.n_items)
    left, right = drop_known(pairs, known, equal_rows(X))
    calibration = fit_calibration(known, points, metric, refit, rng)
    probability = calibration.probability(pair_similarity(points, left, right, metric))
    n_stated = np.bincount(np.concatenate([known.left, known.right]), minlength=known.n_items)
    chosen = choose_pairs(left, right, probability, n_stated, n, rng)
    if len(chosen) < n:
        warn_user(
            f"Only {len(chosen)} of the {n} pairs asked for are suggested: nothing else that may "
            "be asked is unknown.",
            RelationWarning,
        )
    return Suggestions(left[chosen], right[chosen], probability[chosen])


def _check_candidates(candidates: Any, n_items: int) -> Pairs:
    """Return the pairs that may be asked about, as two arrays."""
    if isinstance(candidates, tuple) and len(candidates) == 2:
        table = [np.asarray(ends) for ends in candidates]
    else:
        columns = np.asarray(candidates)
        if columns.ndim != 2 or columns.shape[1] != 2:
            raise ValueError(
                f"candidates must have shape (n_candidates, 2), got {columns.shape}; or pass two "
                "arrays, left and right."
            )
        table = [columns[:, 0], columns[:, 1]]
    left = check_item_ids("left of candidates", table[0], n_items)
    right = check_item_ids("right of candidates", table[1], n_items)
    check_equal_lengths(left=left, right=right)
    return left, right
