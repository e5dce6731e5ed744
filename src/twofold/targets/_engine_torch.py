"""The engine in torch, for GPUs: no Python for a pair.

Statements are kept as on a CPU, listed by item, so that an item's whole gradient is gathered in
one place. On a CUDA device with Triton the gathering is one fused kernel; elsewhere it is a few
torch operations on gathered rows, which every torch device can do.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from twofold.relations import PairRelation, TripletRelation
from twofold.targets._engine import AdamStep, Objective
from twofold.targets._losses import PairLoss, TripletLoss

EPSILON = 1e-8
CHUNK_NUMBERS = 2**27
"""Most numbers that a gathered table holds (½ GiB): more statements go in several."""


class TorchEngine:
    """See `Engine`; `device` is any torch device."""

    def __init__(self, objective: Objective, start: NDArray[np.float32], device: str) -> None:
        self._device = torch.device(device)
        self._scale = objective.relation.n_items / objective.total_weight
        self._statements: PairLinks | TripletList
        if isinstance(objective.relation, TripletRelation):
            assert isinstance(objective.loss, TripletLoss)
            self._statements = TripletList(objective.relation, objective.loss, self._device)
        else:
            assert not isinstance(objective.loss, TripletLoss)
            self._statements = PairLinks(objective.relation, objective.loss, self._device)
        self._points = _tensor(start, self._device)
        self._before = self._following = self._points
        self._first = torch.zeros_like(self._points)
        self._second = torch.zeros_like(self._points)
        self._prior = None if objective.prior is None else _tensor(objective.prior, self._device)
        self._prior_weight = objective.prior_weight

    def spread(self, n_passes: int, momentum: float) -> None:
        """Replace each point by the signed mean of its partners, `n_passes` times."""
        assert isinstance(self._statements, PairLinks)
        before = torch.zeros_like(self._points)
        for _ in range(n_passes):
            following = self._statements.signed_mean(self._points) - momentum * before
            before, self._points = self._points, following

    def blend(self, factor: float, offset: NDArray[np.float32]) -> None:
        """Replace the points T by factor · T + offset."""
        self._points = self._points * factor + _tensor(offset, self._device)

    def zero_unlinked(self) -> None:
        """Move the items that are in no statement to 0."""
        linked = self._statements.linked(len(self._points))
        self._points = self._points * linked[:, None]

    def sweep(self, step: AdamStep) -> float:
        """Return the objective at the present points, and work out the points after them."""
        loss, gradient = self._statements.loss_and_gradient(self._points)
        loss, gradient = loss * self._scale, gradient.mul_(self._scale)
        if self._prior is not None:
            away = self._points - self._prior
            loss = loss + 0.5 * self._prior_weight * (away**2).sum(dtype=torch.float64)
            gradient.add_(away, alpha=self._prior_weight)
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
        self._before, self._points = self._points, self._following

    def retreat(self) -> None:
        """Go back to the points before the last advance, and forget the first moment."""
        self._points = self._before
        self._first.zero_()

    def points(self) -> NDArray[np.float32]:
        """Return the present points, shape (n_items, dim)."""
        return self._points.cpu().numpy()

    def rows(self, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the present points of some items, shape (len(items), dim)."""
        return self._points[_tensor(items, self._device)].cpu().numpy()


