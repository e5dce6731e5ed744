"""The loss of Large Margin Nearest Neighbour, its gradient and its dual, by blocks of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

BLOCK_NUMBERS = 2**21
"""Distances that are held at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class MarginProblem:
    """Items that are to lie nearer to their target neighbours than to any of another class.

    Attributes
    ----------
    points : ndarray of float64, shape (n_items, n_features)
        x.
    classes : ndarray of int64, shape (n_items,)
        y.
    targets : ndarray of int64, shape (n_items, k)
        Each item's target neighbours, all of its own class.
    push : float
        μ, in [0, 1]: the weight of impostors; 1 − μ is that of target neighbours.
    """

    points: NDArray[np.float64]
    classes: NDArray[np.int64]
    targets: NDArray[np.int64]
    push: float

    def pull_matrix(self) -> NDArray[np.float64]:
        """Return (1 − μ) Σ_{i, j target of i} (x_i − x_j)(x_i − x_j)ᵀ, what draws targets in."""
        n_items, k = self.targets.shape
        every = np.repeat(np.arange(n_items), k), self.targets.ravel()
        ones = sparse.csr_array((np.ones(n_items * k), every), shape=(n_items, n_items))
        return (1 - self.push) * pair_scatter(self.points, slice(0, n_items), ones)


@dataclass(frozen=True, slots=True, eq=False)
class MarginLoss:
    """What one metric costs.

    Attributes
    ----------
    loss, smoothed : float
        With the hinge itself, and with the smoothed hinge.
    gradient : ndarray of float64, shape (n_features, n_features)
        Of the smoothed loss.
    dual_sum, dual_square : float
        Σ λ and s/(2μ) Σ λ², where λ = μ h'(z) is each triple's multiplier and s the smoothing.
    """

    loss: float
    smoothed: float
    gradient: NDArray[np.float64]
    dual_sum: float
    dual_square: float


def target_neighbours(
    points: NDArray[np.float64], classes: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return the k nearest items of each item's own class, shape (n_items, k)."""
    targets = np.empty((len(points), k), dtype=np.int64)
    for label in np.unique(classes):
        members = np.flatnonzero(classes == label)
        search = NearestNeighbors(n_neighbors=k).fit(points[members])
        targets[members] = members[search.kneighbors(return_distance=False)]
    return targets


def margin_loss(
    problem: MarginProblem,
    pull_matrix: NDArray[np.float64],
    metric: NDArray[np.float64],
    smoothing: float,
) -> MarginLoss:
    """Return the loss of a metric M and its gradient, in O(n² d) and blocks of bounded memory.

    (1 − μ) Σ_{i,j} d(i, j) + μ Σ_{i,j,l} h(1 + d(i, j) − d(i, l)), d(i, j) = (x_i − x_j)ᵀ M
    (x_i − x_j), over target neighbours j and items l of another class. h is the hinge, or for a
    smoothing s > 0: z²/2s up to s, and z − s/2 beyond.
    """
    slope_sum = hinge = slope_hinge = slope_square = 0.0
    gradient = pull_matrix.copy()
    for rows, impostors in _impostors_by_block(problem, metric):
        slack = impostors.slack
        slope = np.minimum(slack / smoothing, 1) if smoothing else (slack > 0).astype(np.float64)
        hinge += slack.sum()
        slope_sum += slope.sum()
        slope_hinge += np.vdot(slope, slack)
        slope_square += np.vdot(slope, slope)
        weights = _pair_weights(problem.targets[rows], impostors, slope, len(problem.points))
        gradient += problem.push * pair_scatter(problem.points, rows, weights)
    pull = float(np.vdot(pull_matrix, metric))
    square = 0.5 * smoothing * slope_square
    return MarginLoss(
        loss=float(pull + problem.push * hinge),
        smoothed=float(pull + problem.push * (slope_hinge - square)),
        gradient=gradient,
        dual_sum=float(problem.push * slope_sum),
        dual_square=float(problem.push * square),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Impostors:
    """Pairs (item, impostor) of a block, and by how much the impostor is too near."""

    item: NDArray[np.int64]  # counted within the block, shape (n_pairs,)
    impostor: NDArray[np.int64]  # shape (n_pairs,)
    slack: NDArray[np.float64]  # max(0, 1 + d(i, j) − d(i, l)), shape (n_pairs, k)


def _impostors_by_block(
    problem: MarginProblem, metric: NDArray[np.float64]
) -> Iterator[tuple[slice, _Impostors]]:
    points, classes, targets = problem.points, problem.classes, problem.targets
    mapped = points @ metric
    squared = np.einsum("ij,ij->i", mapped, points)
    near = np.column_stack(
        [squared + squared[j] - 2 * np.einsum("ij,ij->i", mapped, points[j]) for j in targets.T]
    )
    reach = 1 + near.max(axis=1)
    size = max(1, BLOCK_NUMBERS // len(points))
    for first in range(0, len(points), size):
        rows = slice(first, min(len(points), first + size))
        apart = squared[rows, None] + squared - 2 * (mapped[rows] @ points.T)
        too_near = (apart < reach[rows, None]) & (classes[rows, None] != classes)
        item, impostor = np.nonzero(too_near)
        slack = (1 + near[rows][item] - apart[item, impostor][:, None]).clip(0)
        yield rows, _Impostors(item, impostor, slack)


def _pair_weights(
    targets: NDArray[np.int64],
    impostors: _Impostors,
    slope: NDArray[np.float64],
    n_items: int,
) -> sparse.csr_array:
    """Return how much each pair's distance counts: more of it for targets, less for impostors."""
    size, k = targets.shape
    held = [np.bincount(impostors.item, slope[:, j], size) for j in range(k)]
    weight = np.concatenate([-slope.sum(axis=1), *held])
    item = np.concatenate([impostors.item, np.tile(np.arange(size), k)])
    other = np.concatenate([impostors.impostor, targets.T.ravel()])
    return sparse.csr_array((weight, (item, other)), shape=(size, n_items))


def pair_scatter(
    points: NDArray[np.float64], rows: slice, weights: sparse.csr_array
) -> NDArray[np.float64]:
    """Return Σ w_il (x_i − x_l)(x_i − x_l)ᵀ over the items i of `rows` and all l.

    Parameters
    ----------
    points : ndarray of float64, shape (n_items, n_features)
        x.
    rows : slice
        The items i.
    weights : csr_array, shape (n_rows, n_items)
        w.
    """
    block = points[rows]
    crossed = block.T @ (weights @ points)
    mass = np.asarray(weights.sum(axis=0)).ravel()
    mass[rows] += np.asarray(weights.sum(axis=1)).ravel()
    scatter: NDArray[np.float64] = (points.T * mass) @ points - crossed - crossed.T
    return scatter
