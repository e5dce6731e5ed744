"""Pairs held out with their items: what is learnt from some items is scored on pairs of others.

Pairs come in, rows to learn from and rows to score come out. No item is ever on both sides, as it
often would be if pairs were parted at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.utils import check_consistent_length

from twofold._core.checks import as_array, check_count
from twofold._core.random import RandomState, as_generator

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairFolds:
    """A scikit-learn splitter of pairs that keeps items apart.

    Pass it where scikit-learn takes ``cv=``, for instance with `PairMetricLearner`. Items are
    assigned to folds, where possible such that the items of a pair are in the same fold. A fold is
    scored on the pairs that have both items in it, and pairs without an item of the fold are learnt
    from. All other pairs are in neither part. If pairs are drawn at random from many items, few
    have both in one fold: the fewer the folds, the more pairs are scored.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    two_tables : bool
        Whether the left and the right items are from two tables, so that equal ids are different
        items.
    random_state : int, Generator or None
        Determines where the assignment begins.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [2, 3]])
    >>> for train, test in PairFolds(2, random_state=0).split(pairs):
    ...     assert not set(pairs[train].ravel()) & set(pairs[test].ravel())
    """

    n_splits: int = 5
    two_tables: bool = False
    random_state: RandomState = 0

    def __post_init__(self) -> None:
        check_count("n_splits", self.n_splits, minimum=2)
        as_generator(self.random_state)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows to learn from and the rows to score, once for each fold.

        Parameters
        ----------
        X : array_like, shape (n_pairs, 2) or (n_pairs, 2, n_features)
            Item ids of any type, or two feature vectors per pair: equal vectors are the same item.
        y : array_like, shape (n_pairs,), optional
            Statements about the pairs. If there are two different values, every part must have
            both.
        groups : array_like, shape (n_pairs, 2), optional
            Item ids, where `X` holds features.
        """
        ends, n_items = self._ends(X, groups)
        labels = None if y is None else as_array("y", y)
        if labels is not None:
            check_consistent_length(ends, labels)
        fold_of = _deal(ends, n_items, self.n_splits, as_generator(self.random_state))
        for fold in range(self.n_splits):
            is_scored = (fold_of[ends] == fold).all(axis=1)
            is_new = np.zeros(n_items, dtype=bool)
            is_new[ends[is_scored]] = True
            parts = np.flatnonzero(~is_new[ends].any(axis=1)), np.flatnonzero(is_scored)
            self._refuse_one_sided(fold, labels, *parts)
            yield parts

    def _ends(self, X: Any, groups: Any) -> tuple[Rows, int]:
        """Return the numbers of both items of each pair, and how many items there are."""
        table = as_array("pairs", X) if groups is None else as_array("groups", groups)
        wanted = "groups" if groups is not None else "pairs"
        if table.ndim < 2 or table.shape[1] != 2 or (groups is not None and table.ndim > 2):
            raise ValueError(
                f"{wanted} must have two items per row, shape (n_pairs, 2), got shape "
                f"{table.shape}."
            )
        check_consistent_length(X, table)
        n_pairs = len(table)
        if table.ndim == 2:
            numbers = [np.unique(table[:, side], return_inverse=True) for side in (0, 1)]
            if self.two_tables:
                (left, left_of), (right, right_of) = numbers
                ends = np.column_stack([left_of, right_of + len(left)])
                return ends.astype(np.int64), len(left) + len(right)
            items, number = np.unique(table, return_inverse=True)
        else:
            items, number = np.unique(table.reshape(2 * n_pairs, -1), axis=0, return_inverse=True)
        return number.reshape(n_pairs, 2).astype(np.int64), len(items)

    def _refuse_one_sided(
        self, fold: int, labels: NDArray[Any] | None, train: Rows, test: Rows
    ) -> None:
        for rows, what in ((test, "to score"), (train, "to learn from")):
            lacks = "no pair"
            if labels is not None and rows.size:
                missing = np.setdiff1d(labels, labels[rows])
                lacks = f"no pair with y = {missing[0]!r}" if missing.size else ""
            elif rows.size:
                lacks = ""
            if lacks:
                raise ValueError(
                    f"Fold {fold + 1} of {self.n_splits} has {lacks} {what}: too few pairs are "
                    "between items of the same fold. Use fewer folds, or more pairs."
                )


def _deal(ends: Rows, n_items: int, n_folds: int, rng: np.random.Generator) -> Rows:
    """Return the fold of each item: items that pairs join stand near each other in the order.

    The order is reverse Cuthill-McKee's, in which each connected part is in one piece; it is cut
    where the items so far have their share of all ends of pairs.
    """
    shuffled = rng.permutation(n_items)
    left, right = shuffled[ends].T
    ones = np.ones(len(ends), dtype=np.int32)
    graph = sparse.csr_array((ones, (left, right)), shape=(n_items, n_items))
    order = reverse_cuthill_mckee(sparse.csr_matrix(graph + graph.T), symmetric_mode=True)
    n_ends = np.bincount(shuffled[ends].ravel(), minlength=n_items)[order]
    before = np.cumsum(n_ends) - n_ends
    fold_of = np.empty(n_items, dtype=np.int64)
    fold_of[order] = before * n_folds // n_ends.sum()
    return fold_of[shuffled]
