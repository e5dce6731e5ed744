"""Feature spaces: the directions of the features that maps learn in.

Of many features the leading directions tell most, and distances in the others add up noise; but
what tells two records apart is in no leading direction. So validation chooses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from twofold.feedback._problem import Points, Problem
from twofold.regression import Projection, RidgeBasis, fit_projection, ridge_basis

N_LEADING, N_FULL = 32, 256
"""Directions of the two spaces, if there are so many features."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSpace:
    """A projection of the features, and what a ridge map of it is made of.

    Attributes
    ----------
    projection : Projection
        From features to points.
    points : ndarray of float32, shape (n_items, n_directions)
        Of the problem's items.
    basis : RidgeBasis
        Of maps that start from these points.
    """

    projection: Projection
    points: Points
    basis: RidgeBasis

    @property
    def n_directions(self) -> int:
        """Components of a point."""
        return self.projection.n_directions


def feature_space(problem: Problem, n_directions: int, unit: bool) -> FeatureSpace:
    """Return the space of the features' leading directions, outliers cut.

    Parameters
    ----------
    problem : Problem
        Features and items.
    n_directions : int
        How many.
    unit : bool
        Whether rows are brought to length 1 first, so that the space starts from their cosines.
    """
    projection = fit_projection(problem.features, n_directions, clipped=True, unit=unit)
    points = projection.points(problem.features, problem.items)
    _refuse_not_finite(points, problem)
    return FeatureSpace(
        projection, points, ridge_basis(projection, points, problem.device, problem.rng)
    )


def directions_to_try(problem: Problem, n_components: int | None) -> list[int]:
    """Return how many directions spaces may have, fewest first."""
    if n_components is not None:
        return [n_components]
    n_features = math.prod(problem.shape)
    return sorted({min(n_features, N_LEADING), min(n_features, N_FULL)})


def _refuse_not_finite(points: Points, problem: Problem) -> None:
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if wrong.size:
        raise ValueError(
            "X holds NaN or infinity, first in row "
            f"{problem.items[wrong[0]]} of those in some statement. Replace or drop it first."
        )
