"""One bit of every item on the CPU, in Numba: passes over links that only ever lower the loss.

A pass goes item by item and takes for each the sign that its partners' present bits ask for, so
that what later items see is already better. All numbers are whole where pairs have no weights:
their sums are exact, whatever the order of an item's links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)


@njit(cache=True, nogil=True)
def fill_pulls(links: Any, weights: Any, agreement: Any, n_bits: Any, pulls: Any) -> None:
    """Set each link's pull: w (b (2y − 1) − what the other bits already agree)."""
    for e in range(links.size):
        pull = n_bits * (TWO * links[e].similar - ONE) - agreement[e]
        pulls[e] = weights[e] * pull if weights.size else pull


@njit(cache=True, nogil=True)
def sweep_bit(starts: Any, links: Any, pulls: Any, bit: Any) -> int:
    """Give each item the sign of Σ_j pull_ij z_j, in turn; return how many changed."""
    n_changed = 0
    for i in range(starts.size - 1):
        asked = ZERO
        for e in range(starts[i], starts[i + 1]):
            asked += pulls[e] * bit[links[e].neighbour]
        if asked * bit[i] < ZERO:
            bit[i] = -bit[i]
            n_changed += 1
    return n_changed


@njit(cache=True, nogil=True)
def add_agreement(starts: Any, links: Any, bit: Any, sign: Any, agreement: Any) -> None:
    """Add a bit's part, times `sign`, to how far the codes of each link's two items agree."""
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            agreement[e] += sign * bit[i] * bit[links[e].neighbour]


@njit(cache=True, nogil=True)
def bit_margins(starts: Any, links: Any, pulls: Any, bit: Any, margins: Any) -> None:
    """Set, of each item, how much more its pairs would lose with the other sign."""
    for i in range(starts.size - 1):
        asked = ZERO
        for e in range(starts[i], starts[i + 1]):
            asked += pulls[e] * bit[links[e].neighbour]
        margins[i] = max(ZERO, asked * bit[i])
