"""A weighted relation less its mean, as a symmetric matrix to multiply by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.targets._label_matrix import LabelMatrix


class OffsetMatrix:
    """diag(w) (R − β) diag(w), with β the mean of R over all pairs of items, w² = their counts.

    Parameters
    ----------
    matrix : LabelMatrix
        diag(w) R diag(w).
    counts : ndarray of float64, shape (n,)
        w².

    Attributes
    ----------
    offset : float
        β.
    """

    def __init__(self, matrix: LabelMatrix, counts: NDArray[np.float64]) -> None:
        self._matrix = matrix
        self._roots = np.sqrt(counts).astype(np.float32)[:, None]
        whole = float(np.sum(self._roots * (matrix @ self._roots), dtype=np.float64))
        self.offset = whole / float(counts.sum()) ** 2

    @property
    def n(self) -> int:
        """Number of rows and of columns."""
        return self._matrix.n

    def block(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return columns as what it multiplies: as they are."""
        return columns

    def __matmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply by a matrix of shape (n, m)."""
        shift = np.float32(self.offset) * (self._roots.T @ other)
        return self._matrix @ other - self._roots @ shift

    def toarray(self) -> NDArray[np.float64]:
        """Return the whole matrix, for small ones."""
        roots = self._roots.astype(np.float64)
        return self._matrix.toarray() - self.offset * (roots @ roots.T)
