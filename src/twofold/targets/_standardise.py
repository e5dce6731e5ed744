"""Standardised targets: what the regression of phase 2 is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def standardise_targets(
    points: ArrayLike,
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Centre targets and divide them all by one number, as the paper does.

    The number makes the mean over components of their standard deviation 1. Dividing each
    component by its own would distort the space of phase 1.

    Parameters
    ----------
    points : array_like of float, shape (n_items, dim)
        Targets.

    Returns
    -------
    standardised : ndarray of float32, shape (n_items, dim)
        (points − mean) / scale.
    mean : ndarray of float32, shape (dim,)
        The centre that was taken away.
    scale : float
        The number they were divided by; 1 if all points coincide.
        ``standardised * scale + mean`` gives `points` back.
    """
    array = np.asarray(points, dtype=np.float32)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"points must have shape (n_items, dim), got {array.shape}.")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"points must be finite, first wrong at row {row}, column {column} "
            f"({array[row, column]})."
        )
    mean = array.mean(axis=0, dtype=np.float64)
    centred = array - mean
    scale = float(centred.std(axis=0).mean()) or 1.0
    return (centred / scale).astype(np.float32), mean.astype(np.float32), scale