class PairLinks:
    """Pairs on a device, each listed with both its items.

    Attributes
    ----------
    starts : Tensor of int64, shape (n_items + 1,)
        Item i's links are those from ``starts[i]`` to ``starts[i + 1]``.
    neighbour : Tensor of int32, shape (2 n_pairs,)
        The other item of each link.
    similar : Tensor of float32, shape (2 n_pairs,)
        What the link states.
    weight : Tensor of float32, shape (2 n_pairs,), or None
        How much it counts.
    """

    def __init__(self, relation: PairRelation, loss: PairLoss, device: torch.device) -> None:
        left, right = _tensor(relation.left, device), _tensor(relation.right, device)
        item = torch.cat([left, right])
        order = torch.argsort(item, stable=True)
        pair = order % relation.n_pairs
        self.loss = loss
        self.starts = torch.zeros(relation.n_items + 1, dtype=torch.int64, device=device)
        self.starts[1:] = torch.cumsum(torch.bincount(item, minlength=relation.n_items), 0)
        self.neighbour = torch.cat([right, left])[order].to(torch.int32)
        self.similar = _tensor(relation.similar, device)[pair]
        self.weight = None if relation.weight is None else _tensor(relation.weight, device)[pair]
        signs = 2 * self.similar - 1
        self._signs = signs if self.weight is None else signs * self.weight
        strength = torch.segment_reduce(self._signs.abs(), "sum", offsets=self.starts)
        self._inverse_strength = torch.where(strength > 0, 1 / strength, 0.0)[:, None]
        self._fused = _fused_gather() if device.type == "cuda" else None

    def loss_and_gradient(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return Σ w L and its gradient."""
        if self._fused is None:
            return self._by_rows(points, self._link_loss_and_gradient)
        kind = self._fused.DISTANCE if self.loss.uses_distance else self._fused.DOT
        loss, gradient = self._gather(kind, self.similar, self.weight, points)
        return loss.sum(dtype=torch.float64) / 2, gradient

    def linked(self, n_items: int) -> Tensor:
        """Which items are in a pair, shape (n_items,)."""
        return self.starts.diff() > 0

    def signed_mean(self, points: Tensor) -> Tensor:
        """Return D⁻¹ S points."""
        if self._fused is None:
            _, total = self._by_rows(points, self._link_signed)
        else:
            _, total = self._gather(self._fused.SUM, self._signs, None, points)
        return total * self._inverse_strength

    def _gather(
        self, kind: Any, similar: Tensor, weight: Tensor | None, points: Tensor
    ) -> tuple[Tensor, Tensor]:
        assert self._fused is not None
        with torch.cuda.device(points.device):  # Triton launches on the current one
            loss, rows = self._fused.gather(
                kind, self.starts, self.neighbour, similar, weight, points, self.loss.length
            )
        return loss, rows

    def _by_rows(
        self, points: Tensor, of_links: Callable[[Tensor, Tensor, slice], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        """Sum what links give their items, some items at a time."""
        total = torch.zeros((), dtype=torch.float64, device=points.device)
        rows = torch.zeros_like(points)
        n_links = max(1, CHUNK_NUMBERS // points.shape[1])
        item = 0
        while item < len(points):
            limit = self.starts[item] + n_links
            end = max(item + 1, int(torch.searchsorted(self.starts, limit, right=True)) - 1)
            links = slice(int(self.starts[item]), int(self.starts[end]))
            offsets = self.starts[item : end + 1] - links.start
            own = torch.repeat_interleave(points[item:end], offsets.diff(), dim=0)
            values, vectors = of_links(own, points[self.neighbour[links]], links)
            total += values.sum(dtype=torch.float64)
            rows[item:end] = torch.segment_reduce(vectors, "sum", offsets=offsets)
            item = end
        return total / 2, rows

    def _link_loss_and_gradient(
        self, own: Tensor, other: Tensor, links: slice
    ) -> tuple[Tensor, Tensor]:
        similar = self.similar[links]
        direction = 2 * (own - other) if self.loss.uses_distance else other
        measure = (own - other).square().sum(1) if self.loss.uses_distance else (own * other).sum(1)
        values, slope = self.loss.value(measure, similar), self.loss.slope(measure, similar)
        if self.weight is not None:
            values, slope = values * self.weight[links], slope * self.weight[links]
        return values, slope[:, None] * direction

    def _link_signed(self, own: Tensor, other: Tensor, links: slice) -> tuple[Tensor, Tensor]:
        signs = self._signs[links]
        return signs, signs[:, None] * other


class TripletList:
    """Triplets on a device."""

    def __init__(self, relation: TripletRelation, loss: TripletLoss, device: torch.device) -> None:
        self._loss = loss
        self._anchor = _tensor(relation.anchor, device)
        self._positive = _tensor(relation.positive, device)
        self._negative = _tensor(relation.negative, device)

    def linked(self, n_items: int) -> Tensor:
        """Which items are in a triplet, shape (n_items,)."""
        items = torch.cat([self._anchor, self._positive, self._negative])
        return torch.bincount(items, minlength=n_items) > 0

    def loss_and_gradient(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return Σ L and its gradient."""
        loss = torch.zeros((), dtype=torch.float64, device=points.device)
        gradient = torch.zeros_like(points)
        size = max(1, CHUNK_NUMBERS // points.shape[1])
        for first in range(0, len(self._anchor), size):
            some = slice(first, first + size)
            a, p, n = self._anchor[some], self._positive[some], self._negative[some]
            to_positive, to_negative = points[a] - points[p], points[a] - points[n]
            excess = self._loss.value(to_positive.square().sum(1), to_negative.square().sum(1))
            active = 2 * (excess > 0).to(points.dtype)[:, None]
            loss += excess.sum(dtype=torch.float64)
            gradient.index_add_(0, a, active * (to_positive - to_negative))
            gradient.index_add_(0, p, -active * to_positive)
            gradient.index_add_(0, n, active * to_negative)
        return loss, gradient


def _fused_gather() -> Any:
    """Return the Triton kernels' module, None where Triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return None
    from twofold.targets import _fused_gather

    return _fused_gather


def _tensor(array: NDArray[Any], device: torch.device) -> Tensor:
    # A relation's arrays are read-only, which torch cannot express: it is given a copy.
    return torch.tensor(array, device=device)
