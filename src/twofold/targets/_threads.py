"""As many threads as a sweep can use.

A small sweep is over before a second thread has begun to help, and on a busy machine the first
then waits for the second's turn: 10 ms where the sweep itself takes 0.2. So the count follows the
work; results depend on it by rounding at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba

from twofold.targets._engine import Objective

NUMBERS_A_THREAD = 8_000_000
"""Numbers read in one sweep that occupy one thread for some 5 ms."""


@contextmanager
def fitting_threads(objective: Objective, dim: int) -> Iterator[None]:
    """Have Numba use no more threads inside than a sweep of this size pays for."""
    allowed = numba.get_num_threads()
    n_numbers = (2 * len(objective.relation) + objective.relation.n_items) * dim
    numba.set_num_threads(max(1, min(allowed, round(n_numbers / NUMBERS_A_THREAD))))
    try:
        yield
    finally:
        numba.set_num_threads(allowed)
