"""Feature spaces: the directions of the features that maps learn in.

Of many features the leading directions tell most, and distances in the others add up noise; but
what tells two records apart is in no leading direction. So validation chooses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from twofold.feedback._problem import Points, Problem
from twofold.regression import Projection, RidgeBasis, ridge_basis, threads_for

N_LEADING, N_FULL = 32, 256
"""Directions of the two spaces, if there are so many features."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSpace:
    """A projection of the features, the problem's items in it, and the basis of ridge maps."""

    projection: Projection
    points: Points
    basis: RidgeBasis

    @property
    def n_directions(self) -> int:
        """Components of a point."""
        return self.projection.n_directions


def feature_spaces(problem: Problem, n_components: int | None, unit: bool) -> list[FeatureSpace]:
    """Return the spaces of the features' leading directions, outliers cut, the smallest first.

    There is one if the user has said how many components; `unit` brings rows to length 1 first, so
    that a space starts from their cosines.
    """
    n_features = math.prod(problem.shape)
    sizes = {n_components} if n_components else {min(n_features, n) for n in (N_LEADING, N_FULL)}
    with threads_for(2.0 * problem.features.n_items * n_features * max(sizes)):
        return _spaces(problem, sorted(sizes), unit)


def projected_space(problem: Problem, projection: Projection) -> FeatureSpace:
    """Return the space of a projection that is known, with the items of a problem in it."""
    points = projection.points(problem.features, problem.items)
    basis = ridge_basis(projection, points, problem.device, problem.rng)
    return FeatureSpace(projection, points, basis)


def _spaces(problem: Problem, sizes: list[int], unit: bool) -> list[FeatureSpace]:
    whole = problem.projections.of(problem.features, max(sizes), unit)
    points = whole.points(problem.features, problem.items)
    spaces = []
    for size in sizes:
        scale = float(np.sqrt(np.square(points[:, :size]).sum(axis=1).mean())) or 1.0
        projection = whole.leading(size, scale)
        some = np.ascontiguousarray(points[:, :size]) / np.float32(scale)
        basis = ridge_basis(projection, some, problem.device, problem.rng)
        spaces.append(FeatureSpace(projection, some, basis))
    return spaces
