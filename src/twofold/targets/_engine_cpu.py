"""The engine on a CPU: Numba sweeps over links."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.threads import Workers
from twofold.relations import TripletRelation
from twofold.targets import _sweeps
from twofold.targets._engine import AdamStep, Objective
from twofold.targets._links import link_pairs, link_triplets
from twofold.targets._losses import ContrastiveLoss, TripletLoss

CACHE_LINE_BYTES = 64
PARTS_A_THREAD = 4
"""More than one, so that a thread that was held up is helped out by others."""


class CpuEngine:
    """See `Engine`; sweeps are shared out to `workers`, which changes no bit."""

    def __init__(
        self,
        objective: Objective,
        start: NDArray[np.float32],
        workers: Workers | None = None,
    ) -> None:
        relation = objective.relation
        self._workers = workers or Workers()
        self._n_items = relation.n_items
        self._links = (
            link_triplets(relation)
            if isinstance(relation, TripletRelation)
            else link_pairs(relation, self._workers)
        )
        self._parts = _even_parts(self._links.starts, self._workers.n_threads)
        self._kernel, self._margin = _kernel_and_margin(objective)
        self._statement_scale = np.float32(self._n_items / objective.total_weight)
        self._points = _aligned(start.shape)
        self._points[:] = start
        self._before = _aligned(start.shape)
        self._following = _aligned(start.shape)
        self._first = np.zeros_like(start)
        self._second = np.zeros_like(start)
        self._row_loss = np.empty(self._n_items, dtype=np.float32)
        # Without a prior its weight is 0 and the array is never read.
        self._prior = start if objective.prior is None else objective.prior
        self._prior_weight = np.float32(objective.prior_weight)

    def spread(self, n_passes: int, momentum: float) -> None:
        """Replace each point by the signed mean of its partners, `n_passes` times."""
        self._before[:] = 0
        for _ in range(n_passes):
            self._share_out(
                _sweeps.sweep_signed,
                np.float32(momentum),
                self._points,
                self._before,
                self._following,
            )
            self.advance()

    def blend(self, factor: float, offset: NDArray[np.float32]) -> None:
        """Replace the points T by factor · T + offset."""
        self._points *= np.float32(factor)
        self._points += offset

    def zero_unlinked(self) -> None:
        """Move the items that are in no statement to 0."""
        self._points[np.diff(self._links.starts) == 0] = 0

    def sweep(self, step: AdamStep) -> float:
        """Return the objective at the present points, and work out the points after them."""
        adam = (step.rate, step.keep_first, step.keep_second, *step.corrections)
        self._share_out(
            self._kernel,
            self._statement_scale,
            self._margin,
            self._points,
            self._prior,
            self._prior_weight,
            self._following,
            self._first,
            self._second,
            tuple(np.float32(number) for number in adam),
            self._row_loss,
        )
        return float(self._row_loss.sum(dtype=np.float64)) / self._n_items

    def _share_out(self, kernel: Any, *given: Any) -> None:
        links = self._links
        self._workers.run(
            kernel,
            ((*part, links.starts, links.links, links.weights, *given) for part in self._parts),
        )

    def advance(self) -> None:
        """Go on to the points that the last sweep worked out."""
        self._before, self._points, self._following = (
            self._points,
            self._following,
            self._before,
        )

    def retreat(self) -> None:
        """Go back to the points before the last advance, and forget the first moment."""
        self._points, self._before = self._before, self._points
        self._first[:] = 0

    def points(self) -> NDArray[np.float32]:
        """Return the present points, shape (n_items, dim)."""
        return self._points

    def rows(self, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the present points of some items, shape (len(items), dim)."""
        return self._points[items]


def _even_parts(starts: NDArray[np.int64], n_threads: int) -> list[tuple[int, int]]:
    """Part the items into runs of about equal work: an item costs a link more than it has."""
    n_parts = 1 if n_threads == 1 else PARTS_A_THREAD * n_threads
    work = starts + np.arange(starts.size)
    bounds = np.searchsorted(work, np.linspace(0, work[-1], n_parts + 1))
    return [(int(begin), int(end)) for begin, end in pairwise(bounds) if begin < end]


def _aligned(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return an empty table whose rows straddle as few cache lines as their length allows."""
    n_bytes = 4 * int(np.prod(shape))
    room = np.empty(n_bytes + CACHE_LINE_BYTES, dtype=np.uint8)
    offset = -room.ctypes.data % CACHE_LINE_BYTES
    return room[offset : offset + n_bytes].view(np.float32).reshape(shape)


def _kernel_and_margin(objective: Objective) -> tuple[Any, np.float32]:
    loss = objective.loss
    if isinstance(loss, TripletLoss):
        return _sweeps.sweep_triplet, np.float32(loss.margin)
    if isinstance(loss, ContrastiveLoss):
        return _sweeps.sweep_contrastive, np.float32(loss.margin)
    return _sweeps.sweep_dot, np.float32(0)
