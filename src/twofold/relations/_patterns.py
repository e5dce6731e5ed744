"""Distinct label vectors: items with equal labels are the same to every relation on labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True, slots=True, eq=False)
class LabelPatterns:
    """The distinct label vectors among known items.

    Attributes
    ----------
    indicator : csr_array of float32, shape (n_patterns, n_labels)
        The label vectors; the empty one is among them if it occurs.
    counts : ndarray of int64, shape (n_patterns,)
        How many items have each.
    of_item : ndarray of int64, shape (n_items,)
        The pattern of every item, -1 if it is unknown.
    """

    indicator: sparse.csr_array
    counts: NDArray[np.int64]
    of_item: NDArray[np.int64]


def find_patterns(indicator: sparse.csr_array, known: NDArray[np.bool_]) -> LabelPatterns:
    """Return the distinct rows of `indicator` among the known items, in O(n log n).

    Rows are compared by the sum of one random 64-bit number per label, and each row then label by
    label with the first of its kind, so that the answer is exact.
    """
    items = np.flatnonzero(known)
    rows = indicator[items]
    rng = np.random.default_rng(0)
    while True:
        numbers = rng.integers(2**63, size=indicator.shape[1], dtype=np.uint64)
        hashes = _sum_of_labels(rows, numbers)
        _, first, pattern = np.unique(hashes, return_index=True, return_inverse=True)
        if _rows_equal(rows, first[pattern]):
            break
    of_item = np.full(indicator.shape[0], -1, dtype=np.int64)
    of_item[items] = pattern
    return LabelPatterns(rows[first], np.bincount(pattern, minlength=first.size), of_item)


def _sum_of_labels(rows: Any, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sum the numbers of each row's labels, modulo 2**64."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(numbers[rows.indices])])
    return np.asarray(running[rows.indptr[1:]] - running[rows.indptr[:-1]])


def _rows_equal(rows: Any, others: NDArray[np.int64]) -> bool:
    """Whether every row k has just the labels of row `others[k]`."""
    lengths = np.diff(rows.indptr)
    if not np.array_equal(lengths, lengths[others]):
        return False
    offset = np.arange(rows.indices.size) - np.repeat(rows.indptr[:-1], lengths)
    other = rows.indices[np.repeat(rows.indptr[:-1][others], lengths) + offset]
    return np.array_equal(rows.indices, other)
