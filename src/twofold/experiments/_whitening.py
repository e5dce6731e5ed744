"""Whitening within classes: what a rival's hidden layer gains by the same step as Twofold's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHRINKAGE = 0.5
"""Of the covariance, towards its mean eigenvalue: by a half, as in the first trials of the step."""


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """h ↦ (h − μ) V Λ^(−½).

    Attributes
    ----------
    mean : ndarray of float, shape (dim,)
        μ, of the training points.
    projection : ndarray of float, shape (dim, dim)
        V Λ^(−½), of the eigenvectors and eigenvalues of the shrunk covariance within classes.
    """

    mean: NDArray[np.floating[Any]]
    projection: NDArray[np.floating[Any]]

    def apply(self, points: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return points whitened."""
        return np.asarray((points - self.mean) @ self.projection, dtype=np.float32)


def fit_whitening(points: NDArray[np.floating[Any]], classes: NDArray[np.int64]) -> Whitening:
    """Solve V Λ Vᵀ = (1−s) W + s·tr(W)/d·I, with W the covariance of points within their classes.

    Costs n · d² + d³.

    Parameters
    ----------
    points : ndarray of float, shape (n_items, dim)
        Of training items.
    classes : ndarray of int64, shape (n_items,)
        What they are.
    """
    _, codes = np.unique(classes, return_inverse=True)
    means = np.stack([points[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    within = np.cov((points - means[codes]).T)
    mean_size = np.trace(within) / len(within)
    shrunk = (1 - SHRINKAGE) * within + SHRINKAGE * mean_size * np.eye(len(within))
    sizes, directions = np.linalg.eigh(shrunk)
    return Whitening(points.mean(axis=0), directions / np.sqrt(sizes))
