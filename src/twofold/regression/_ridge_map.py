"""Maps in closed form: ridge regression on points and on an RBF kernel around landmarks.

Regressing to targets takes milliseconds where a network takes an epoch, and a kernel around a
thousand landmarks bends as much as a network of that width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold.regression._projection import Projection, ProjectionLayer

N_LANDMARKS = 2000
"""On MNIST's test part, which this was chosen on: 60,000 pairs, AUROC .9980 with 2,000, .9966 with
1,000."""
LARGEST_BASIS, LARGEST_MAP = 2**27, 2**18
"""Numbers that a basis may hold, half a gigabyte, and the kernel's part of a map, a megabyte: with
more items, and with more than 131 directions, there are fewer landmarks. (With 2,000 landmarks for
256 directions amazon-google took 2.5 times as long, and AUROC was the same.)"""
KERNEL_WIDTH = 0.5
"""Of the RBF kernel, in median distances of two landmarks."""
RIDGE = 30.0
"""ρ, in items: what fewer items than so many have in common is hardly learnt."""
LARGEST_HAT = 1
"""Items a function up to which a hat matrix saves time: each regression is then one product."""
JITTER = 1e-3
BLOCK = 4096
N_MEASURED = 500
"""Landmarks whose distances give the median."""


@dataclass(frozen=True, slots=True, eq=False)
class RidgeBasis:
    """The functions of items that a ridge map is a weighted sum of, evaluated on its items.

    Attributes
    ----------
    projection : Projection
        The features as points z, which the weighted sum is added to.
    values : Tensor of float32, shape (n_items, n_directions + n_landmarks)
        F: the points, then the kernel times C⁻ᵀ, where C Cᵀ is the landmarks' own kernel. With
        that the sum of squared weights is the norm of the kernel's function space.
    landmarks : Tensor of float32, shape (n_landmarks, n_directions)
        Points of some items.
    width : float
        Of the kernel.
    factor : Tensor of float32, shape (n_landmarks, n_landmarks)
        C.
    """

    projection: Projection
    values: Tensor
    landmarks: Tensor
    width: float
    factor: Tensor

    def regression(self, ridge: float, rows: NDArray[np.int64] | None = None) -> RidgeRegression:
        """Return ridge regression on these functions, from some rows of items, all by default."""
        fitted = self.values
        if rows is not None:
            fitted = fitted[torch.from_numpy(rows).to(fitted.device)]
        gram = fitted.T @ fitted
        gram.diagonal().add_(ridge)
        factor = torch.linalg.cholesky(gram)
        hat = None
        if len(self.values) <= LARGEST_HAT * self.values.shape[1]:
            hat = self.values @ torch.cholesky_solve(fitted.T, factor)
        return RidgeRegression(self.values, fitted, factor, hat)

    def as_map(self, weights: Tensor) -> RidgeMap:
        """Return z + F(z) W as a map of any features."""
        n_directions = self.projection.n_directions
        linear_weights = torch.eye(n_directions) + weights[:n_directions].cpu()
        dual_coef = torch.linalg.solve_triangular(self.factor.T, weights[n_directions:], upper=True)
        return RidgeMap(
            self.projection, linear_weights, self.landmarks.cpu(), self.width, dual_coef.cpu()
        )


@dataclass(frozen=True, slots=True, eq=False)
class RidgeRegression:
    """Ridge regression of one set of outputs after another on the same functions.

    Attributes
    ----------
    values : Tensor of float32, shape (n_items, n_functions)
        Of all items.
    fitted : Tensor of float32, shape (n_fitted, n_functions)
        F, of the items that are regressed on.
    factor : Tensor of float32, shape (n_functions, n_functions)
        The Cholesky factor of FᵀF + ρI.
    hat : Tensor of float32, shape (n_items, n_fitted), or None
        From outputs to predictions in one product, where there are few items.
    """

    values: Tensor
    fitted: Tensor
    factor: Tensor
    hat: Tensor | None

    def weights(self, outputs: Tensor) -> Tensor:
        """Return (FᵀF + ρI)⁻¹ Fᵀ Y for outputs Y, shape (n_functions, n_outputs)."""
        return torch.cholesky_solve(self.fitted.T @ outputs, self.factor)

    def predict(self, outputs: Tensor) -> Tensor:
        """Return what is predicted for all items, shape (n_items, n_outputs)."""
        return self.values @ self.weights(outputs) if self.hat is None else self.hat @ outputs


def ridge_basis(
    projection: Projection,
    points: NDArray[np.float32],
    device: str,
    rng: np.random.Generator,
) -> RidgeBasis:
    """Return the basis of ridge maps of items, whose points are given; landmarks are drawn of them.

    Parameters
    ----------
    projection : Projection
        From features to points.
    points : ndarray of float32, shape (n_items, n_directions)
        The items' points.
    device : str
        Where the basis is to lie.
    rng : Generator
        Draws the landmarks.
    """
    every = torch.from_numpy(points).to(device)
    n_items, n_directions = every.shape
    affordable = min(LARGEST_BASIS // n_items, LARGEST_MAP // n_directions)
    n_landmarks = max(1, min(N_LANDMARKS, affordable, n_items))
    drawn = rng.choice(n_items, n_landmarks, replace=False)
    landmarks = every[torch.from_numpy(drawn).to(device)]
    width = _kernel_width(landmarks)
    kernel = rbf_kernel(landmarks.double(), landmarks.double(), width)
    kernel.diagonal().add_(JITTER)  # two landmarks may coincide
    factor = torch.linalg.cholesky(kernel).float()
    values = torch.empty(n_items, n_directions + n_landmarks, device=device)
    values[:, :n_directions] = every
    for start in range(0, n_items, BLOCK):
        kernel = rbf_kernel(every[start : start + BLOCK], landmarks, width)
        whitened = torch.linalg.solve_triangular(factor, kernel.T, upper=False).T
        values[start : start + BLOCK, n_directions:] = whitened
    return RidgeBasis(projection, values, landmarks, width, factor)


def _kernel_width(landmarks: Tensor) -> float:
    distances = torch.pdist(landmarks[:N_MEASURED])
    median = float(distances.median()) if distances.numel() else 0.0
    return KERNEL_WIDTH * median if median > 0 else 1.0


def rbf_kernel(points: Tensor, landmarks: Tensor, width: float | Tensor) -> Tensor:
    """Return exp(−‖z − l‖² / 2 width²) of all points and landmarks."""
    # In double precision: beside one outlier all other points round to one.
    distances = torch.cdist(
        points.double(), landmarks.double(), compute_mode="use_mm_for_euclid_dist"
    )
    return torch.exp_(distances.square_().div_(-2 * width * width)).to(points.dtype)


class RidgeMap(nn.Module):
    """z(x) A + k(x) H: points times linear weights, plus a kernel expansion around landmarks.

    Parameters
    ----------
    projection : Projection
        z.
    linear_weights : Tensor, shape (n_directions, n_directions)
        A.
    landmarks : Tensor, shape (n_landmarks, n_directions)
        What the kernel k measures the distance to.
    width : float
        Of the kernel.
    dual_coef : Tensor, shape (n_landmarks, n_directions)
        H.
    """

    linear_weights: Tensor
    landmarks: Tensor
    width: Tensor
    dual_coef: Tensor

    def __init__(
        self,
        projection: Projection,
        linear_weights: Tensor,
        landmarks: Tensor,
        width: float,
        dual_coef: Tensor,
    ) -> None:
        super().__init__()
        self.projection = ProjectionLayer(projection)
        self.register_buffer("linear_weights", linear_weights)
        self.register_buffer("landmarks", landmarks)
        self.register_buffer("width", torch.tensor(width))
        self.register_buffer("dual_coef", dual_coef)

    def forward(self, items: Tensor) -> Tensor:
        """Return the points of a batch."""
        points = self.projection(items)
        kernel = rbf_kernel(points, self.landmarks, self.width)
        mapped: Tensor = points @ self.linear_weights + kernel @ self.dual_coef
        return mapped
