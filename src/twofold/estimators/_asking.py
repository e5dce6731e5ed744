"""What to ask next: the pairs whose answers would help most, half of them likely alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count, check_equal_lengths, check_item_ids
from twofold._core.warnings import RelationWarning, warn_user
from twofold.estimators._candidates import Pairs, drop_known, propose_pairs
from twofold.estimators._likeness import fit_likeness
from twofold.estimators._updating import remembered
from twofold.evaluation import pair_similarity
from twofold.relations import TripletRelation

if TYPE_CHECKING:
    from twofold.estimators._metric_learner import MetricLearner

ALIKE_GOAL, UNALIKE_GOAL = 0.65, 0.35
"""Probabilities that the two halves should have. They matter little while both are in doubt: AUROC
on digits after 250 answers, six seeds of an older learner, always of what was learnt, was .944 with
these, .944 with .5 and .5, .940 with .75 and .25. With .5 and .5 neither half is likely alike."""
WORTH_OF_A_STATEMENT = 0.03
"""In probability: how far a pair may be off for every statement about its items. Answers that join
statements place items by one another: .955 on digits after 250 answers, the mean of five seeds;
.868 without it, .944 if three statements an item count at most, .926 if items in no statement come
first (an older learner, .967 with it)."""


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


def suggest_from(
    learner: MetricLearner, n: int, candidates: Any, rng: np.random.Generator
) -> Suggestions:
    """Suggest pairs: see `MetricLearner.suggest_pairs`."""
    n = check_count("n", n)
    X, known = remembered(learner, "suggest_pairs")
    if isinstance(known, TripletRelation):
        raise TypeError(
            "suggest_pairs says how likely pairs are alike; triplets, which this model was fitted "
            "to, only compare. Fit it to a PairRelation."
        )
    given = None if candidates is None else _check_candidates(candidates, known.n_items)
    points = np.asarray(learner.transform(X), dtype=np.float32)
    stated = np.flatnonzero(known.linked)
    pairs = propose_pairs(points, stated, learner.metric_, n, rng) if given is None else given
    left, right = drop_known(pairs, known, points)
    likeness = fit_likeness(learner, X, known, points, rng)
    similarity = pair_similarity(points, left, right, learner.metric_)
    probability = likeness.probability(similarity)
    n_stated = np.bincount(np.concatenate([known.left, known.right]), minlength=known.n_items)
    chosen = choose_pairs(left, right, probability, n_stated, n, rng)
    if len(chosen) < n:
        warn_user(
            f"Only {len(chosen)} of the {n} pairs asked for are suggested: nothing else that may "
            "be asked is unknown.",
            RelationWarning,
        )
    return Suggestions(left[chosen], right[chosen], probability[chosen])


def choose_pairs(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    probability: NDArray[np.float32],
    n_stated: NDArray[np.int64],
    n: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Choose half from those likely alike and half from the others, all in doubt.

    Items that something is stated of come first. None is asked about twice, unless there are too
    few. Where one half falls short, the other fills it up.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Pairs, each once.
    probability : ndarray of float32, shape (n_pairs,)
        That they are alike.
    n_stated : ndarray of int64, shape (n_items,)
        Statements about each item.
    n : int
        How many to choose.
    rng : Generator
        Decides between equals.

    Returns
    -------
    rows : ndarray of int64, shape (n,), or all if they are fewer
        The most probable first.
    """
    shuffled = rng.permutation(left.size)
    is_likely = probability[shuffled] >= 0.5
    far_off = np.abs(probability[shuffled] - np.where(is_likely, ALIKE_GOAL, UNALIKE_GOAL))
    far_off -= WORTH_OF_A_STATEMENT * (n_stated[left[shuffled]] + n_stated[right[shuffled]])
    order = shuffled[np.argsort(far_off, kind="stable")]
    likely = order[probability[order] >= 0.5]
    unlikely = order[probability[order] < 0.5]
    taken = _Taken(left, right)
    taken.add(likely, n - n // 2)
    taken.add(unlikely, n - len(taken.rows))
    taken.add(likely, n - len(taken.rows))
    taken.add(order, n - len(taken.rows), again=True)
    rows = np.array(taken.rows, dtype=np.int64)
    return rows[np.argsort(-probability[rows], kind="stable")]


class _Taken:
    """Pairs that were chosen, and their items."""

    def __init__(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        self._left = left
        self._right = right
        self._items: set[int] = set()
        self.rows: list[int] = []
        self._has = np.zeros(left.size, dtype=bool)

    def add(self, rows: NDArray[np.int64], n: int, again: bool = False) -> None:
        """Take the first `n` of some rows whose items are new; `again`: of all rows."""
        for row in rows.tolist():
            if n <= 0:
                return
            ends = {int(self._left[row]), int(self._right[row])}
            if self._has[row] or (not again and ends & self._items):
                continue
            self._items |= ends
            self._has[row] = True
            self.rows.append(row)
            n -= 1


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
