"""As many threads as a sweep can use.

A small sweep is over before a second thread has begun to help, and on a busy machine the first
then waits for the second's turn: 10 ms where the sweep itself takes 0.2. So the count follows the
work; no bit of the result depends on it.
"""

from __future__ import annotations

from twofold._core.threads import Workers, allowed_threads
from twofold.targets._engine import Objective

NUMBERS_A_THREAD = 8_000_000
"""Numbers read in one sweep that occupy one thread for some 5 ms."""


def sweeping_threads(objective: Objective, dim: int, device: str) -> Workers:
    """Return no more threads than a sweep of this size pays for; one if it runs on a GPU."""
    n_numbers = (2 * len(objective.relation) + objective.relation.n_items) * dim
    n_paid = round(n_numbers / NUMBERS_A_THREAD) if device == "cpu" else 1
    return Workers(max(1, min(allowed_threads(), n_paid)))
