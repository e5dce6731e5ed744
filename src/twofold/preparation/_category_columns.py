"""Categories to features: one for each frequent value, and one for all others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from twofold.preparation._stored import Arrays, Facts, Stored, texts_to_array
from twofold.preparation._values import as_texts

MOST_VALUES = 256
"""Features of a column; the most frequent values have one of their own,"""
FEWEST_ROWS = 2
"""if they are in so many rows: one that comes once tells nothing about other rows."""
WHOLE = re.compile(r"(-?[0-9]+)\.0+")


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """One of several values: 1 where it is, 0 elsewhere; nothing but 0 where it is missing."""

    values: tuple[str, ...]

    @classmethod
    def fit(cls, column: Any, written: str = "") -> Self:
        """Fit to an Arrow array."""
        del written
        counts: dict[str, int] = {}
        coded = as_texts(column).drop_null().dictionary_encode()
        sizes = np.bincount(coded.indices.to_numpy(), minlength=len(coded.dictionary))
        for value, size in zip(coded.dictionary.to_pylist(), sizes, strict=True):
            counts[_canonical(value)] = counts.get(_canonical(value), 0) + int(size)
        frequent = sorted(counts, key=lambda value: (-counts[value], value))
        return cls(tuple(v for v in frequent[:MOST_VALUES] if counts[v] >= FEWEST_ROWS))

    def names(self) -> list[str]:
        """Return what the features are called, behind the column's name."""
        return [*(f"={value}" for value in self.values), "other"]

    def transform(self, column: Any) -> sparse.csr_array:
        """Return features, shape (n_rows, n_values + 1), each row of length 1 or 0."""
        coded = as_texts(column).dictionary_encode()
        place = {value: number for number, value in enumerate(self.values)}
        places = np.array(
            [place.get(_canonical(v), len(place)) for v in coded.dictionary.to_pylist()],
            dtype=np.int64,
        )
        there = np.flatnonzero(np.asarray(coded.is_valid().to_numpy(zero_copy_only=False)))
        codes = np.asarray(coded.indices.drop_null().to_numpy(), dtype=np.int64)
        shape = (len(coded), len(self.values) + 1)
        ones = np.ones(there.size, dtype=np.float32)
        return sparse.csr_array((ones, (there, places[codes])), shape=shape)

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        return {}, {"values": texts_to_array(self.values)}

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what was saved, checked."""
        return cls(stored.texts("values"))


def _canonical(value: str) -> str:
    """Return a value as it is compared: 7.0 is 7, and capitals do not count."""
    whole = WHOLE.fullmatch(value)
    return whole[1] if whole else value.casefold()
