"""A classifier per bit, from features to numbers whose signs are the bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from twofold._core.threads import allowed_threads
from twofold.regression._features import n_rows
from twofold.regression._joint_signs import SMALLEST, JointSigns
from twofold.regression._regressor import RegressorEmbedder, draw_open_seeds, take_rows

TREES: dict[str, Any] = {
    "n_estimators": 100,
    "num_leaves": 16,
    "min_child_samples": 10,
    "subsample": 0.8,
    "subsample_freq": 1,
    "colsample_bytree": 0.3,
    "verbosity": -1,
}
"""Of LightGBM's classifier where "trees" are asked for: small trees, as two-step hashing boosts."""


class BitClassifiers(RegressorEmbedder):
    """Fitted classifiers, one per bit, ready to predict how sure each bit is set.

    Attributes
    ----------
    models : list
        Of each bit a fitted scikit-learn classifier of two classes, a LightGBM booster, or the
        number 1.0 or -1.0 of a bit that all items share.
    agreement : ndarray of float32, shape (n_bits, n_bits), or None
        Of the training items' codes, from `code_agreement`: bits are rounded together, see
        `JointSigns`. None takes each sign by itself.
    """

    def __init__(self, models: list[Any], agreement: NDArray[np.float32] | None = None) -> None:
        super().__init__(models)
        self.models, self.agreement = models, agreement

    @property
    def template(self) -> Any:
        """What a learner with these has as its parameter."""
        return next((clone(model) for model in self.models if is_bit_classifier(model)), "trees")

    def _predict(self, X: Any) -> NDArray[np.float32]:
        columns = _side_by_side(_decided, [(model, X) for model in self.models])
        margins = np.stack(columns, axis=1)
        if self.agreement is None:
            return margins
        columns = [
            _expected(model, some) for model, some in zip(self.models, margins.T, strict=True)
        ]
        expected = torch.from_numpy(np.stack(columns, axis=1))
        with torch.inference_mode():
            signs = JointSigns(torch.from_numpy(self.agreement)).signs(expected).numpy()
        return np.asarray(signs * np.abs(margins).clip(SMALLEST), dtype=np.float32)


def trees() -> Any:
    """Return the classifier that "trees" stands for, or say what to install."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        raise ImportError(
            "embedder='trees' needs LightGBM: pip install 'twofold[lightgbm]', or pass any "
            "scikit-learn classifier, for instance HistGradientBoostingClassifier()."
        ) from error
    return LGBMClassifier(**TREES)


def is_bit_classifier(embedder: Any) -> bool:
    """Whether bits are to be classified one by one."""
    if isinstance(embedder, str):
        return embedder == "trees"
    return not isinstance(embedder, type) and hasattr(embedder, "fit") and is_classifier(embedder)


def fit_bit_classifiers(
    classifier: Any,
    X: Any,
    points: NDArray[np.floating],
    items: NDArray[np.int64],
    rng: np.random.Generator,
    agreement: NDArray[np.float32] | None = None,
) -> BitClassifiers:
    """Fit a clone of `classifier` to each bit, side by side on all cores.

    Parameters
    ----------
    classifier : "trees" or scikit-learn classifier
        Cloned; a `random_state` that is open is drawn from `rng`. LightGBM's has one thread each.
    X : n_items rows
        Features; LightGBM gets images made flat, another classifier as they are.
    points : ndarray of float, shape (n_examples, n_bits)
        Whose signs are the bits; where the classifier takes weights, an example counts as much as
        its number is large.
    items : ndarray of int64, shape (n_examples,)
        Rows of `X`.
    rng : Generator
        Of open seeds.
    agreement : ndarray of float32, shape (n_bits, n_bits), optional
        Rounds the bits together; see `BitClassifiers`.
    """
    template = trees() if isinstance(classifier, str) else classifier
    jobs = []
    rows = take_rows(X, items)
    for column in np.asarray(points).T:
        model = clone(template)
        draw_open_seeds(model, rng)
        if type(model).__module__.startswith("lightgbm"):
            model.set_params(n_jobs=1)  # which takes all cores for each bit by itself
            jobs.append((model, _flat(rows), column))
        else:
            jobs.append((model, rows, column))
    return BitClassifiers(_side_by_side(_fitted, jobs), agreement)


def _side_by_side(work: Any, jobs: list[tuple[Any, ...]]) -> list[Any]:
    """Return what each job comes to; in threads, since fitting and trees leave Python's lock."""
    n_jobs = min(allowed_threads(), len(jobs))
    if n_jobs == 1:
        return [work(*job) for job in jobs]
    done = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(*job) for job in jobs)
    return list(done)


def _fitted(model: Any, rows: Any, column: NDArray[np.floating]) -> Any:
    """Return a fitted model of one bit: a number where no item differs."""
    is_set = (column >= 0).astype(np.int64)
    if is_set.min() == is_set.max():
        return float(2 * is_set[0] - 1)
    weights = {}
    if has_fit_parameter(model, "sample_weight"):
        weights["sample_weight"] = np.abs(column).astype(np.float64)
    model.fit(rows, is_set, **weights)
    return model.booster_ if hasattr(model, "booster_") else model


def _decided(model: Any, X: Any) -> NDArray[np.float32]:
    """Return one column: positive where the bit is set."""
    if isinstance(model, float):
        values = np.full(n_rows(X), model)
    elif hasattr(model, "model_to_string"):  # a booster of LightGBM
        values = model.predict(_as_array(X), raw_score=True, num_threads=1)
    elif hasattr(model, "decision_function"):
        values = model.decision_function(X)
    elif hasattr(model, "predict_proba"):
        values = 2 * model.predict_proba(X)[:, 1] - 1
    else:
        values = 2.0 * model.predict(X) - 1
    return np.asarray(values, dtype=np.float32).reshape(-1)


def _expected(model: Any, margins: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the expected bit, between -1 and 1: 2p - 1, if margins are log-odds or that itself."""
    if hasattr(model, "model_to_string") or hasattr(model, "decision_function"):
        return np.tanh(margins / 2)
    return margins.clip(-1, 1)


def _as_array(X: Any) -> Any:
    """Return a table as its numbers, which is all that a booster was fitted to.

    Of sparse features it takes the older class without a warning.
    """
    if sparse.issparse(X):
        return sparse.csr_matrix(X)
    return X.to_numpy() if hasattr(X, "to_numpy") else _flat(X)


def _flat(X: Any) -> Any:
    """Return images as one row of pixels each; anything else as it is."""
    return X.reshape(len(X), -1) if getattr(X, "ndim", 2) > 2 else X
