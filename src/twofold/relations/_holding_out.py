"""How many statements are held out."""

from __future__ import annotations

import numpy as np

from twofold._core.checks import check_count


def n_held_out(held_out: float | int, n_statements: int, kind: str) -> int:
    """Return how many statements to hold out, at least one and not all."""
    if isinstance(held_out, float | np.floating):
        if not 0 < held_out < 1:
            raise ValueError(f"held_out must be a share in (0, 1) or a number, got {held_out}.")
        n_out = round(float(held_out) * n_statements)
    else:
        n_out = check_count("held_out", held_out)
    if not 0 < n_out < n_statements:
        raise ValueError(
            f"held_out={held_out} of {n_statements} {kind}(s) leaves one part empty. Give more "
            f"{kind}s or another share."
        )
    return n_out
