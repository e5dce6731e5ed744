"""The features as given: what every learnt metric has to beat."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from twofold._core.checks import check_choice
from twofold.baselines._flat_features import dense_rows, flat_features
from twofold.baselines._flat_learner import FlatLearner, blocks
from twofold.regression import RegressorEmbedder
from twofold.relations import Relation

Metric = Literal["euclidean", "cosine"]


@dataclass(eq=False, repr=False, kw_only=True)
class RawFeatures(FlatLearner):
    """The features as given, images flattened; nothing is learnt.

    Parameters
    ----------
    standardise : bool
        Whether to scale each feature to mean 0 and standard deviation 1; a constant one becomes 0.
    metric : {"euclidean", "cosine"}
        How they are compared.
    """

    standardise: bool = False
    metric: Metric = "euclidean"

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Note the features' shape, mean and deviation; `y` and `relation` are not looked at."""
        if not isinstance(self.standardise, bool | np.bool_):
            raise TypeError(f"standardise must be True or False, got {self.standardise!r}.")
        check_choice("metric", self.metric, get_args(Metric))
        X = flat_features(self, X, reset=True)
        began = time.perf_counter()
        scaler = StandardScaler(with_mean=self.standardise, with_std=self.standardise)
        for rows in blocks(X):
            scaler.partial_fit(dense_rows(X, rows))
        self.history_: dict[str, Any] = {}
        # A scaler is no regressor, but it is kept and saved like one.
        self._keep(RegressorEmbedder(scaler), X.shape[1], began, self.metric)
        return self

    def _embed(self, rows: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        scaled: NDArray[np.float64] = self.embedder_.regressor.transform(rows)
        return scaled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
