"""Vectors from the user, such as sentence embeddings: centred, and divided by one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from twofold.preparation._stored import MOST_FEATURES, Arrays, Facts, Stored
from twofold.preparation._values import LARGEST_NUMBER


@dataclass(frozen=True, slots=True, eq=False)
class VectorColumn:
    """Lists of numbers of one length, divided by one number: their own geometry is kept."""

    mean: NDArray[np.float32]
    spread: float

    @classmethod
    def fit(cls, column: Any, written: str = "") -> Self:
        """Fit to an Arrow array of lists."""
        del written
        size = len(next(value for value in column if value.is_valid))
        vectors = _as_matrix(column, size)
        mean = vectors.mean(axis=0)
        spread = float(np.sqrt(np.mean((vectors - mean) ** 2))) or 1.0
        return cls(mean.astype(np.float32), spread)

    def names(self) -> list[str]:
        """Return what the features are called, behind the column's name."""
        return [str(number) for number in range(self.mean.size)]

    def transform(self, column: Any) -> NDArray[np.float32]:
        """Return features, shape (n_rows, size); a missing vector is the mean one."""
        vectors = _as_matrix(column, self.mean.size, self.mean)
        return np.asarray((vectors - self.mean) / self.spread, dtype=np.float32)

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        return {"size": self.mean.size, "spread": self.spread}, {"mean": self.mean}

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what was saved, checked."""
        size, spread = stored.count("size"), stored.fact("spread", float)
        if not 0 < size <= MOST_FEATURES or spread <= 0:
            stored.refuse(f"its size is {size} and its spread {spread}")
        return cls(stored.numbers("mean", size), spread)


def _as_matrix(
    column: Any, size: int, missing: NDArray[np.float32] | None = None
) -> NDArray[np.float64]:
    """Return lists as rows; without `missing`, rows that are there alone."""
    import pyarrow as pa

    if not (pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)):
        raise ValueError(f"it must hold lists of {size} numbers, got {column.type}")
    there = column.drop_null()
    lengths = (
        {len(value) for value in there}
        if pa.types.is_list(column.type)
        else {column.type.list_size}
    )
    if lengths - {size}:
        raise ValueError(f"it must hold lists of {size} numbers, got {sorted(lengths)[:3]}")
    values = there.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        if not (np.abs(values) <= LARGEST_NUMBER).all():
            raise ValueError("it holds a number that is missing, not finite or too large")
    rows = np.asarray(values, dtype=np.float64).reshape(len(there), size)
    if missing is None:
        return rows
    matrix = np.tile(missing.astype(np.float64), (len(column), 1))
    matrix[np.asarray(column.is_valid().to_numpy(zero_copy_only=False))] = rows
    return matrix
