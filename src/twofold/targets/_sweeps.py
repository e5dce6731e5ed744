"""One pass over all statements on the CPU, in Numba.

A sweep goes item by item: it gathers the gradient of one row from the item's links, takes the
row's Adam step, and writes the row of a second table, so that no two threads write one row, all
rows see the same points, and the result does not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from twofold.targets._prefetch import prefetch_row

AHEAD = 16
"""How many links ahead a partner's row is asked for."""

ZERO, HALF, ONE, TWO = np.float32(0), np.float32(0.5), np.float32(1), np.float32(2)
TINY = np.float32(1e-12)
EPSILON = np.float32(1e-8)


# Inlined by Numba, since LLVM does not vectorise the steps of a called function here: a sweep
# then takes 1.3 times as long.
@njit(cache=True, fastmath=True, inline="always")
def _finish_row(
    i: Any,
    gradient: Any,
    points: Any,
    prior: Any,
    prior_weight: Any,
    following: Any,
    first: Any,
    second: Any,
    adam: Any,
) -> Any:
    """Add the prior's pull, take the Adam step of row i, return ½ λ ‖t − p‖²."""
    rate, keep_first, keep_second, correct_first, correct_second = adam
    strain = ZERO
    if prior_weight > ZERO:
        for k in range(points.shape[1]):
            away = points[i, k] - prior[i, k]
            gradient[k] += prior_weight * away
            strain += away * away
    for k in range(points.shape[1]):
        g = gradient[k]
        first[i, k] = keep_first * first[i, k] + (ONE - keep_first) * g
        second[i, k] = keep_second * second[i, k] + (ONE - keep_second) * g * g
        step = first[i, k] * correct_first / (np.sqrt(second[i, k] * correct_second) + EPSILON)
        following[i, k] = points[i, k] - rate * step
    return HALF * prior_weight * strain


@njit(cache=True, fastmath=True, parallel=True)
def sweep_contrastive(
    starts: Any,
    links: Any,
    weights: Any,
    statement_scale: Any,
    margin: Any,
    points: Any,
    prior: Any,
    prior_weight: Any,
    following: Any,
    first: Any,
    second: Any,
    adam: Any,
    row_loss: Any,
) -> None:
    """Take one step on y ‖a − b‖² + (1 − y) max(0, m − ‖a − b‖)²; see `Engine.sweep`."""
    n_items, dim = points.shape
    last = links.size - 1
    for i in prange(n_items):
        gradient = np.zeros(dim, np.float32)
        loss = ZERO
        for e in range(starts[i], starts[i + 1]):
            prefetch_row(points, links[min(e + AHEAD, last)].neighbour)
            j = links[e].neighbour
            y = links[e].similar
            w = weights[e] if weights.size else ONE
            square = ZERO
            for k in range(dim):
                away = points[i, k] - points[j, k]
                square += away * away
            distance = np.sqrt(square)
            gap = max(ZERO, margin - distance)
            loss += w * (y * square + (ONE - y) * gap * gap)
            slope = w * (y - (ONE - y) * gap / max(distance, TINY))
            for k in range(dim):
                gradient[k] += slope * (points[i, k] - points[j, k])
        for k in range(dim):
            gradient[k] *= TWO * statement_scale
        row_loss[i] = HALF * statement_scale * loss + _finish_row(
            i, gradient, points, prior, prior_weight, following, first, second, adam
        )


@njit(cache=True, fastmath=True, parallel=True)
def sweep_dot(
    starts: Any,
    links: Any,
    weights: Any,
    statement_scale: Any,
    margin: Any,
    points: Any,
    prior: Any,
    prior_weight: Any,
    following: Any,
    first: Any,
    second: Any,
    adam: Any,
    row_loss: Any,
) -> None:
    """Take one step on ½ (y − a·b)²; see `Engine.sweep`."""
    n_items, dim = points.shape
    last = links.size - 1
    for i in prange(n_items):
        gradient = np.zeros(dim, np.float32)
        loss = ZERO
        for e in range(starts[i], starts[i + 1]):
            prefetch_row(points, links[min(e + AHEAD, last)].neighbour)
            j = links[e].neighbour
            product = ZERO
            for k in range(dim):
                product += points[i, k] * points[j, k]
            error = product - links[e].similar
            slope = (weights[e] if weights.size else ONE) * error
            loss += HALF * slope * error
            for k in range(dim):
                gradient[k] += slope * points[j, k]
        for k in range(dim):
            gradient[k] *= statement_scale
        row_loss[i] = HALF * statement_scale * loss + _finish_row(
            i, gradient, points, prior, prior_weight, following, first, second, adam
        )


@njit(cache=True, fastmath=True, parallel=True)
def sweep_triplet(
    starts: Any,
    links: Any,
    weights: Any,
    statement_scale: Any,
    margin: Any,
    points: Any,
    prior: Any,
    prior_weight: Any,
    following: Any,
    first: Any,
    second: Any,
    adam: Any,
    row_loss: Any,
) -> None:
    """Take one step on max(0, m + ‖a − p‖² − ‖a − n‖²); see `Engine.sweep`."""
    n_items, dim = points.shape
    third = ONE / np.float32(3)
    for i in prange(n_items):
        gradient = np.zeros(dim, np.float32)
        loss = ZERO
        for e in range(starts[i], starts[i + 1]):
            a, p, n = links[e].anchor, links[e].positive, links[e].negative
            excess = margin
            for k in range(dim):
                to_positive = points[a, k] - points[p, k]
                to_negative = points[a, k] - points[n, k]
                excess += to_positive * to_positive - to_negative * to_negative
            if excess > ZERO:
                loss += excess
                for k in range(dim):
                    if i == a:
                        gradient[k] += points[n, k] - points[p, k]
                    elif i == p:
                        gradient[k] += points[p, k] - points[a, k]
                    else:
                        gradient[k] += points[a, k] - points[n, k]
        for k in range(dim):
            gradient[k] *= TWO * statement_scale
        row_loss[i] = third * statement_scale * loss + _finish_row(
            i, gradient, points, prior, prior_weight, following, first, second, adam
        )


@njit(cache=True, fastmath=True, parallel=True)
def sweep_signed(
    starts: Any,
    links: Any,
    weights: Any,
    momentum: Any,
    points: Any,
    before: Any,
    following: Any,
) -> None:
    """Replace each point by the signed mean of its partners: alike pulls, not alike pushes.

    following = D⁻¹ S points − momentum · before, with S = w (2y − 1) over the pairs and D its rows'
    absolute sums; zero for an item in no pair.
    """
    n_items, dim = points.shape
    last = links.size - 1
    for i in prange(n_items):
        total = np.zeros(dim, np.float32)
        strength = ZERO
        for e in range(starts[i], starts[i + 1]):
            prefetch_row(points, links[min(e + AHEAD, last)].neighbour)
            j = links[e].neighbour
            sign = (weights[e] if weights.size else ONE) * (TWO * links[e].similar - ONE)
            strength += abs(sign)
            for k in range(dim):
                total[k] += sign * points[j, k]
        scale = ONE / strength if strength > ZERO else ZERO
        for k in range(dim):
            following[i, k] = scale * total[k] - momentum * before[i, k]
