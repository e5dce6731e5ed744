"""Any scikit-learn regressor as the way from features to points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _get_feature_names, validate_data

from twofold.regression._features import n_rows
from twofold.regression._landmarks import LandmarkMap
from twofold.regression._linear_path import LinearPath, RawMap

LARGEST_SEED = 2**31 - 1
FLOATS = (np.float64, np.float32)
PREDICTED_AT_ONCE = 8192
"""Items; closeness to landmarks takes two thousand numbers an item."""


class RegressorEmbedder:
    """A fitted regressor, ready to predict.

    Attributes
    ----------
    regressor : estimator
        With one output a component.
    path : LinearRegression, Pipeline or None
        What its outputs are added to: the features as they are, where it learns to change them.
    """

    def __init__(self, regressor: Any, path: LinearRegression | Pipeline | None = None) -> None:
        self.regressor = regressor
        self.path = path

    def predict(self, X: Any) -> NDArray[np.float32]:
        """Return the points of `X`, float32 of shape (n_items, dim)."""
        n_items = n_rows(X)
        starts = range(0, max(1, n_items), PREDICTED_AT_ONCE)  # of none too: it says what is wrong
        parts = [np.arange(at, min(at + PREDICTED_AT_ONCE, n_items)) for at in starts]
        return np.concatenate([self._predict(take_rows(X, part)) for part in parts])

    def _predict(self, X: Any) -> NDArray[np.float32]:
        points = np.asarray(self.regressor.predict(X), dtype=np.float32)
        points = points.reshape(len(points), -1)
        return points if self.path is None else points + self._along_path(X)

    def _along_path(self, X: Any) -> NDArray[np.float32]:
        assert self.path is not None
        return np.asarray(self.path.predict(X), dtype=np.float32)


def map_as_regressor(map_: LinearPath | LandmarkMap, X: Any = None) -> RegressorEmbedder:
    """Return a map as scikit-learn's regressors, which take what its other regressors take.

    They have the names of the columns of `X`, if these have any.
    """
    if isinstance(map_, LinearPath):
        return RegressorEmbedder(as_regressor(map_.raw, X))
    path = as_regressor(map_.raw.turned(map_.turn.cpu().numpy()), X)
    return RegressorEmbedder(_around_landmarks(map_, X), path)


def as_regressor(raw: RawMap, X: Any = None) -> LinearRegression | Pipeline:
    """Return a linear map as scikit-learn's, see `map_as_regressor`."""
    path = LinearRegression()
    path.coef_ = raw.projection.astype(np.float64)
    path.intercept_ = -path.coef_ @ raw.shift
    return _within_limits(raw, path, X)


def _around_landmarks(map_: LandmarkMap, X: Any) -> Pipeline:
    """Return k(x) H of a map, with no turned points added."""
    raw = map_.raw
    project = PCA(n_components=len(raw.projection))
    project.mean_ = raw.shift.astype(np.float64)
    project.components_ = raw.projection.astype(np.float64)
    landmarks = map_.landmarks.cpu().numpy().astype(np.float64)
    heights = KernelRidge(kernel="rbf", gamma=0.5 / float(map_.width) ** 2)
    heights.X_fit_, heights.dual_coef_ = landmarks, map_.heights.cpu().numpy().astype(np.float64)
    heights.n_features_in_ = landmarks.shape[1]
    return make_pipeline(_within_limits(raw, project, X), heights)


class WithinLimits(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps features within limits, in arrays, frames and sparse matrices.

    Parameters
    ----------
    low, high : ndarray, shape (n_features,)
        The least and the most that each counts for.
    """

    def __init__(self, low: NDArray[np.float32], high: NDArray[np.float32]) -> None:
        self.low = low
        self.high = high

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> WithinLimits:
        """Look at the columns only: limits are given."""
        validate_data(self, X, accept_sparse="csr")
        return self

    def transform(self, X: Any) -> Any:
        """Return features within their limits."""
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=FLOATS)
        if not sparse.issparse(X):
            return np.clip(X, self.low, self.high)
        if (self.low > 0).any() or (self.high < 0).any():
            return np.clip(X.toarray(), self.low, self.high)
        X = X.copy()
        X.data = np.clip(X.data, self.low[X.indices], self.high[X.indices])
        return X


def _within_limits(raw: RawMap, fitted: Any, X: Any) -> Any:
    """Return a fitted estimator with limits, if there are any, before it; it knows its columns."""
    fitted.n_features_in_ = raw.projection.shape[1]
    entrance = fitted if raw.limits is None else WithinLimits(*raw.limits)
    entrance.n_features_in_ = raw.projection.shape[1]
    names = _get_feature_names(X)
    if names is not None:
        entrance.feature_names_in_ = names
    return fitted if raw.limits is None else make_pipeline(entrance, fitted)


def fit_regressor(
    regressor: Any,
    X: Any,
    targets: NDArray[np.float32],
    items: NDArray[np.int64],
    rng: np.random.Generator,
) -> RegressorEmbedder:
    """Fit a clone of `regressor` to targets; one that has a single output is wrapped.

    A `random_state` that was left open is drawn from `rng`, so that the learner's own decides.
    """
    fresh = clone(regressor)
    _draw_open_seeds(fresh, rng)
    if targets.shape[1] > 1 and not takes_several_outputs(fresh):
        fresh = MultiOutputRegressor(fresh)
    fresh.fit(take_rows(X, items), targets if targets.shape[1] > 1 else targets[:, 0])
    return RegressorEmbedder(fresh)


def _draw_open_seeds(regressor: Any, rng: np.random.Generator) -> None:
    """Give every `random_state` that was left open, at any depth, a seed."""
    for name, value in sorted(regressor.get_params(deep=True).items()):
        if name.rpartition("__")[2] == "random_state" and value is None:
            regressor.set_params(**{name: int(rng.integers(LARGEST_SEED))})


def take_rows(X: Any, items: NDArray[np.int64]) -> Any:
    """Return some rows of what a regressor takes."""
    if len(items) == n_rows(X):
        return X
    return _safe_indexing(X.tocsr() if sparse.issparse(X) else X, items)


def takes_several_outputs(regressor: Any) -> bool:
    """Whether a regressor says that it fits several outputs at once."""
    return bool(get_tags(regressor).target_tags.multi_output)
