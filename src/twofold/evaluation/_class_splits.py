"""Whole classes held out: what is learnt from some kinds is scored on kinds never seen.

Labels come in, rows to learn from and rows to score come out. No class is ever on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length

from twofold._core.checks import check_count, check_number
from twofold._core.classes import is_matrix
from twofold._core.random import RandomState, as_generator
from twofold.evaluation._labels import encode_indicator, encode_known_classes
from twofold.evaluation._relevance import class_membership

Rows = NDArray[np.int64]

MIN_CLASSES = 2
"""On either side: one class alone has no pair of items that are not alike."""


def split_classes(
    labels: Any, held_out: float | int = 0.2, random_state: RandomState = None
) -> tuple[Rows, Rows]:
    """Hold out whole classes, drawn at random, with all their items.

    Each side has at least two classes. An item of unknown class is on neither side. Items with
    several labels are held out if all their labels are, and kept if none is; items with labels of
    both kinds, or without a label, are on neither side.

    Parameters
    ----------
    labels : array_like of shape (n_items,), or array or sparse matrix (n_items, n_labels)
        Classes, at least four, where -1, NaN or None means unknown; or a 0/1 matrix.
    held_out : float or int
        The share of the classes to hold out, in (0, 1), rounded; or their number.
    random_state : int, Generator or None
        Draws the classes that are held out.

    Returns
    -------
    kept, held_out : ndarray of int64
        Rows to learn from and rows of classes never seen, each in ascending order.
    """
    rng = as_generator(random_state)
    membership = _membership(labels)
    classes = _check_enough_classes(membership)
    n_held_out = _check_held_out(held_out, classes.size)
    drawn = rng.permutation(classes)[:n_held_out]
    return _split(membership, drawn, "draw others with another random_state, or another share")


@dataclass(frozen=True, slots=True)
class ClassFold:
    """A scikit-learn splitter that holds out whole classes, each in one fold.

    Pass it where scikit-learn takes ``cv=``. Unknown classes and several labels are treated as in
    `split_classes`.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2; there must be at least twice as many classes.
    shuffle : bool
        Whether to assign classes to folds at random instead of in sorted order.
    random_state : int, Generator or None
        Seed of the shuffle.
    """

    n_splits: int = 5
    shuffle: bool = False
    random_state: RandomState = None

    def __post_init__(self) -> None:
        check_count("n_splits", self.n_splits, minimum=2)
        as_generator(self.random_state)
        if self.random_state is not None and not self.shuffle:
            raise ValueError("random_state has no effect without shuffling: set shuffle=True.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows to learn from and the rows of classes held out, once for each fold.

        Parameters
        ----------
        X : n_items rows
            Features, of which only the number of rows matters.
        y : array_like of shape (n_items,), or array or sparse matrix (n_items, n_labels)
            Classes, or a 0/1 matrix.
        groups : object
            Not used.
        """
        if y is None:
            raise ValueError("ClassFold holds out whole classes: pass them as y.")
        membership = _membership(y)
        check_consistent_length(X, membership)
        classes = _check_enough_classes(membership)
        if classes.size < MIN_CLASSES * self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs at least {MIN_CLASSES * self.n_splits} classes, "
                f"{MIN_CLASSES} per fold, but there are {classes.size}: set n_splits to at most "
                f"{classes.size // MIN_CLASSES}."
            )
        if self.shuffle:
            classes = as_generator(self.random_state).permutation(classes)
        for fold in np.array_split(classes, self.n_splits):
            yield _split(membership, fold, "use fewer folds, or shuffle with another random_state")


def _membership(labels: Any) -> sparse.csr_array:
    """Return ones at each item's labels, shape (n_items, n_labels); none where it is unknown."""
    if is_matrix(labels):
        return encode_indicator("labels", labels)
    classes = encode_known_classes("labels", labels)
    is_known = classes >= 0
    known = class_membership(classes[is_known], np.ones(int(is_known.sum())))
    starts = np.concatenate([[0], np.cumsum(is_known)])
    return sparse.csr_array(
        (known.data, known.indices, starts), shape=(len(classes), known.shape[1])
    )


def _check_enough_classes(membership: sparse.csr_array) -> NDArray[np.int64]:
    """Return the classes that items have, refusing those too few to be held out."""
    classes = np.unique(membership.indices).astype(np.int64)
    if classes.size < 2 * MIN_CLASSES:
        raise ValueError(
            f"Holding out whole classes needs at least {2 * MIN_CLASSES}, {MIN_CLASSES} on each "
            f"side, but there are {classes.size}: hold out items instead, for instance with "
            "sklearn.model_selection.StratifiedKFold."
        )
    return classes


def _check_held_out(held_out: Any, n_classes: int) -> int:
    """Return how many classes are held out."""
    most = n_classes - MIN_CLASSES
    if isinstance(held_out, float | np.floating):
        share = check_number("held_out", float(held_out), 0, strict=True)
        if share >= 1:
            raise ValueError(
                f"held_out must be a share below 1 or a whole number of classes, got {share:g}."
            )
        return int(np.clip(round(share * n_classes), MIN_CLASSES, most))
    count = check_count("held_out", held_out, minimum=MIN_CLASSES)
    if count > most:
        raise ValueError(
            f"held_out={count} of {n_classes} classes leaves fewer than {MIN_CLASSES} to learn "
            f"from: hold out at most {most}."
        )
    return count


def _split(
    membership: sparse.csr_array, drawn: NDArray[np.int64], way_out: str
) -> tuple[Rows, Rows]:
    """Return the rows that have none of the drawn labels, and those that have no others."""
    is_drawn = np.zeros(membership.shape[1])
    is_drawn[drawn] = 1.0
    n_labels = np.diff(membership.indptr)
    n_drawn = membership @ is_drawn
    kept = np.flatnonzero((n_drawn == 0) & (n_labels > 0))
    held_out = np.flatnonzero((n_drawn == n_labels) & (n_labels > 0))
    for rows, side in ((kept, "without a held-out label"), (held_out, "with no other label")):
        n_classes = np.unique(membership[rows].indices).size
        if n_classes < MIN_CLASSES:
            raise ValueError(
                f"With {drawn.size} labels held out, the {rows.size} item(s) {side} have "
                f"{n_classes} label(s) in total, but at least {MIN_CLASSES} are needed: {way_out}."
            )
    return kept, held_out
