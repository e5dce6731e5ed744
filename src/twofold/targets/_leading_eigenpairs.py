"""The largest eigenvalues of a symmetric matrix that can only be multiplied by, in blocks.

Block Lanczos with full orthogonalisation and restarts. Its products are of a matrix with a block,
which a processor does ten times faster than the same number of products with single vectors.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from twofold._core.warnings import warn_user

DENSE_SIZE = 512
"""Up to this size all eigenvalues are found at once, in float64."""
SPARE = 16
"""Vectors a block has more than are wanted: they speed up the last ones."""
MAX_BLOCKS = 8
MAX_RESTARTS = 20
TOLERANCE = 1e-4
"""Largest residual ‖A v − λ v‖ of a wanted pair, as a part of the largest eigenvalue."""


class SymmetricMatrix(Protocol):
    """What is asked of a matrix whose eigenvalues are wanted."""

    @property
    def n(self) -> int:
        """Number of rows and of columns."""

    def __matmul__(self, other: NDArray[np.float32], /) -> NDArray[np.float32]:
        """Multiply by a matrix of shape (n, m)."""

    def toarray(self) -> NDArray[np.float64]:
        """Return the whole matrix."""


def leading_eigenpairs(
    matrix: SymmetricMatrix, n_wanted: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the `n_wanted` largest eigenvalues, falling, and their vectors.

    Parameters
    ----------
    matrix : SymmetricMatrix
        Symmetric, n × n.
    n_wanted : int
        At most n.

    Returns
    -------
    values : ndarray of float64, shape (n_wanted,)
        Eigenvalues.
    vectors : ndarray of float64, shape (n, n_wanted)
        Orthonormal eigenvectors. The start is fixed, so that the same matrix gives the same.
    """
    if matrix.n <= max(DENSE_SIZE, 2 * (n_wanted + SPARE)):
        values, vectors = np.linalg.eigh(matrix.toarray())
        values, vectors = values[::-1][:n_wanted], vectors[:, ::-1][:, :n_wanted]
        return _without_noise(values, 1e-12), vectors
    rng = np.random.default_rng(0)
    block = rng.standard_normal((matrix.n, n_wanted + SPARE), dtype=np.float32)
    for _ in range(MAX_RESTARTS):
        values, vectors, residual = _krylov_pairs(matrix, block, n_wanted)
        if residual <= TOLERANCE * values[0]:
            break
        block = vectors
    else:
        warn_user(
            f"The eigenvalues of the relation are only good to {residual / values[0]:.1g} of the "
            f"largest after {MAX_RESTARTS} restarts; another n_components may part them better.",
            ConvergenceWarning,
        )
    values, vectors = values[:n_wanted].astype(np.float64), vectors[:, :n_wanted]
    return _without_noise(values, 1e-6), vectors.astype(np.float64)


def _without_noise(values: NDArray[np.float64], rounding: float) -> NDArray[np.float64]:
    """Make eigenvalues 0 that rounding alone can make."""
    return np.where(np.abs(values) > rounding * np.abs(values).max(), values, 0.0)


def _krylov_pairs(
    matrix: SymmetricMatrix, block: NDArray[np.float32], n_wanted: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Return the best pairs in the space of block, A block, A² block …, and their residual.

    Stops as soon as the wanted pairs are good enough, or the space has `MAX_BLOCKS` blocks.
    """
    width = block.shape[1]
    basis = np.empty((matrix.n, 0), dtype=np.float32)
    images = basis
    for _ in range(min(MAX_BLOCKS, matrix.n // width)):
        for _ in range(2):  # once leaves what rounding lets through
            block = block - basis @ (basis.T @ block)
            block = np.linalg.qr(block).Q
        basis = np.hstack([basis, block])
        images = np.hstack([images, matrix @ block])
        values, weights = np.linalg.eigh(basis.T @ images)
        values, weights = values[::-1][:width], weights[:, ::-1][:, :width]
        vectors = basis @ weights
        wanted = images @ weights[:, :n_wanted] - vectors[:, :n_wanted] * values[:n_wanted]
        residual = float(np.linalg.norm(wanted, axis=0).max())
        if residual <= TOLERANCE * values[0]:
            break
        block = images[:, -width:]
    return values, vectors, residual
