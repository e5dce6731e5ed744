"""The features as given, as points that neighbours are looked up in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold.regression import as_numbers, fit_projection, n_rows, open_features

MOST_DIRECTIONS = 256
"""Wider features are projected on so many principal directions, which keeps their distances as far
as those can: 60,000 images of 784 pixels take a third of the time and memory."""


class GivenPoints:
    """Points of the features as given, made once each way they may be compared."""

    def __init__(self, features: Any) -> None:
        self._numbers = as_numbers(features)
        self._points: dict[bool, NDArray[np.float32]] = {}
        self.n_items = n_rows(self._numbers)
        self.is_sparse = sparse.issparse(self._numbers)

    def points(self, unit: bool) -> NDArray[np.float32]:
        """Return points whose Euclidean distances order pairs as the features do.

        Parameters
        ----------
        unit : bool
            Whether rows are brought to length 1 first, so that they do so by their cosines.
        """
        if unit not in self._points:
            self._points[unit] = self._make(unit)
        return self._points[unit]

    def _make(self, unit: bool) -> NDArray[np.float32]:
        n_features = int(np.prod(self._numbers.shape[1:]))
        if n_features > MOST_DIRECTIONS:
            opened = open_features(self._numbers, "cpu")
            projection = fit_projection(opened, MOST_DIRECTIONS, unit=unit)
            return projection.points(opened, np.arange(self.n_items))
        dense = self._numbers.toarray() if self.is_sparse else np.asarray(self._numbers)
        points = dense.reshape(self.n_items, -1).astype(np.float32)
        if unit:
            points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
        return points
