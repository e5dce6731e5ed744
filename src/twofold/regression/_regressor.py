"""Any scikit-learn regressor from features to points."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import _safe_indexing, get_tags
from torch.utils.data import ConcatDataset, Dataset, Subset

from twofold._core.streams import refuse_not_finite_points
from twofold.regression._features import n_rows
from twofold.regression._network_embedder import OutputScale

LARGEST_SEED = 2**31 - 1
PREDICTED_AT_ONCE = 8192
"""Items; some regressors take thousands of numbers per item while they predict."""


class RegressorEmbedder:
    """A fitted regressor, ready to predict.

    Attributes
    ----------
    regressor : estimator
        With one output per component.
    output_scale : OutputScale or None
        From outputs to points; None if they are the same.
    """

    def __init__(self, regressor: Any, output_scale: OutputScale | None = None) -> None:
        self.regressor = regressor
        self.output_scale = output_scale

    @property
    def template(self) -> Any:
        """What a learner with this embedder has as its parameter."""
        return self.regressor

    def predict(self, X: Any) -> NDArray[np.float32]:
        """Return the points of `X`, float32 of shape (n_items, dim)."""
        n_items = n_rows(X)
        starts = range(0, max(1, n_items), PREDICTED_AT_ONCE)  # the regressor refuses no rows
        parts = [np.arange(at, min(at + PREDICTED_AT_ONCE, n_items)) for at in starts]
        outputs = np.concatenate([self._predict(take_rows(X, part)) for part in parts])
        if self.output_scale is not None:
            outputs = self.output_scale.apply(torch.from_numpy(outputs)).numpy()
        refuse_not_finite_points(outputs)
        return outputs

    def _predict(self, X: Any) -> NDArray[np.float32]:
        outputs = np.asarray(self.regressor.predict(X), dtype=np.float32)
        return outputs.reshape(len(outputs), -1)


def fit_regressor(
    regressor: Any,
    X: Any,
    targets: NDArray[np.float32],
    items: NDArray[np.int64],
    rng: np.random.Generator,
    output_scale: OutputScale | None = None,
) -> RegressorEmbedder:
    """Fit a clone of `regressor` to targets; one that has a single output is wrapped.

    A `random_state` that was left open is drawn from `rng`, so that the learner's own decides.
    """
    fresh = clone(regressor)
    draw_open_seeds(fresh, rng)
    if targets.shape[1] > 1 and not takes_several_outputs(fresh):
        fresh = MultiOutputRegressor(fresh)
    fresh.fit(take_rows(X, items), targets if targets.shape[1] > 1 else targets[:, 0])
    return RegressorEmbedder(fresh, output_scale)


def draw_open_seeds(regressor: Any, rng: np.random.Generator) -> None:
    """Give every `random_state` that was left open, at any depth, a seed."""
    for name, value in sorted(regressor.get_params(deep=True).items()):
        if name.rpartition("__")[2] == "random_state" and value is None:
            regressor.set_params(**{name: int(rng.integers(LARGEST_SEED))})


def take_rows(X: Any, items: NDArray[np.int64]) -> Any:
    """Return some rows of features of any kind."""
    if np.array_equal(items, np.arange(n_rows(X))):
        return X
    if isinstance(X, Dataset):
        return Subset(X, items.tolist())
    return _safe_indexing(X.tocsr() if sparse.issparse(X) else X, items)


def append_rows(X: Any, X_new: Any) -> Any:
    """Return the rows of both, of the kind that `X` is."""
    if isinstance(X, Dataset) != isinstance(X_new, Dataset):
        raise TypeError(
            f"X_new must be of the same type as X in fit, got {type(X_new).__name__} for "
            f"{type(X).__name__}."
        )
    if isinstance(X, Dataset):
        return ConcatDataset([X, X_new])
    if sparse.issparse(X):
        return sparse.vstack([X, X_new], format="csr")
    if hasattr(X, "iloc"):
        from pandas import concat  # there, since X is of it

        return concat([X, X_new])
    return np.concatenate([X, X_new])


def takes_several_outputs(regressor: Any) -> bool:
    """Whether a regressor says that it fits several outputs at once."""
    return bool(get_tags(regressor).target_tags.multi_output)
