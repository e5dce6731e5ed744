"""How well the nearest training points tell what a test point is."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from twofold._core.checks import check_choice, check_count
from twofold.evaluation._labels import (
    check_one_label_each,
    check_same_labels,
    encode_classes,
    encode_indicator,
)
from twofold.evaluation._neighbours import nearest_indices
from twofold.evaluation._points import Metric, check_points, check_same_space

VOTE_NUMBERS = 2**22


def knn_accuracy(
    train_points: ArrayLike,
    train_labels: ArrayLike,
    test_points: ArrayLike,
    test_labels: ArrayLike,
    k: int = 5,
    metric: Metric = "euclidean",
) -> float:
    """Return the accuracy of predicting a test point's class by its `k` nearest training points.

    The class with the most votes is predicted, and in a tie the first in sorted order, as in
    scikit-learn's ``KNeighborsClassifier``. Of training points at equal distance, those with the
    lowest index count as nearer. Costs n_train · n_test · dim, in bounded memory.

    Parameters
    ----------
    train_points, test_points : array_like of float, shape (n_train, dim) and (n_test, dim)
        Finite points of one space; float32 or float64.
    train_labels, test_labels : array_like, shape (n_train,) and (n_test,)
        Classes: numbers, text, or objects that can be compared. A test class that no training
        point has is never predicted. Items of unknown class (-1, NaN, None) are refused.
    k : int
        Number of neighbours, at most n_train.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        Nearest is: smallest ‖a − b‖, largest a·b, or largest a·b / ‖a‖‖b‖ (0 for a zero vector), or
        fewest bits that differ, of codes packed into bytes.
    """
    train, test = _check_points(train_points, test_points, k, metric)
    train_codes, test_codes = encode_classes(train_labels=train_labels, test_labels=test_labels)
    check_one_label_each(train_points=len(train), train_labels=len(train_codes))
    check_one_label_each(test_points=len(test), test_labels=len(test_codes))
    nearest = nearest_indices(test, train, k, metric)
    n_classes = int(train_codes.max()) + 1
    size = max(1, VOTE_NUMBERS // max(n_classes, nearest.shape[1]))
    n_right = 0
    for first in range(0, len(nearest), size):
        votes = train_codes[nearest[first : first + size]]
        cells = np.arange(len(votes))[:, None] * n_classes + votes
        counts = np.bincount(cells.ravel(), minlength=len(votes) * n_classes)
        predicted = counts.reshape(-1, n_classes).argmax(axis=1)
        n_right += int(np.count_nonzero(predicted == test_codes[first : first + size]))
    return n_right / len(nearest)


def knn_jaccard(
    train_points: ArrayLike,
    train_labels: Any,
    test_points: ArrayLike,
    test_labels: Any,
    k: int = 5,
    metric: Metric = "euclidean",
) -> float:
    """Return the mean Jaccard index of true labels and labels predicted by `k` nearest neighbours.

    Binary relevance: a label is predicted where more than half of the neighbours have it. A test
    point scores |P ∩ T| / |P ∪ T| for predicted set P and true set T, and 1 if both are empty: the
    prediction is then entirely right. The same as scikit-learn's multi-output
    ``KNeighborsClassifier`` with ``jaccard_score(average="samples", zero_division=1)``. If items
    without a label should not count, leave them out beforehand.

    Parameters
    ----------
    train_points, test_points : array_like of float, shape (n_train, dim) and (n_test, dim)
        Finite points of one space; float32 or float64.
    train_labels, test_labels : array or sparse matrix, shape (n_train, n_labels) and (n_test, …)
        1 where the item has the label, else 0.
    k : int
        Number of neighbours, at most n_train.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        As for `knn_accuracy`.
    """
    train, test = _check_points(train_points, test_points, k, metric)
    known = encode_indicator("train_labels", train_labels)
    wanted = encode_indicator("test_labels", test_labels)
    check_same_labels(train_labels=known, test_labels=wanted)
    check_one_label_each(train_points=len(train), train_labels=known.shape[0])
    check_one_label_each(test_points=len(test), test_labels=wanted.shape[0])
    nearest = nearest_indices(test, train, k, metric)
    n_voted = min(known.shape[1], k * int(np.diff(known.indptr).max()))  # labels per point, at most
    size = max(1, VOTE_NUMBERS // max(n_voted, k))
    total = 0.0
    for first in range(0, len(nearest), size):
        some = slice(first, first + size)
        total += _jaccard(_majority(known, nearest[some]), wanted[some]).sum()
    return float(total / len(nearest))


def _majority(labels: sparse.csr_array, nearest: NDArray[np.int64]) -> sparse.csr_array:
    """Return which labels more than half of each row's neighbours have, as ones."""
    n_rows, k = nearest.shape
    is_neighbour = sparse.csr_array(
        (np.ones(nearest.size, np.float32), nearest.ravel(), np.arange(n_rows + 1) * k),
        shape=(n_rows, labels.shape[0]),
    )
    return (is_neighbour @ labels > k / 2).astype(np.float32)


def _jaccard(predicted: sparse.csr_array, true: sparse.csr_array) -> NDArray[np.float64]:
    """Return |P ∩ T| / |P ∪ T| of each row, 1 where both are empty."""
    n_shared = predicted.multiply(true).sum(axis=1)
    n_all = predicted.sum(axis=1) + true.sum(axis=1) - n_shared
    return np.where(n_all == 0, 1.0, n_shared / np.maximum(n_all, 1))


def _check_points(
    train_points: ArrayLike, test_points: ArrayLike, k: int, metric: Metric
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both sets of points, refusing those in which `k` neighbours cannot be found."""
    check_choice("metric", metric, get_args(Metric))
    check_count("k", k)
    train = check_points("train_points", train_points)
    test = check_points("test_points", test_points)
    check_same_space(train_points=train, test_points=test)
    if k > len(train):
        raise ValueError(
            f"k={k} neighbours cannot be found among {len(train)} training point(s): set k to at "
            f"most {len(train)}."
        )
    return train, test
