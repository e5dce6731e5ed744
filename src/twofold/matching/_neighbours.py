"""The nearest records of another table by cosine of rare codes, without a table of all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from twofold._core.threads import Workers, allowed_threads
from twofold.matching._set_similarities import WeightedSets

MOST_POSTINGS = 2000
"""Records that a code leads to at most: a commoner one finds nobody, and costs most of the time."""
ROWS_A_PART = 256
NOBODY = -1


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest records of each record.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_records, k)
        Of the other table, nearest first; -1 where there are no more.
    similarity : ndarray of float64, shape (n_records, k)
        Their cosines, 0 where there are none.
    """

    rows: NDArray[np.int64]
    similarity: NDArray[np.float64]


def nearest_records(
    left: WeightedSets, right: WeightedSets, k: int, *, one_table: bool = False
) -> Neighbours:
    """Return the `k` nearest records of `right` for every record of `left`.

    Parameters
    ----------
    left, right : WeightedSets
        Codes and their shares of vectors of unit length.
    k : int
        How many.
    one_table : bool
        Whether both are the same records; nobody is then their own neighbour.

    Notes
    -----
    Codes of more than 2,000 records do not find anybody, but count in the cosine of those found. An
    inverted index; memory O(entries + k · n), time O(Σ over entries of the records they lead to).
    """
    n_left, n_right = len(left.starts) - 1, len(right.starts) - 1
    order = np.argsort(right.codes, kind="stable")
    codes = right.codes[order]
    records = np.repeat(np.arange(n_right), np.diff(right.starts))[order]
    begin = np.searchsorted(codes, left.codes, "left")
    end = np.searchsorted(codes, left.codes, "right")
    end = np.where(end - begin > MOST_POSTINGS, begin, end)
    weights = right.unit[order]
    rows = np.full((n_left, k), NOBODY, dtype=np.int64)
    similarity = np.zeros((n_left, k))

    def search(first: int) -> None:
        _search(
            left.starts, left.codes, left.unit, begin, end, records, weights,
            right.starts, right.codes, right.unit, one_table,
            first, min(first + ROWS_A_PART, n_left), rows, similarity,
        )  # fmt: skip

    with Workers(allowed_threads()) as workers:
        workers.run(search, [(first,) for first in range(0, n_left, ROWS_A_PART)])
    return Neighbours(rows, similarity)


@njit(cache=True, nogil=True)
def _search(
    starts: Any, codes: Any, unit: Any, begin: Any, end: Any, records: Any, weights: Any,
    right_starts: Any, right_codes: Any, right_unit: Any, one_table: Any, first: Any, last: Any,
    rows: Any, similarity: Any,
) -> None:  # fmt: skip
    """Write the nearest of the records `first` .. `last` − 1 into `rows` and `similarity`."""
    total = np.zeros(len(right_starts) - 1)
    reached = np.empty(len(total), dtype=np.int64)
    for record in range(first, last):
        n_reached = 0
        for entry in range(starts[record], starts[record + 1]):
            for posting in range(begin[entry], end[entry]):
                other = records[posting]
                if total[other] == 0.0:
                    reached[n_reached] = other
                    n_reached += 1
                total[other] += unit[entry] * weights[posting]
        n_kept = 0
        for number in range(n_reached):
            other = reached[number]
            if not (one_table and other == record):
                n_kept = _insert(rows[record], similarity[record], n_kept, other, total[other])
            total[other] = 0.0
        # What was found by rare codes is compared, and ordered, by all of them.
        found = rows[record, :n_kept].copy()
        n_kept = 0
        for other in found:
            a, b = starts[record], starts[record + 1]
            c, d = right_starts[other], right_starts[other + 1]
            value = cosine(codes[a:b], unit[a:b], right_codes[c:d], right_unit[c:d])
            n_kept = _insert(rows[record], similarity[record], n_kept, other, value)


@njit(cache=True, nogil=True)
def _insert(rows: Any, values: Any, n_kept: Any, row: Any, value: Any) -> Any:
    """Put a row into its place among the best, of which `n_kept` are there; return how many are."""
    place = n_kept
    while place > 0 and (
        values[place - 1] < value or (values[place - 1] == value and rows[place - 1] > row)
    ):
        if place < len(rows):
            rows[place], values[place] = rows[place - 1], values[place - 1]
        place -= 1
    if place < len(rows):
        rows[place], values[place] = row, value
    return min(n_kept + 1, len(rows))


@njit(cache=True, nogil=True)
def cosine(codes: Any, unit: Any, other_codes: Any, other_unit: Any) -> Any:
    """Return the cosine of two sets, each sorted, with shares of a vector of unit length."""
    total, i, j = 0.0, 0, 0
    while i < len(codes) and j < len(other_codes):
        if codes[i] < other_codes[j]:
            i += 1
        elif other_codes[j] < codes[i]:
            j += 1
        else:
            total += unit[i] * other_unit[j]
            i += 1
            j += 1
    return total
