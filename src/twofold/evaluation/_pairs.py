"""Scores of statements about pairs."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from twofold._core.bits import bits_apart, check_codes
from twofold._core.checks import as_array, check_choice, check_equal_lengths, check_item_ids
from twofold._core.float32 import LARGEST
from twofold.evaluation._points import Metric, directions

CHUNK_NUMBERS = 2**24
TAME = (1e-15, 1e15)
"""Magnitudes whose squares, summed over dimensions, float32 holds with all its digits."""


def pair_auroc(similar: ArrayLike, similarity: ArrayLike) -> float:
    """Return the probability that an alike pair has a larger similarity than one not alike.

    Parameters
    ----------
    similar : array_like, shape (n_pairs,)
        1 for alike, 0 for not alike; grades have to be made one of the two first.
    similarity : array_like of float, shape (n_pairs,)
        Large for the alike; for a distance pass its negative. Ties count one half.
    """
    return float(roc_auc_score(*check_scored_pairs(similar, similarity, "An AUROC needs")))


def pair_similarity(
    points: ArrayLike, left: ArrayLike, right: ArrayLike, metric: Metric = "euclidean"
) -> NDArray[np.float32]:
    """Return the similarity of the pairs (points[left[k]], points[right[k]]).

    Parameters
    ----------
    points : array_like of float, shape (n_items, dim)
        Targets or embeddings.
    left, right : array_like of int, shape (n_pairs,)
        Rows of `points`.
    metric : {"euclidean", "dot", "cosine", "hamming"}
        −‖a − b‖, a·b, a·b / ‖a‖‖b‖ (0 where a or b is 0), or of codes packed into bytes minus the
        number of bits that differ.

    Returns
    -------
    similarity : ndarray of float32, shape (n_pairs,)
        Large for the alike; computed in chunks, so that memory stays bounded.
    """
    check_choice("metric", metric, get_args(Metric))
    table = as_array("points", points)
    if table.ndim != 2:
        raise ValueError(f"points must have shape (n_items, dim), got {table.shape}.")
    if table.dtype.kind not in "biuf":
        raise TypeError(f"points must hold numbers, got {table.dtype}.")
    left = check_item_ids("left", left, len(table))
    right = check_item_ids("right", right, len(table))
    check_equal_lengths(left=left, right=right)
    if metric == "hamming":
        codes = check_codes("points", table)
        return -bits_apart(codes[left], codes[right]).astype(np.float32)
    table = table.astype(np.float32, copy=False)
    if metric == "cosine":
        table = directions(table)
    # Squares of what is very large or small are beyond float32, and well within float64.
    largest = float(np.abs(table).max(initial=0))
    if largest and not TAME[0] < largest < TAME[1]:
        table = table.astype(np.float64)
    similarity = np.empty(left.size, dtype=np.float32)
    size = max(1, CHUNK_NUMBERS // max(1, table.shape[1]))
    for first in range(0, left.size, size):
        some = slice(first, first + size)
        a, b = table[left[some]], table[right[some]]
        values = (
            -np.linalg.norm(a - b, axis=1) if metric == "euclidean" else np.einsum("ij,ij->i", a, b)
        )
        similarity[some] = values.clip(-LARGEST, LARGEST)
    return similarity.clip(-1, 1) if metric == "cosine" else similarity


def check_scored_pairs(
    similar: ArrayLike, similarity: ArrayLike, needs: str
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return which pairs are alike, and their similarities; refuse what cannot be scored.

    `needs` begins the sentence for pairs of one kind, for instance "An AUROC needs".
    """
    stated, values = as_array("similar", similar), as_array("similarity", similarity)
    for name, array in (("similar", stated), ("similarity", values)):
        if array.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {array.shape}.")
        if array.size and array.dtype.kind not in "biuf":
            raise TypeError(f"{name} must hold numbers, got {array.dtype} (first: {array[0]!r}).")
    if values.dtype.kind != "f":  # whole numbers have no negative, or wrap around to one
        values = values.astype(np.float64)
    check_equal_lengths(similar=stated, similarity=values)
    graded = np.flatnonzero((stated != 0) & (stated != 1))
    if graded.size:
        raise ValueError(
            f"similar must be 0 or 1 here; {graded.size} value(s) are not, first at row "
            f"{graded[0]} ({stated[graded[0]]}). For grades, pass for instance similar > 0."
        )
    alike = np.asarray(stated == 1)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"similarity must be finite, first wrong at row {row} ({values[row]}).")
    if alike.all() or not alike.any():
        kind = "alike" if alike.size and alike.all() else "not alike"
        raise ValueError(f"{needs} pairs of both kinds, but all {alike.size} pair(s) are {kind}.")
    return alike, values
