"""Folds of pairs that keep items apart, and what a model says of pairs it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Places of the pairs to fit to, and of those that are scored."""


def item_folds(
    pairs: NDArray[np.int64],
    y: NDArray[np.int64],
    n_folds: int,
    rng: np.random.Generator,
    *,
    one_table: bool = False,
) -> Iterator[Fold]:
    """Give the pairs to fit to and those to score, once per fold.

    Items that alike pairs join, directly or over others, are one thing and stay in one fold. A pair
    is scored in the fold of its left item, by a model that was fitted to no pair with an item of
    that fold; so each pair is scored once, and both items of an alike pair are new to the model.

    Parameters
    ----------
    pairs : ndarray of int64, shape (n_pairs, 2)
        Rows.
    y : ndarray of int64, shape (n_pairs,)
        1 for alike.
    n_folds : int
        How many.
    rng : Generator
        Deals the things out.
    one_table : bool
        Whether left and right rows mean the same table.

    Yields
    ------
    kept, held_out : ndarray of int64
        Rows of `pairs`. A fold without pairs to score is left out.
    """
    left, right = pairs.T
    n_left = int(left.max()) + 1
    right = right if one_table else right + n_left
    n_items = int(max(left.max(), right.max())) + 1
    alike = y == 1
    links = coo_array(
        (np.ones(int(alike.sum())), (left[alike], right[alike])), shape=(n_items, n_items)
    )
    n_things, thing = connected_components(links, directed=False)
    fold = rng.permutation(n_things) % n_folds
    left_fold, right_fold = fold[thing[left]], fold[thing[right]]
    for number in range(n_folds):
        held_out = np.flatnonzero(left_fold == number)
        kept = np.flatnonzero((left_fold != number) & (right_fold != number))
        if held_out.size:
            yield kept, held_out


def out_of_fold(
    fit_score: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]],
    folds: Iterable[Fold],
    y: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the scores of all pairs, each by a model that was not fitted to its items.

    NaN where a fold had only one kind of pair to fit to.
    """
    scores = np.full(len(y), np.nan)
    for kept, held_out in folds:
        if len(np.unique(y[kept])) == 2:
            scores[held_out] = fit_score(kept, held_out)
    return scores


def describe_out_of_fold(
    describe: Callable[[NDArray[np.int64], NDArray[np.int64]], ArrayLike],
    folds: Iterable[Fold],
    y: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return similarities of all pairs, each learnt without its items: (n_pairs, n_given).

    NaN for a pair whose fold had only one kind of pair to learn from; without folds, no column.
    """
    columns = np.empty((len(y), 0))
    for kept, held_out in folds:
        if len(np.unique(y[kept])) < 2:
            continue
        values = np.asarray(describe(kept, held_out), dtype=np.float64).reshape(len(held_out), -1)
        if not columns.shape[1]:
            columns = np.full((len(y), values.shape[1]), np.nan)
        columns[held_out] = values
    return columns
