"""Statements split into folds, so that none is scored by a fit that has seen it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold._core.random import RandomState, as_generator
from twofold.relations._pair_checks import pair_keys
from twofold.relations._pairs import PairRelation, check_pair_relation


class TooFewPairsError(ValueError):
    """There are too few statements, or too few kinds of them, for cross-validation."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One part of a relation's statements, and all the others.

    Attributes
    ----------
    held_out : ndarray of int64, shape (n_held_out,)
        Rows of the statements that are held out.
    kept : PairRelation
        All other statements, over the same items; none is about a pair of items held out.
    """

    held_out: NDArray[np.int64]
    kept: PairRelation


def split_folds(
    relation: PairRelation, n_folds: int = 5, random_state: RandomState = None
) -> list[Fold]:
    """Split statements at random into folds, each held out once.

    All statements about the same two items, in either order, are in one fold. Both kinds are spread
    evenly.

    Parameters
    ----------
    relation : PairRelation
        Statements about at least `n_folds` different pairs of each kind, above and below one half,
        so that every fold can be scored.
    n_folds : int
        Number of folds, at least two.
    random_state : int, Generator or None
        Seed of the split.
    """
    check_pair_relation(relation)
    n_folds = check_count("n_folds", n_folds, minimum=2)
    rng = as_generator(random_state)
    keys = pair_keys(relation.left, relation.right, relation.n_items)
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    # Two kinds of certain statements; of the third, just one half, there may be none.
    side = np.sign(relation.similar[first] - 0.5)
    _refuse_too_few(side, n_folds)
    shuffled = rng.permutation(first.size)
    by_side = shuffled[np.argsort(side[shuffled], kind="stable")]
    fold_of_pair = np.empty(first.size, dtype=np.int64)
    fold_of_pair[by_side] = np.arange(first.size) % n_folds
    fold = fold_of_pair[pair]
    return [
        Fold(np.flatnonzero(fold == number), relation.take_pairs(fold != number))
        for number in range(n_folds)
    ]


def _refuse_too_few(side: NDArray[np.float32], n_folds: int) -> None:
    for sign, kind in ((1, "alike"), (-1, "not alike")):
        n_pairs = int(np.count_nonzero(side == sign))
        if n_pairs < n_folds:
            raise TooFewPairsError(
                f"Cross-validation in {n_folds} folds needs at least {n_folds} different pairs of "
                f"each kind, but {n_pairs} {'is' if n_pairs == 1 else 'are'} {kind}: add more of "
                "them."
            )
