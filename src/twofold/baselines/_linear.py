"""What the linear rivals share: a map x ↦ L (x − mean) that is learnt, kept and applied.

The Euclidean distance of points is the Mahalanobis distance of features by M = Lᵀ L.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from twofold._core.checks import check_count
from twofold.baselines._flat_features import flat_features
from twofold.baselines._flat_learner import FlatLearner
from twofold.regression import RegressorEmbedder
from twofold.relations import Relation, as_relation


@dataclass(eq=False, repr=False)
class LinearLearner(FlatLearner):
    """A linear map of the features, images made flat; how L is learnt is the subclass's.

    Attributes
    ----------
    components_ : ndarray of float64, shape (n_components_, n_features)
        L.
    n_iter_ : int
        Steps that were taken.
    """

    n_components: int | None = None

    @abstractmethod
    def _learn(self, X: Any, relation: Relation) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Return L, float64 of shape (n, n_features), and the history, with its `n_iter`."""

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        X = flat_features(self, X, reset=True)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        began = time.perf_counter()
        components, self.history_ = self._learn(X, known)
        self.n_iter_ = self.history_["n_iter"]
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        self._keep(linear_embedder(components, mean), len(components), began)
        return self

    def _embed(self, rows: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        return self.embedder_.predict(rows)

    @property
    def components_(self) -> NDArray[np.float64]:
        """L, shape (n_components_, n_features)."""
        components: NDArray[np.float64] = self.embedder_.regressor.coef_
        return components

    def _n_kept(self, n_features: int) -> int:
        """Return `n_components`, at most the number of features; that if it is None."""
        if self.n_components is None:
            return n_features
        return min(check_count("n_components", self.n_components), n_features)


def linear_embedder(
    components: NDArray[np.float64], mean: NDArray[np.float64]
) -> RegressorEmbedder:
    """Return x ↦ L (x − mean) as scikit-learn's linear map, its coefficients set and not fitted.

    That is a type which opens from a folder without having to be trusted by name.
    """
    regressor = LinearRegression()
    regressor.coef_ = components
    regressor.intercept_ = -components @ mean
    return RegressorEmbedder(regressor)


def factorise(metric: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return L, shape (rank, n_features), with Lᵀ L the best approximation of M ⪰ 0 of that rank.

    Its rows are the leading eigenvectors of M, each times the root of its eigenvalue. Their signs
    are free: the entry largest in magnitude is made positive.
    """
    values, vectors = np.linalg.eigh(metric)
    leading = np.argsort(values)[::-1][:rank]
    components = np.sqrt(values[leading].clip(0))[:, None] * vectors[:, leading].T
    largest = components[np.arange(rank), np.abs(components).argmax(axis=1)]
    signed: NDArray[np.float64] = components * np.where(largest < 0, -1.0, 1.0)[:, None]
    return signed
