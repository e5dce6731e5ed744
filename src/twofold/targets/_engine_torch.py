"""The engine in torch, for GPUs: products with one sparse matrix, no Python for a pair.

Every pair's slope is worked out once from gathered rows; the gradient is then the product of the
points with a sparse matrix that holds each slope twice, whose layout never changes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from twofold.relations import PairRelation, TripletRelation
from twofold.targets._engine import AdamStep, Problem
from twofold.targets._losses import PairLoss, TripletLoss

EPSILON = 1e-8
CHUNK_NUMBERS = 2**28
"""Most numbers that one gathered table holds (1 GiB): more pairs go in several."""


class TorchEngine:
    """See `Engine`; `device` is any torch device."""

    def __init__(self, problem: Problem, start: NDArray[np.float32], device: str) -> None:
        self._device = torch.device(device)
        self._scale = problem.relation.n_items / problem.total_weight
        self._statements: _Pairs | _Triplets
        if isinstance(problem.relation, TripletRelation):
            assert isinstance(problem.loss, TripletLoss)
            self._statements = _Triplets(problem.relation, problem.loss, self._device)
        else:
            assert not isinstance(problem.loss, TripletLoss)
            self._statements = _Pairs(problem.relation, problem.loss, self._device)
        self._points = self._tensor(start).clone()
        self._following = self._points
        self._first = torch.zeros_like(self._points)
        self._second = torch.zeros_like(self._points)
        self._prior = None if problem.prior is None else self._tensor(problem.prior)
        self._prior_weight = problem.prior_weight

    def spread(self, n_passes: int, momentum: float) -> None:
        """Replace each point by the signed mean of its partners, `n_passes` times."""
        assert isinstance(self._statements, _Pairs)
        before = torch.zeros_like(self._points)
        multiply = self._statements.signed_mean()
        for _ in range(n_passes):
            before, self._points = self._points, multiply(self._points) - momentum * before

    def scale(self, factor: float) -> None:
        """Multiply all points by `factor`."""
        self._points = self._points * factor

    @torch.no_grad()
    def sweep(self, step: AdamStep) -> float:
        """Return the objective at the present points, and work out the points after them."""
        loss, gradient = self._statements.loss_and_gradient(self._points)
        loss, gradient = loss * self._scale, gradient * self._scale
        if self._prior is not None:
            away = self._points - self._prior
            loss = loss + 0.5 * self._prior_weight * (away**2).sum(dtype=torch.float64)
            gradient = gradient + self._prior_weight * away
        correct_first, correct_second = step.corrections
        self._first.lerp_(gradient, 1 - step.keep_first)
        self._second.lerp_(gradient.square_(), 1 - step.keep_second)
        size = (self._second * correct_second).sqrt_().add_(EPSILON)
        self._following = torch.addcdiv(
            self._points, self._first, size, value=-step.rate * correct_first
        )
        return float(loss) / len(self._points)

    def advance(self) -> None:
        """Go on to the points that the last sweep worked out."""
        self._points = self._following

    def points(self) -> NDArray[np.float32]:
        """Return the present points, shape (n_items, dim)."""
        return self._points.cpu().numpy()

    def rows(self, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the present points of some items, shape (len(items), dim)."""
        return self._points[self._tensor(items)].cpu().numpy()

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return _tensor(array, self._device)


class _Pairs:
    """Pairs on a device: their slopes, and the sparse matrix that gathers a gradient."""

    def __init__(self, relation: PairRelation, loss: PairLoss, device: torch.device) -> None:
        self._loss = loss
        self._n_items = relation.n_items
        self._left = _tensor(relation.left, device)
        self._right = _tensor(relation.right, device)
        self._similar = _tensor(relation.similar, device)
        self._weight = None if relation.weight is None else _tensor(relation.weight, device)
        item = torch.cat([self._left, self._right])
        order = torch.argsort(item, stable=True)
        self._pair_of_link = order % len(self._left)
        self._neighbour = torch.cat([self._right, self._left])[order].to(torch.int32)
        starts = torch.zeros(self._n_items + 1, dtype=torch.int64, device=device)
        starts[1:] = torch.cumsum(torch.bincount(item, minlength=self._n_items), 0)
        self._starts = starts.to(torch.int32)

    def loss_and_gradient(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return Σ w L and its gradient."""
        loss = torch.zeros((), dtype=torch.float64, device=points.device)
        slopes = torch.empty_like(self._similar)
        for some in _chunks(len(slopes), points.shape[1]):
            left, right = points[self._left[some]], points[self._right[some]]
            if self._loss.uses_distance:
                measure = left.sub_(right).square_().sum(1)
            else:
                measure = left.mul_(right).sum(1)
            similar = self._similar[some]
            values, slope = self._loss.value(measure, similar), self._loss.slope(measure, similar)
            if self._weight is not None:
                values, slope = values * self._weight[some], slope * self._weight[some]
            loss += values.sum(dtype=torch.float64)
            slopes[some] = slope
        matrix = self._matrix(slopes)
        if self._loss.uses_distance:
            ones = torch.ones(len(points), 1, device=points.device)
            return loss, 2 * ((matrix @ ones) * points - matrix @ points)
        return loss, matrix @ points

    def signed_mean(self) -> Any:
        """Return the product with D⁻¹ S."""
        signs = 2 * self._similar - 1
        signs = signs if self._weight is None else signs * self._weight
        ones = torch.ones(self._n_items, 1, device=signs.device)
        strength = self._matrix(signs.abs()) @ ones
        inverse = torch.where(strength > 0, 1 / strength, 0.0)
        matrix = self._matrix(signs)
        return lambda points: inverse * (matrix @ points)

    def _matrix(self, values: Tensor) -> Tensor:
        """Return the symmetric matrix that holds one value a pair."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(
                self._starts,
                self._neighbour,
                values[self._pair_of_link],
                size=(self._n_items, self._n_items),
                check_invariants=False,
            )


class _Triplets:
    """Triplets on a device."""

    def __init__(self, relation: TripletRelation, loss: TripletLoss, device: torch.device) -> None:
        self._loss = loss
        self._anchor = _tensor(relation.anchor, device)
        self._positive = _tensor(relation.positive, device)
        self._negative = _tensor(relation.negative, device)

    def loss_and_gradient(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return Σ L and its gradient."""
        loss = torch.zeros((), dtype=torch.float64, device=points.device)
        gradient = torch.zeros_like(points)
        for some in _chunks(len(self._anchor), points.shape[1]):
            a, p, n = self._anchor[some], self._positive[some], self._negative[some]
            to_positive, to_negative = points[a] - points[p], points[a] - points[n]
            excess = self._loss.value((to_positive**2).sum(1), (to_negative**2).sum(1))
            active = 2 * (excess > 0).to(points.dtype)[:, None]
            loss += excess.sum(dtype=torch.float64)
            gradient.index_add_(0, a, active * (to_positive - to_negative))
            gradient.index_add_(0, p, -active * to_positive)
            gradient.index_add_(0, n, active * to_negative)
        return loss, gradient


def _tensor(array: NDArray[Any], device: torch.device) -> Tensor:
    # A relation's arrays are read-only, which torch cannot express: it is given a copy.
    return torch.tensor(array, device=device)


def _chunks(n_statements: int, dim: int) -> list[slice]:
    size = max(1, CHUNK_NUMBERS // dim)
    return [slice(first, first + size) for first in range(0, n_statements, size)]
