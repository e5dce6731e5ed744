"""A learnt distance as a function of two vectors, quick enough to be called a pair at a time.

Neighbour searches that take a metric of one's own call it millions of times, mostly on the same
vectors. So vectors are not validated, and each is embedded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.bits import bits_apart
from twofold.evaluation import Metric

MOST_BYTES = 2**26
"""Of vectors and points that are kept; with more the oldest are embedded again."""


class PairFunction:
    """How far apart two vectors are: small for the alike, as `pair_distance` is.

    Parameters
    ----------
    embed : callable
        From rows of features to points.
    metric : {"euclidean", "cosine", "dot", "hamming"}
        How points are compared.
    shape : tuple of int
        Of one item; vectors of as many numbers are brought to it.
    matrix : ndarray of float64, shape (n_components, n_features), optional
        L, where points are compared by ‖L u − L v‖: then nothing is embedded.
    """

    def __init__(
        self,
        embed: Callable[[NDArray[Any]], NDArray[Any]],
        metric: Metric,
        shape: tuple[int, ...],
        matrix: NDArray[np.float64] | None = None,
    ) -> None:
        self._embed, self._metric, self._shape = embed, metric, shape
        self._n_numbers = math.prod(shape)
        self._matrix = matrix
        self._points: dict[bytes, NDArray[Any]] = {}

    def __call__(self, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
        """Return the distance of two vectors, or its square."""
        left, right = np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)
        if left.size != self._n_numbers or right.size != self._n_numbers:
            raise ValueError(
                f"Both vectors must have {self._n_numbers} features, got {left.size} and "
                f"{right.size}."
            )
        distance = self._distance(left, right)
        return distance * distance if squared else distance

    def __deepcopy__(self, memo: dict[int, Any]) -> PairFunction:
        """Cloned estimators go on with the same function, as with any other."""
        return self

    def _distance(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> float:
        if self._matrix is not None:
            difference = self._matrix @ (u - v).ravel()
            return math.sqrt(difference @ difference)
        left, right = self._point(u), self._point(v)
        if self._metric == "hamming":
            return float(bits_apart(left, right))
        if self._metric == "euclidean":
            difference = left - right
            return math.sqrt(difference @ difference)
        similarity = float(left @ right)
        return 1.0 - (min(max(similarity, -1.0), 1.0) if self._metric == "cosine" else similarity)

    def _point(self, vector: NDArray[np.float64]) -> NDArray[Any]:
        key = vector.tobytes()
        known = self._points.get(key)
        if known is None:
            known = self._embed(vector.reshape(1, *self._shape))[0]
            if self._metric != "hamming":
                known = known.astype(np.float64)
            if self._metric == "cosine":
                known /= max(float(np.linalg.norm(known)), 1e-12)
            if len(self._points) * (len(key) + known.nbytes) >= MOST_BYTES:
                self._points.clear()
            self._points[key] = known
        return known
