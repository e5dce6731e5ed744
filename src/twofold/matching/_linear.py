"""A logistic model of similarities: columns on one scale, the missing at their mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A score that is linear in standardised features.

    Attributes
    ----------
    mean, scale, weight : ndarray of float64, shape (n_features,)
        The score is intercept + Σ weight · (x − mean) / scale over the features that are there.
    intercept : float
        The score of a row whose features are all missing, or mean.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    weight: NDArray[np.float64]
    intercept: float

    def score(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the score of each row."""
        return self._standardised(X) @ self.weight + self.intercept

    def contributions(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each feature added to a row's score, and the intercept in a last column."""
        added = self._standardised(X) * self.weight
        return np.column_stack([added, np.full(len(X), self.intercept)])

    def _standardised(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        return standardised(X, self.mean, self.scale)


def standardised(
    X: NDArray[np.float32], mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (X − mean) / scale, 0 where X is missing, at most 10 either way."""
    centred = (X.astype(np.float64) - mean) / scale
    return np.clip(np.nan_to_num(centred, nan=0.0), -10, 10)


def fit_logistic(X: NDArray[np.float32], y: NDArray[np.int64]) -> Linear:
    """Fit a logistic model with a ridge."""
    from sklearn.linear_model import LogisticRegression

    there = ~np.isnan(X)
    n_there = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, X, 0).astype(np.float64)
    mean = filled.sum(axis=0) / n_there
    variance = (np.where(there, filled - mean, 0) ** 2).sum(axis=0) / n_there
    scale = np.where(variance > 0, np.sqrt(variance), 1.0)
    model = LogisticRegression(C=0.1, max_iter=1000).fit(standardised(X, mean, scale), y)
    return Linear(mean, scale, model.coef_[0], float(model.intercept_[0]))
