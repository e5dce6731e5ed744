"""The weighted relation of distinct label vectors, as a symmetric matrix to multiply by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MAX_CACHED_BYTES = 2**30
"""A relation up to this size is kept between products, a larger one is made again for each."""
BLOCK_BYTES = 2**26


class LabelMatrix:
    """diag(w) R diag(w), with R the grades between label vectors and w the roots of their counts.

    R is made in blocks of rows, so that beside the products no more than 1 GiB is held, however
    many label vectors there are.

    Parameters
    ----------
    indicator : csr_array of float32, shape (n, n_labels)
        Distinct label vectors, none of them empty.
    counts : ndarray of float64, shape (n,)
        How many items have each.
    grade : {"overlap", "jaccard"}
        As for `LabelRelation`.
    """

    def __init__(
        self,
        indicator: sparse.csr_array,
        counts: NDArray[np.float64],
        grade: Literal["overlap", "jaccard"],
    ) -> None:
        self._roots = np.sqrt(counts).astype(np.float32)[:, None]
        self._grade = grade
        self._sizes = np.asarray(indicator.sum(axis=1), dtype=np.float32)
        self._labels: NDArray[np.float32] | sparse.csr_array = indicator
        if _dense_is_cheaper(indicator):
            self._labels = indicator.toarray()
        self._transposed = self._labels.T
        self._cached: list[NDArray[np.float32]] | None = None
        if 4 * self.n**2 <= MAX_CACHED_BYTES:
            self._cached = list(self._make_blocks())

    @property
    def n(self) -> int:
        """Number of rows and of columns."""
        return len(self._roots)

    def __matmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply by a matrix of shape (n, m), in O(n² m)."""
        weighted = self._roots * other
        product = np.concatenate([block @ weighted for block in self._blocks()])
        product *= self._roots
        return product

    def sum_of_squares(self) -> float:
        """Return the sum of the squares of all entries."""
        counts = self._roots[:, 0].astype(np.float64) ** 2
        rows = [np.square(block) @ counts.astype(np.float32) for block in self._blocks()]
        return float(np.concatenate(rows).astype(np.float64) @ counts)

    def toarray(self) -> NDArray[np.float64]:
        """Return the whole matrix, for small ones."""
        whole = np.concatenate(list(self._blocks())).astype(np.float64)
        return self._roots * whole * self._roots.T

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        return iter(self._cached) if self._cached is not None else self._make_blocks()

    def _make_blocks(self) -> Iterator[NDArray[np.float32]]:
        """Make R, some rows at a time."""
        n_rows = max(1, BLOCK_BYTES // (4 * self.n))
        for first in range(0, self.n, n_rows):
            rows = slice(first, first + n_rows)
            shared = self._labels[rows] @ self._transposed
            if sparse.issparse(shared):
                shared = shared.toarray()
            if self._grade == "overlap":
                np.minimum(shared, 1, out=shared)
            else:
                shared /= self._sizes[rows, None] + self._sizes[None] - shared
            yield shared


def _dense_is_cheaper(indicator: sparse.csr_array) -> bool:
    """Whether R is made faster by a dense product, whose steps are some 100 times cheaper."""
    n, n_labels = indicator.shape
    label_counts = np.bincount(indicator.indices, minlength=n_labels).astype(np.float64)
    return bool(n**2 * n_labels < 100 * (label_counts**2).sum())
