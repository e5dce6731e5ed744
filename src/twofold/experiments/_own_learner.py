"""Learners of one's own.

A learner is any object with ``fit(X, y)`` and ``transform(X)``; `metric_`, once it is fitted, says
how its points are compared: "euclidean", also where it is not said, "cosine" or "dot".
"""

from __future__ import annotations

import hashlib
import math
import time
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.evaluation import Metric


class OwnLearner:
    """A learner of one's own, with what a run asks of one: its seconds, its points checked.

    Attributes
    ----------
    metric_ : {"euclidean", "cosine", "dot"}
        How points are compared.
    timing_ : dict
        Seconds: "training", and "targets" if the learner says so.
    """

    metric_: Metric
    timing_: dict[str, float]

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def get_params(self) -> dict[str, Any]:
        """Return the learner's parameters: scikit-learn's, or else its public attributes."""
        if hasattr(self.learner, "get_params"):
            return dict(self.learner.get_params())
        return {
            name: value
            for name, value in getattr(self.learner, "__dict__", {}).items()
            if not name.startswith("_") and not name.endswith("_")
        }

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit the learner to labelled items."""
        began = time.perf_counter()
        self.learner.fit(X, y)
        seconds = time.perf_counter() - began
        self.timing_ = {"training": seconds}
        self.metric_ = getattr(self.learner, "metric_", "euclidean")
        check_choice(f"metric_ of {type(self.learner).__name__}", self.metric_, get_args(Metric))
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the learner's points, or say what is wrong with them."""
        points = np.asarray(self.learner.transform(X), dtype=np.float32)
        who = type(self.learner).__name__
        if points.ndim != 2 or len(points) != X.shape[0]:
            raise ValueError(
                f"transform of {who} must return one point per item, shape ({X.shape[0]}, "
                f"n_components), got {points.shape}."
            )
        bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
        if bad.size:
            raise ValueError(
                f"transform of {who} returned {bad.size} point(s) with NaN or infinity, first row "
                f"{bad[0]}."
            )
        return points


def plain_value(value: Any) -> Any:
    """Return a parameter as JSON takes it; what JSON has no form for is named, without its place.

    The same parameter gives the same value in another process, so that runs can be compared.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain_value(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain_value(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        content = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8)
        return f"{value.dtype} array of shape {value.shape}, {content.hexdigest()}"
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
