"""Features that users pass to a learner, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch.utils.data import Dataset

from twofold._core.checks import as_array, check_pairs, refuse_masked
from twofold._core.float32 import refuse_beyond_float32
from twofold._core.sparse_checks import check_sparse
from twofold.regression._features import is_memory_mapped, item_shape, refuse_not_finite
from twofold.regression._network import is_network


def check_features(learner: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return features as the learner's embedder takes them; set or compare `n_features_in_`.

    A network gets an array of any number of dimensions, a CSR matrix, a memory-mapped array or a
    Dataset, of numbers that are finite as float32; a scikit-learn regressor gets what the user
    gave, and checks it itself. No index of a sparse matrix is trusted.
    """
    X = sound_features(X)
    if not is_network(learner.embedder):
        if isinstance(X, Dataset):
            raise TypeError(
                f"A torch Dataset needs a network; {type(learner.embedder).__name__} takes arrays."
            )
        X = np.asarray(X) if isinstance(X, list) else X
        validate_data(learner, X, reset=reset, skip_check_array=True)
        return X
    if isinstance(X, Dataset):
        if not len(X):  # type: ignore[arg-type]
            raise ValueError("The Dataset is empty: it needs at least one item.")
        _compare_shape(learner, item_shape(X), reset)
        if reset:
            # What an earlier fit on an array knew of its columns says nothing of this.
            learner.n_features_in_ = learner.input_shape_[0]
            learner.__dict__.pop("feature_names_in_", None)
        return X
    if is_memory_mapped(X):
        refuse_not_finite(X)
        validate_data(learner, X, reset=reset, skip_check_array=True)
    else:
        X = validate_data(
            learner, X, reset=reset, accept_sparse="csr", allow_nd=True, ensure_min_samples=1
        )
        refuse_beyond_float32("X", X, is_finite=True)
    _compare_shape(learner, tuple(int(size) for size in X.shape[1:]), reset)
    return X


def preprocessed(preprocessor: Any, pairs: NDArray[Any]) -> NDArray[Any]:
    """Return the rows that pairs of item numbers stand for, one pair after the other.

    Parameters
    ----------
    preprocessor : array_like, n_items rows, or callable
        The rows, or what turns item numbers into them.
    pairs : ndarray, shape (n_pairs, 2)
        Item numbers; of an array, rows of it from 0 on.
    """
    if callable(preprocessor):
        rows = as_array("What preprocessor returns", preprocessor(pairs.ravel()))
        if len(rows) != pairs.size:
            raise ValueError(f"preprocessor must return {pairs.size} rows, got {len(rows)}.")
        return rows
    items = as_array("preprocessor", preprocessor)
    check_pairs("pairs", pairs, len(items))
    return np.asarray(items[pairs.ravel()])


def sound_features(X: Any) -> Any:
    """Return features that are safe to read: no index out of range, no value masked."""
    refuse_masked("X", X)
    return check_sparse("X", X) if sparse.issparse(X) else X


def _compare_shape(learner: BaseEstimator, shape: tuple[int, ...], reset: bool) -> None:
    """Images must have the size that was learnt from; scikit-learn looks at one axis only."""
    if reset:
        learner.input_shape_ = shape
    elif shape != learner.input_shape_:
        raise ValueError(
            f"X has items of shape {shape}, but {type(learner).__name__} was fitted on items of "
            f"shape {learner.input_shape_}."
        )
