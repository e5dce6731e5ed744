"""`PairMetricLearner`: metric-learn's interface, fitted to pairs of feature vectors."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold._core.checks import as_array, check_number
from twofold._core.random import RandomState
from twofold.estimators._metric_learner import MetricLearner
from twofold.estimators._onnx_file import InputType
from twofold.estimators._pair_function import PairFunction
from twofold.evaluation import Strategy, choose_threshold, pair_auroc
from twofold.regression import preprocessed
from twofold.relations import PairRelation, alike_by_sign
from twofold.targets import Named, Targets


class PairMetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from pairs of feature vectors that are stated to be alike (+1) or not (−1).

    The interface is that of metric-learn's pair learners: to switch from one, change the import.
    Equal vectors are the same item.

    Parameters
    ----------
    n_components, targets, embedder, feedback, validation_fraction, device, random_state, verbose
        As for `MetricLearner`; by default targets have the contrastive loss, so that distances are
        those of a metric.
    preprocessor : array_like, shape (n_items, n_features), or callable, optional
        With a preprocessor, pairs may be item numbers, shape (n_pairs, 2): rows of the array, or
        numbers that the callable turns into rows.

    Attributes
    ----------
    threshold_ : float
        The distance up to which a pair is called alike.

    Examples
    --------
    >>> pairs = [[[1.0], [1.1]], [[1.0], [5.0]], [[5.0], [5.2]], [[1.1], [5.2]]]
    >>> learner = PairMetricLearner(2, feedback=0, random_state=0)
    >>> learner = learner.fit(pairs, [1, -1, 1, -1])
    >>> learner.pair_distance(pairs).shape
    (4,)
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        targets: Named | Targets = "auto",
        embedder: Any = "auto",
        feedback: Literal["auto"] | int = "auto",
        validation_fraction: float | Literal["auto"] = "auto",
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
        preprocessor: Any = None,
    ) -> None:
        self.n_components = n_components
        self.targets = targets
        self.embedder = embedder
        self.feedback = feedback
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.preprocessor = preprocessor

    def fit(
        self, pairs: Any, y: ArrayLike, calibration_params: Mapping[str, Any] | None = None
    ) -> Self:
        """Learn from pairs, then set a threshold on the same pairs.

        Parameters
        ----------
        pairs : array_like, shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Two feature vectors per pair.
        y : array_like, shape (n_pairs,)
            +1 for alike, −1 for not alike.
        calibration_params : mapping, optional
            Parameters of `calibrate_threshold` for the threshold that `fit` sets, by default the
            most accurate one. It is chosen on the training pairs: better call `calibrate_threshold`
            with other pairs afterwards.
        """
        table = self._vectors(pairs)
        alike = alike_by_sign(y, len(table))
        items, number = np.unique(table.reshape(2 * len(table), -1), axis=0, return_inverse=True)
        left, right = number.reshape(len(table), 2).T
        relation = PairRelation(left, right, alike.astype(np.float32), len(items))
        parameters = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name in inspect.signature(MetricLearner).parameters
        }
        if isinstance(self.targets, str) and self.targets == "auto":
            parameters["targets"] = Targets("contrastive")
        self.learner_ = MetricLearner(**parameters).fit(
            items.reshape(-1, *table.shape[2:]), relation=relation
        )
        self.n_features_in_ = table.shape[2]
        return self.calibrate_threshold(pairs, y, **dict(calibration_params or {}))

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of feature vectors, shape (n_items, n_components)."""
        check_is_fitted(self)
        return self.learner_.transform(X)

    def pair_distance(self, pairs: Any) -> NDArray[np.float32]:
        """Return the distance of the two vectors of each pair: small for the alike."""
        check_is_fitted(self)
        table = self._vectors(pairs)
        return self.learner_.pair_distance(table[:, 0], table[:, 1])

    def pair_score(self, pairs: Any) -> NDArray[np.float32]:
        """Return the negative of the distance: large for the alike."""
        return -self.pair_distance(pairs)

    def decision_function(self, pairs: Any) -> NDArray[np.float32]:
        """Return `pair_score`."""
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> NDArray[np.int64]:
        """Return +1 for pairs whose distance is at most `threshold_`, −1 for others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: ArrayLike) -> float:
        """Return the AUROC of `pair_score` on pairs stated as +1 or −1."""
        scores = self.pair_score(pairs)
        return pair_auroc(alike_by_sign(y, len(scores)), scores)

    def score_pairs(self, pairs: Any) -> NDArray[np.float32]:
        """Return `pair_distance`, as metric-learn called it before 0.7: small for the alike."""
        return self.pair_distance(pairs)

    def get_metric(self) -> PairFunction:
        """Return the distance as a function of two vectors; see `MetricLearner.get_metric`."""
        check_is_fitted(self)
        return self.learner_.get_metric()

    @property
    def components_(self) -> NDArray[np.float64]:
        """L, shape (n_components, n_features), where the distance of u and v is ‖L u − L v‖.

        It exists for linear maps only: fit with ``embedder=Ridge(), feedback=0``. Points are L x
        plus an offset, which does not affect distances.
        """
        check_is_fitted(self)
        return self.learner_.components_

    def get_mahalanobis_matrix(self) -> NDArray[np.float64]:
        """Return M = Lᵀ L, shape (n_features, n_features), where the map is linear."""
        check_is_fitted(self)
        return self.learner_.get_mahalanobis_matrix()

    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which a pair is called alike."""
        check_is_fitted(self)
        self.threshold_ = check_number("threshold", threshold, -np.inf)
        # The learner inside calls alike what is similar enough: see its `pair_distance`.
        highest = 0 if self.learner_.metric_ == "euclidean" else 1
        self.learner_.threshold_ = highest - self.threshold_
        return self

    def calibrate_threshold(
        self,
        pairs_valid: Any,
        y_valid: ArrayLike,
        strategy: Strategy = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Choose `threshold_` on pairs; see `twofold.evaluation.choose_threshold`.

        The rates reached are kept as `calibration_`, in terms of `pair_score`.
        """
        scores = self.pair_score(pairs_valid)
        alike = alike_by_sign(y_valid, len(scores))
        self.calibration_ = choose_threshold(alike, scores, strategy, min_rate=min_rate, beta=beta)
        return self.set_threshold(-self.calibration_.threshold)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model to a folder; `twofold.load` opens it as the `MetricLearner` it is."""
        check_is_fitted(self)
        return self.learner_.save(folder)

    def to_onnx(self, path: str | os.PathLike[str], *, input_type: InputType = "float32") -> Path:
        """Write the embedding as one ONNX file; see `MetricLearner.to_onnx`."""
        check_is_fitted(self)
        return self.learner_.to_onnx(path, input_type=input_type)

    def _vectors(self, pairs: Any) -> NDArray[Any]:
        """Return pairs as an array of shape (n_pairs, 2, *item_shape)."""
        table = as_array("pairs", pairs)
        if self.preprocessor is not None and table.ndim == 2:
            found = preprocessed(self.preprocessor, table)
            table = found.reshape(len(table), 2, *found.shape[1:])
        if table.ndim < 3 or table.shape[1] != 2:
            raise ValueError(
                f"pairs must have shape (n_pairs, 2, n_features), got {table.shape}. For item "
                "numbers, shape (n_pairs, 2), pass a preprocessor."
            )
        return table

    @property
    def _n_features_out(self) -> int:
        return self.learner_.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
