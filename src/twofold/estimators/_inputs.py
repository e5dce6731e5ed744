"""Features that users pass to a learner, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch.utils.data import Dataset

from twofold.regression import is_memory_mapped, is_network, item_shape, refuse_not_finite


def check_features(learner: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return features as the learner's embedder takes them; set or compare `n_features_in_`.

    A network gets a finite numeric array of any number of dimensions, a CSR matrix, a
    memory-mapped array or a Dataset; a scikit-learn regressor gets what the user gave, and checks
    it itself.
    """
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
    _compare_shape(learner, tuple(int(size) for size in X.shape[1:]), reset)
    return X


def _compare_shape(learner: BaseEstimator, shape: tuple[int, ...], reset: bool) -> None:
    """Images must have the size that was learnt from; scikit-learn looks at one axis only."""
    if reset:
        learner.input_shape_ = shape
    elif shape != learner.input_shape_:
        raise ValueError(
            f"X has items of shape {shape}, but {type(learner).__name__} was fitted on items of "
            f"shape {learner.input_shape_}."
        )
