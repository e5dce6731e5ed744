"""The engine for losses of a user's own: NumPy and sparse products, on a CPU.

A loss is called once a sweep with all pairs at once, so that it may be written in NumPy. A sweep
takes six or seven times as long as the compiled ones of the built-in losses (400,000 pairs in 16
components, one thread).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.relations import PairRelation
from twofold.targets._engine import AdamStep, Objective
from twofold.targets._losses import TripletLoss

EPSILON = np.float32(1e-8)
Vector = NDArray[np.float32]


class NumpyEngine:
    """See `Engine`; for any `PairLoss`."""

    def __init__(self, objective: Objective, start: NDArray[np.float32]) -> None:
        relation, loss = objective.relation, objective.loss
        assert isinstance(relation, PairRelation)
        assert not isinstance(loss, TripletLoss)
        self._relation, self._loss, self._objective = relation, loss, objective
        weight = relation.weight
        self._weight = np.ones(len(relation), np.float32) if weight is None else weight
        self._scale = np.float32(relation.n_items / objective.total_weight)
        self._adjacency, self._pair = _adjacency(relation)
        self._points = start.astype(np.float32)
        self._before = self._following = self._points
        self._first, self._second = np.zeros_like(self._points), np.zeros_like(self._points)

    def spread(self, n_passes: int, momentum: float) -> None:
        """Replace each point by the signed mean of its partners, `n_passes` times."""
        signs = self._weight * (2 * self._relation.similar - 1)
        strength = self._with(np.abs(signs)).sum(axis=1)
        inverse = np.divide(1, strength, out=np.zeros_like(strength), where=strength > 0)
        signed, before = self._with(signs), np.zeros_like(self._points)
        for _ in range(n_passes):
            following = inverse[:, None] * (signed @ self._points) - np.float32(momentum) * before
            before, self._points = self._points, following

    def blend(self, factor: float, offset: NDArray[np.float32]) -> None:
        """Replace the points T by factor · T + offset."""
        self._points = self._points * np.float32(factor) + offset

    def zero_unlinked(self) -> None:
        """Move the items that are in no statement to 0."""
        self._points[~self._relation.linked] = 0

    def sweep(self, step: AdamStep) -> float:
        """Return the objective at the present points, and work out the points after them."""
        loss, gradient = self._loss_and_gradient()
        correct_first, correct_second = (np.float32(number) for number in step.corrections)
        keep_first, keep_second = np.float32(step.keep_first), np.float32(step.keep_second)
        self._first = keep_first * self._first + (1 - keep_first) * gradient
        self._second = keep_second * self._second + (1 - keep_second) * gradient**2
        size = np.sqrt(self._second * correct_second) + EPSILON
        self._following = self._points - np.float32(step.rate) * self._first * correct_first / size
        return loss

    def _loss_and_gradient(self) -> tuple[float, NDArray[np.float32]]:
        """Return F and the gradient of n F."""
        points, relation, loss = self._points, self._relation, self._loss
        left, right = points[relation.left], points[relation.right]
        factors = (left - right, left - right) if loss.uses_distance else (left, right)
        measure = np.einsum("ij,ij->i", *factors)
        values = np.asarray(loss.value(measure, relation.similar), dtype=np.float64)
        slope = np.asarray(loss.slope(measure, relation.similar), dtype=np.float32)
        matrix = self._with(self._scale * self._weight * slope)
        gradient = matrix @ points
        if loss.uses_distance:  # 2 Σ s (t_i − t_j)
            gradient = 2 * (matrix.sum(axis=1)[:, None] * points - gradient)
        total = float(values @ self._weight) / self._objective.total_weight
        if self._objective.prior is not None:
            away = points - self._objective.prior
            weight = self._objective.prior_weight
            gradient += np.float32(weight) * away
            total += 0.5 * weight * float(np.square(away, dtype=np.float64).sum()) / len(points)
        return total, gradient

    def _with(self, values: Vector) -> sparse.csr_array:
        """Return the symmetric matrix that has `values` at the pairs."""
        matrix = self._adjacency
        data = values.astype(np.float32, copy=False)[self._pair]
        return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)

    def advance(self) -> None:
        """Go on to the points that the last sweep worked out."""
        self._before, self._points = self._points, self._following

    def retreat(self) -> None:
        """Go back to the points before the last advance, and forget the first moment."""
        self._points = self._before
        self._first = np.zeros_like(self._first)

    def points(self) -> NDArray[np.float32]:
        """Return the present points, shape (n_items, dim)."""
        return self._points

    def rows(self, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the present points of some items, shape (len(items), dim)."""
        return self._points[items]


def _adjacency(relation: PairRelation) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return where pairs stand in a symmetric matrix, both ways, and the pair of each entry.

    A pair that is stated twice has two entries, which products add up.
    """
    row = np.concatenate([relation.left, relation.right])
    column = np.concatenate([relation.right, relation.left])
    order = np.argsort(row, kind="stable")
    starts = np.zeros(relation.n_items + 1, dtype=np.int64)
    starts[1:] = np.cumsum(np.bincount(row, minlength=relation.n_items))
    matrix = sparse.csr_array(
        (np.ones(row.size, np.float32), column[order], starts),
        shape=(relation.n_items, relation.n_items),
    )
    return matrix, order % max(1, len(relation))
