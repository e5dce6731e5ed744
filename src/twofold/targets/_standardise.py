"""Standardised targets: what the regression of phase 2 is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold.targets._solution import TargetSolution

ROWS_AT_ONCE = 2**10
"""So that sums in double precision stay in the processor's cache: a table of 1,000,000 classes in
256 dimensions takes 2.6 s, and 5.7 s with 2**16."""


def standardise_targets(
    points: ArrayLike, counts: ArrayLike | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Centre targets and divide them all by one number, as the paper does.

    The number makes the mean over components of their standard deviation 1. Dividing each
    component by its own would distort the space of phase 1.

    Parameters
    ----------
    points : array_like of float, shape (n_targets, dim)
        Targets.
    counts : array_like of int, shape (n_targets,), optional
        How many items have each; one by default.

    Returns
    -------
    standardised : ndarray of float32, shape (n_targets, dim)
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
    weight = _check_counts(counts, len(array))
    parts = [slice(at, at + ROWS_AT_ONCE) for at in range(0, len(array), ROWS_AT_ONCE)]
    for part in parts:
        _refuse_not_finite(array[part], part.start)
    # From the first, so that points that coincide have no deviation at all.
    first = array[weight.argmax()].astype(np.float64)
    mean = first + sum(weight[part] @ (array[part] - first) for part in parts) / weight.sum()
    squares = sum(weight[part] @ np.square(array[part] - mean) for part in parts)
    scale = float(np.sqrt(squares / weight.sum()).mean()) or 1.0
    standardised = np.empty_like(array)
    for part in parts:
        standardised[part] = (array[part] - mean) / scale
    return standardised, mean.astype(np.float32), scale


def standardise_solution(
    solution: TargetSolution, linked: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int64] | None, NDArray[np.float32], float]:
    """Return the targets of linked items, standardised, which of them each has, mean and scale.

    Where items share targets they are rows of a table; else each has its own, and `which` is None.
    """
    if solution.which is None:
        targets, mean, scale = standardise_targets(solution.points[linked])
        return targets, None, mean, scale
    which = solution.which[linked]
    counts = np.bincount(which, minlength=len(solution.table))
    targets, mean, scale = standardise_targets(solution.table, counts)
    return targets, which, mean, scale


def _check_counts(counts: ArrayLike | None, n_points: int) -> NDArray[np.float64]:
    if counts is None:
        return np.ones(n_points)
    weight = np.asarray(counts, dtype=np.float64)
    if weight.shape != (n_points,):
        raise ValueError(
            f"counts must have one number per point, shape ({n_points},), got {weight.shape}."
        )
    wrong = np.flatnonzero(~(weight >= 0))
    if wrong.size:
        raise ValueError(
            f"counts must not be negative, first wrong at row {wrong[0]} ({weight[wrong[0]]:g})."
        )
    if not weight.any():
        raise ValueError("counts are all 0: no item has a target.")
    return weight


def _refuse_not_finite(array: NDArray[np.float32], start: int) -> None:
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"points must be finite, first wrong at row {start + row}, column {column} "
            f"({array[row, column]})."
        )
