"""Within one table no record of a pair comes first: similarities that ignore the order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MIRRORED = (
    ("left in right", "right in left"),
    ("rarest left only", "rarest right only"),
    ("sum left only", "sum right only"),
    ("left margin", "right margin"),
    ("left rank", "right rank"),
)
"""What becomes of each when the two records change places: the other."""
SIGNED = ("log ratio", "difference")
"""What changes its sign then."""


def orderless(X: NDArray[np.float32], names: Sequence[str]) -> NDArray[np.float32]:
    """Return the smaller and the larger of mirrored features, and the size of signed ones.

    Parameters
    ----------
    X : ndarray of float32, shape (n_pairs, n_features)
        Similarities.
    names : sequence of str
        What each compares, as two tables have it.
    """
    X = X.copy()
    for one, other in _mirrored_columns(names):
        X[:, one], X[:, other] = (
            np.minimum(X[:, one], X[:, other]),
            np.maximum(X[:, one], X[:, other]),
        )
    signed = [at for at, name in enumerate(names) if name.endswith(tuple(f": {s}" for s in SIGNED))]
    X[:, signed] = np.abs(X[:, signed])
    return X


def orderless_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of what `orderless` gives."""
    told = list(names)
    for one, other in _mirrored_columns(names):
        told[one], told[other] = f"{names[one]}, smaller", f"{names[one]}, larger"
    return tuple(told)


def _mirrored_columns(names: Sequence[str]) -> list[tuple[int, int]]:
    place = {name: at for at, name in enumerate(names)}
    return [
        (at, place[name.removesuffix(one) + other])
        for at, name in enumerate(names)
        for one, other in MIRRORED
        if name.endswith(one)
    ]
