"""Labels as users pass them: classes or a matrix, and what an unknown class looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def is_matrix(labels: Any) -> bool:
    """Whether labels are a matrix, dense or sparse, and not a class vector."""
    if sparse.issparse(labels):
        return True
    try:
        return np.ndim(labels) == 2
    except ValueError:  # rows of different lengths
        return False


def is_unknown(classes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which classes are unknown: -1, NaN, None, pandas' NA and NaT; shape (n_items,)."""
    if classes.dtype.kind in "if":
        return np.asarray((classes == -1) | (classes != classes))
    if classes.dtype.kind == "M":
        return np.asarray(np.isnat(classes))
    if classes.dtype.kind == "O":
        return np.fromiter(map(_is_missing, classes), dtype=bool, count=classes.size)
    return np.zeros(classes.size, dtype=bool)


def _is_missing(value: Any) -> bool:
    """Whether an object says "unknown"."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, int | float | np.number) and bool(value != value or value == -1)
