"""What rivals without a network share: items are made flat, and embedded a block at a time."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.baselines._flat_features import dense_rows, flat_features
from twofold.estimators import EmbeddingLearner
from twofold.evaluation import Metric
from twofold.regression import RegressorEmbedder

BLOCK_NUMBERS = 2**22
"""Features that are made dense, and embedded, at a time."""


class FlatLearner(EmbeddingLearner):
    """An embedding of flat features.

    It takes vectors, images, sparse matrices and memory-mapped arrays.
    """

    embedder: Any = None  # there is none to choose
    embedder_: RegressorEmbedder

    @abstractmethod
    def _embed(self, rows: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        """Return the points of some rows, shape (n_rows, n_components_)."""

    def _points(self, X: Any) -> NDArray[np.float32]:
        X = flat_features(self, X, reset=False)
        points = np.empty((X.shape[0], self.n_components_), dtype=np.float32)
        for rows in blocks(X):
            points[rows] = self._embed(dense_rows(X, rows))
        return points

    def _keep(
        self,
        embedder: RegressorEmbedder,
        n_components: int,
        began: float,
        metric: Metric = "euclidean",
    ) -> None:
        """Set what `EmbeddingLearner` asks of a fit."""
        self.embedder_ = embedder
        self.n_components_ = n_components
        self.metric_ = metric
        self.timing_ = {"training": time.perf_counter() - began}
        self._forget_threshold()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags


def blocks(X: Any) -> list[slice]:
    """Part the rows of `X` so that a part has at most about `BLOCK_NUMBERS` numbers."""
    n_rows, n_features = X.shape
    size = max(1, BLOCK_NUMBERS // max(1, n_features))
    return [slice(first, first + size) for first in range(0, n_rows, size)]
