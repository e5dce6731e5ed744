"""Random generators: always passed in, never global."""

from __future__ import annotations

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None
"""What a `random_state` parameter takes: a seed, a generator, or None for fresh entropy."""


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that `random_state` stands for."""
    try:
        if isinstance(random_state, bool):
            raise TypeError
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be a non-negative integer, a numpy Generator or RandomState, "
            f"or None, got {random_state!r}."
        ) from None
