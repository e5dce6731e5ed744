"""Maps that are learnt by solving: linear in the features, and in how close an item is to others.

Ridge regression to moving targets takes milliseconds a round where a network takes an epoch, and
closeness to some two thousand landmarks bends as much as a network of that width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold.regression._linear_path import FromFeatures, LinearPath, RawMap

N_LANDMARKS = 2000
LARGEST_BASIS = 2**27
"""Numbers that a basis may hold, half a gigabyte: with more items there are fewer landmarks."""
WIDTH = 0.5
"""Of a landmark's surroundings, in median distances of two. On pairs held out of digits, scene,
yeast and the records, a third is worse everywhere but on yeast, and 0.7 on scene (AUROC .820
against .837) and yeast."""
RIDGE, LINEAR_RIDGE = 30.0, 100.0
"""In items: what all items together say less of than so many points of usual length is hardly
changed. With landmarks 10 in place of 30 gives .794 in place of .805 on pairs held out of scene;
a linear map with 1 in place of 100 learns its statements by heart (.60 in place of .71)."""
JITTER = 1e-3
BLOCK = 4096
MEASURED = 500
"""Landmarks whose distances are measured for the width."""


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """Points whose surroundings tell items apart.

    Attributes
    ----------
    points : Tensor of float32, shape (n_landmarks, dim)
        Raw points of some items.
    width : float
        Closeness to a landmark is exp(−distance² / 2 width²).
    factor : Tensor of float32, shape (n_landmarks, n_landmarks)
        C of C Cᵀ, which is how close the landmarks are to one another.
    """

    points: Tensor
    width: float
    factor: Tensor

    def whitened(self, points: Tensor) -> Tensor:
        """Return the closeness of points, times C⁻ᵀ: sums of squares of weights are then norms."""
        near = closeness(points, self.points, self.width)
        whitened: Tensor = torch.linalg.solve_triangular(self.factor, near.T, upper=False).T
        return whitened


@dataclass(frozen=True, slots=True, eq=False)
class MapBasis:
    """Functions of items that a map is a weighted sum of.

    Attributes
    ----------
    raw : RawMap
        The features as they are, which the sum is added to.
    values : Tensor of float32, shape (n_items, n_functions)
        Raw points, then closeness to the landmarks.
    ridge : float
        In items.
    landmarks : Landmarks or None
        None for a linear map.
    """

    raw: RawMap
    values: Tensor
    ridge: float
    landmarks: Landmarks | None

    def ready(self, items: NDArray[np.int64] | None = None) -> RidgeRegression:
        """Return the regression of changes of some items, all by default, on the functions."""
        values = self.values
        if items is not None:
            values = values[torch.from_numpy(items).to(values.device)]
        gram = values.T @ values
        gram.diagonal().add_(self.ridge)
        return RidgeRegression(values, torch.linalg.cholesky(gram))

    def sum(self, weights: Tensor) -> Tensor:
        """Return the weighted sums, shape (n_items, dim)."""
        return self.values @ weights

    def as_map(self, weights: Tensor) -> LinearPath | LandmarkMap:
        """Return the raw points plus the weighted sum, for any item."""
        dim = self.raw.projection.shape[0]
        turn = torch.eye(dim) + weights[:dim].cpu()
        if self.landmarks is None:
            return LinearPath(self.raw.turned(turn.numpy()))
        heights = torch.linalg.solve_triangular(self.landmarks.factor.T, weights[dim:], upper=True)
        return LandmarkMap(
            self.raw, turn, self.landmarks.points.cpu(), self.landmarks.width, heights.cpu()
        )


@dataclass(frozen=True, slots=True, eq=False)
class RidgeRegression:
    """Ridge regression on the same values again and again: all but the solving is done once."""

    values: Tensor
    factor: Tensor

    def weights(self, change: Tensor) -> Tensor:
        """Return the weights that come closest to `change`, shape (n_functions, dim)."""
        return torch.cholesky_solve(self.values.T @ change, self.factor)


def linear_basis(raw: RawMap, points: NDArray[np.float32], device: str) -> MapBasis:
    """Return the basis of linear maps of items, whose raw points are given."""
    return MapBasis(raw, torch.from_numpy(points).to(device), LINEAR_RIDGE, None)


def landmark_basis(
    raw: RawMap,
    points: NDArray[np.float32],
    device: str,
    rng: np.random.Generator,
    stiffness: float = 1.0,
) -> MapBasis:
    """Return the basis of maps around landmarks, which are drawn from the items."""
    every = torch.from_numpy(points).to(device)
    n_items, dim = every.shape
    landmarks = _draw_landmarks(every, min(N_LANDMARKS, LARGEST_BASIS // n_items, n_items), rng)
    values = torch.empty(n_items, dim + len(landmarks.points), device=device)
    values[:, :dim] = every
    for start in range(0, n_items, BLOCK):
        values[start : start + BLOCK, dim:] = landmarks.whitened(every[start : start + BLOCK])
    return MapBasis(raw, values, stiffness * RIDGE, landmarks)


def _draw_landmarks(points: Tensor, n_landmarks: int, rng: np.random.Generator) -> Landmarks:
    drawn = rng.choice(len(points), max(1, n_landmarks), replace=False)
    chosen = points[torch.from_numpy(drawn).to(points.device)]
    distances = torch.pdist(chosen[:MEASURED])
    usual = float(distances.median()) if distances.numel() else 0.0
    width = WIDTH * usual if usual > 0 else 1.0
    near = closeness(chosen.double(), chosen.double(), width)
    near.diagonal().add_(JITTER)  # two landmarks may be one point
    return Landmarks(chosen, width, torch.linalg.cholesky(near).float())


def closeness(points: Tensor, landmarks: Tensor, width: float | Tensor) -> Tensor:
    """Return how close points are to landmarks: 1 at them, 0 far away."""
    # One way to compute it for any number of points, so that a point's does not depend on it; in
    # double precision, since beside one that is far away all others are as good as one point.
    apart = torch.cdist(points.double(), landmarks.double(), compute_mode="use_mm_for_euclid_dist")
    return torch.exp_(apart.square_().div_(-2 * width * width)).to(points.dtype)


class LandmarkMap(FromFeatures):
    """z(x) A + k(x) H: raw points turned, and heights around landmarks.

    Parameters
    ----------
    raw : RawMap
        z.
    turn : Tensor, shape (dim, dim)
        A.
    landmarks : Tensor, shape (n_landmarks, dim)
        What closeness k is measured to, as raw points.
    width : float
        Of their surroundings.
    heights : Tensor, shape (n_landmarks, dim)
        H.
    """

    turn: Tensor
    landmarks: Tensor
    width: Tensor
    heights: Tensor

    def __init__(
        self, raw: RawMap, turn: Tensor, landmarks: Tensor, width: float, heights: Tensor
    ) -> None:
        super().__init__(raw)
        self.register_buffer("turn", turn)
        self.register_buffer("landmarks", landmarks)
        self.register_buffer("width", torch.tensor(width))
        self.register_buffer("heights", heights)

    def forward(self, items: Tensor) -> Tensor:
        """Return the points of a batch."""
        raw_points = nn.functional.linear(self.centred(items), self.projection)
        near = closeness(raw_points, self.landmarks, self.width)
        return raw_points @ self.turn + near @ self.heights
