"""Similarities of two sets of codes, weighted by how rare a code is; one merge a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from twofold.matching._texts import CodeSets

SET_NAMES = (
    "cosine",
    "overlap",
    "left in right",
    "right in left",
    "rarest left only",
    "rarest right only",
    "sum left only",
    "sum right only",
    "shared",
    "rarest shared",
)


@dataclass(frozen=True, slots=True, eq=False)
class Rarity:
    """How rare each code is among records: log((1 + n) / (1 + df)) + 1, scikit-learn's idf.

    Attributes
    ----------
    codes : ndarray of uint64
        Those that occur, sorted.
    frequency : ndarray of int64
        In how many records each does.
    n_records : int
        Of how many.
    """

    codes: NDArray[np.uint64]
    frequency: NDArray[np.int64]
    n_records: int

    def of(self, codes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the idf of codes; one that never occurred is rarest of all."""
        frequency = np.zeros(len(codes), dtype=np.int64)
        if len(self.codes):
            place = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
            known = self.codes[place] == codes
            frequency[known] = self.frequency[place[known]]
        return np.log((1 + self.n_records) / (1 + frequency)) + 1


def fit_rarity(*tables: CodeSets) -> Rarity:
    """Count in how many records of all tables each code occurs."""
    codes, frequency = np.unique(
        np.concatenate([table.codes for table in tables]), return_counts=True
    )
    return Rarity(codes, frequency, sum(len(table.starts) - 1 for table in tables))


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSets:
    """Sets of codes with their idf, and their share of a vector of unit length."""

    starts: NDArray[np.int64]
    codes: NDArray[np.uint64]
    idf: NDArray[np.float64]
    unit: NDArray[np.float64]


def weigh(sets: CodeSets, rarity: Rarity) -> WeightedSets:
    """Weigh codes by idf, and in `unit` also by 1 + log of how often they stand there."""
    idf = rarity.of(sets.codes)
    weight = idf * (1 + np.log(sets.counts))
    records = np.repeat(np.arange(len(sets.starts) - 1), np.diff(sets.starts))
    squares = np.bincount(records, weight**2, minlength=len(sets.starts) - 1)
    return WeightedSets(sets.starts, sets.codes, idf, weight / np.sqrt(squares[records]))


def compare_sets(
    left: WeightedSets, right: WeightedSets, pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the similarities `SET_NAMES` of pairs of rows; NaN if a set is empty."""
    similarities: NDArray[np.float64] = _compare(
        left.starts, left.codes, left.idf, left.unit,
        right.starts, right.codes, right.idf, right.unit, pairs,
    )  # fmt: skip
    return similarities


@njit(cache=True, nogil=True)
def _compare(
    left_starts: Any,
    left_codes: Any,
    left_idf: Any,
    left_unit: Any,
    right_starts: Any,
    right_codes: Any,
    right_idf: Any,
    right_unit: Any,
    pairs: Any,
) -> Any:
    out = np.full((len(pairs), 10), np.nan)
    for row in range(len(pairs)):
        i, i_end = left_starts[pairs[row, 0]], left_starts[pairs[row, 0] + 1]
        j, j_end = right_starts[pairs[row, 1]], right_starts[pairs[row, 1] + 1]
        if i == i_end or j == j_end:
            continue
        cosine = shared = left_only = right_only = 0.0
        rarest_shared = rarest_left = rarest_right = 0.0
        n_shared = 0
        while i < i_end or j < j_end:
            if j == j_end or (i < i_end and left_codes[i] < right_codes[j]):
                left_only += left_idf[i]
                rarest_left = max(rarest_left, left_idf[i])
                i += 1
            elif i == i_end or right_codes[j] < left_codes[i]:
                right_only += right_idf[j]
                rarest_right = max(rarest_right, right_idf[j])
                j += 1
            else:
                cosine += left_unit[i] * right_unit[j]
                shared += left_idf[i]
                rarest_shared = max(rarest_shared, left_idf[i])
                n_shared += 1
                i += 1
                j += 1
        out[row, 0] = cosine
        out[row, 1] = shared / (shared + left_only + right_only)
        out[row, 2] = shared / (shared + left_only)
        out[row, 3] = shared / (shared + right_only)
        out[row, 4] = rarest_left
        out[row, 5] = rarest_right
        out[row, 6] = left_only
        out[row, 7] = right_only
        out[row, 8] = n_shared
        out[row, 9] = rarest_shared
    return out
