"""The largest eigenvalues of a symmetric matrix that can only be multiplied by, in blocks.

Block Lanczos with full orthogonalisation and restarts. Its products are of a matrix with a block,
which a processor does ten times faster than the same number of products with single vectors.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

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
    """What can be multiplied by a block of columns: arrays of NumPy, or torch's tensors."""

    @property
    def n(self) -> int:
        """Number of rows and of columns."""

    def __matmul__(self, other: Any) -> Any:
        """Multiply by a block, shape (n, m)."""

    def toarray(self) -> NDArray[np.float64]:
        """Return the whole matrix, for small ones."""

    def block(self, columns: NDArray[np.float32]) -> Any:
        """Return columns as what it multiplies."""


def leading_eigenpairs(
    matrix: SymmetricMatrix, n_wanted: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the `n_wanted` largest eigenvalues, falling, and their vectors.

    Parameters
    ----------
    matrix : SymmetricMatrix
        n × n.
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
    block = matrix.block(rng.standard_normal((matrix.n, n_wanted + SPARE), dtype=np.float32))
    for _ in range(MAX_RESTARTS):
        values, vectors, residual = _krylov_pairs(matrix, block, n_wanted)
        if residual <= TOLERANCE * values[0]:
            break
        block = vectors
    else:
        warn_user(
            f"The eigenvalues of the relation are only accurate to {residual / values[0]:.1g} of "
            f"the largest after {MAX_RESTARTS} restarts; another n_components may separate them "
            "better.",
            ConvergenceWarning,
        )
    found = [_as_array(part) for part in (values[:n_wanted], vectors[:, :n_wanted])]
    return _without_noise(found[0], 1e-6), found[1]


def _as_array(numbers: Any) -> NDArray[np.float64]:
    numbers = numbers if isinstance(numbers, np.ndarray) else numbers.cpu().numpy()
    array: NDArray[np.float64] = numbers.astype(np.float64)
    return array


def _without_noise(values: NDArray[np.float64], rounding: float) -> NDArray[np.float64]:
    """Make eigenvalues 0 that rounding alone can make."""
    return np.where(np.abs(values) > rounding * np.abs(values).max(), values, 0.0)


def _krylov_pairs(matrix: SymmetricMatrix, block: Any, n_wanted: int) -> tuple[Any, Any, float]:
    """Return the best pairs in the space of block, A block, A² block …, and their residual.

    Stops as soon as the wanted pairs are good enough, or the space has `MAX_BLOCKS` blocks. NumPy
    and torch have the same words for all that is done here.
    """
    xp = np if isinstance(block, np.ndarray) else sys.modules["torch"]
    width = block.shape[1]
    basis = images = block[:, :0]
    for _ in range(min(MAX_BLOCKS, matrix.n // width)):
        for _ in range(2):  # once leaves what rounding lets through
            block = block - basis @ (basis.T @ block)
            block = xp.linalg.qr(block)[0]
        basis = xp.hstack([basis, block])
        images = xp.hstack([images, matrix @ block])
        values, weights = xp.linalg.eigh(basis.T @ images)
        values, weights = xp.flip(values, (0,))[:width], xp.flip(weights, (1,))[:, :width]
        vectors = basis @ weights
        wanted = images @ weights[:, :n_wanted] - vectors[:, :n_wanted] * values[:n_wanted]
        residual = float((wanted * wanted).sum(0).max()) ** 0.5
        if residual <= TOLERANCE * values[0]:
            break
        block = images[:, -width:]
    return values, vectors, residual
