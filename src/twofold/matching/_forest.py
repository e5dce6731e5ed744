"""A forest of regression trees as plain arrays: what boosting fitted, without its library.

It is evaluated here, so a model opens where no boosting library is installed, and nothing but
numbers is read from a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from twofold._core.threads import Workers, allowed_threads

LEAF = -1
LARGEST = float(np.float32(1e30))
"""What similarities are clipped to, so that thresholds and files of models stay within it too."""
ROWS_A_PART = 4096
"""Rows that a thread scores at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees whose leaves add up to a score.

    Attributes
    ----------
    roots : ndarray of int32, shape (n_trees,)
        The node that each tree begins at.
    feature : ndarray of int32, shape (n_nodes,)
        What a node asks for, -1 at a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        A row goes left if its value is at most this.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether it goes left if its value is missing (NaN).
    left, right : ndarray of int32, shape (n_nodes,)
        The next node, always of a higher number; -1 at a leaf.
    value : ndarray of float64, shape (n_nodes,)
        What a leaf adds to the score; at other nodes the mean over the training rows below it.
    base : float
        The score of no tree.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    base: float

    def score(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the score of each row: base + Σ leaves. O(n_rows · n_trees · depth)."""
        scores = np.full(len(X), self.base)

        def add(first: int) -> None:
            part = slice(first, first + ROWS_A_PART)
            _add_leaves(X[part], scores[part], *self._arrays())

        with Workers(allowed_threads()) as workers:
            workers.run(add, [(first,) for first in range(0, len(X), ROWS_A_PART)])
        return scores

    def contributions(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each feature added to each row's score, and the rest in a last column.

        A node's question moves the expected score from its own mean to that of the child that the
        row goes to; the difference is the contribution of its feature. Rows add up to `score`.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_features + 1)
        """
        added: NDArray[np.float64] = _contributions(X, self.base, *self._arrays())
        return added

    def _arrays(self) -> tuple[NDArray[np.generic], ...]:
        return (
            self.roots,
            self.feature,
            self.threshold,
            self.missing_left,
            self.left,
            self.right,
            self.value,
        )


def join_forests(forests: list[Forest], share: float) -> Forest:
    """Return one forest whose score is `share` times the sum of several forests' scores."""
    offsets = np.cumsum([0] + [len(forest.feature) for forest in forests])[:-1]

    def moved(name: str) -> NDArray[np.int32]:
        arrays = [getattr(forest, name) for forest in forests]
        shifted = [
            np.where(array == LEAF, LEAF, array + offset)
            for array, offset in zip(arrays, offsets, strict=True)
        ]
        return np.concatenate(shifted).astype(np.int32)

    def joined(name: str) -> NDArray[np.generic]:
        return np.concatenate([getattr(forest, name) for forest in forests])

    return Forest(
        roots=moved("roots"),
        feature=joined("feature").astype(np.int32),
        threshold=joined("threshold").astype(np.float64),
        missing_left=joined("missing_left").astype(np.bool_),
        left=moved("left"),
        right=moved("right"),
        value=joined("value").astype(np.float64) * share,
        base=share * sum(forest.base for forest in forests),
    )


@njit(cache=True, nogil=True)
def _next(
    row: Any, node: Any, feature: Any, threshold: Any, missing_left: Any, left: Any, right: Any
) -> Any:
    value = row[feature[node]]
    goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
    return left[node] if goes_left else right[node]


@njit(cache=True, nogil=True)
def _add_leaves(
    X: Any,
    out: Any,
    roots: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
    left: Any,
    right: Any,
    value: Any,
) -> None:
    for tree in range(len(roots)):
        for row in range(len(X)):
            node = roots[tree]
            while feature[node] != LEAF:
                node = _next(X[row], node, feature, threshold, missing_left, left, right)
            out[row] += value[node]


@njit(cache=True, nogil=True)
def _contributions(
    X: Any,
    base: Any,
    roots: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
    left: Any,
    right: Any,
    value: Any,
) -> Any:
    out = np.zeros((len(X), X.shape[1] + 1))
    out[:, -1] = base
    for tree in range(len(roots)):
        for row in range(len(X)):
            node = roots[tree]
            out[row, -1] += value[node]
            while feature[node] != LEAF:
                following = _next(X[row], node, feature, threshold, missing_left, left, right)
                out[row, feature[node]] += value[following] - value[node]
                node = following
    return out
