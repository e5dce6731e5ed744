"""Models of similarities, behind one interface: a score a row, and what each feature adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from twofold._core.checks import check_choice
from twofold.matching._boosting import BoostingSettings, fit_boosted
from twofold.matching._linear import fit_logistic

MODELS = ("auto", "boosted", "logistic")
FEW_OF_A_KIND = 30
"""Pairs of the rarer kind, below which trees have too little to split."""


class PairModel(Protocol):
    """What is fitted to similarities."""

    def score(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return a score a row, large for the alike."""
        ...

    def contributions(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each feature adds to the score, and the rest in a last column."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OtherClassifier:
    """A fitted classifier of the user's own, its missing values filled by 0."""

    classifier: Any

    def score(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the log-odds of its probability."""
        alike = self.classifier.predict_proba(np.nan_to_num(X))[:, 1]
        bounded = np.clip(np.asarray(alike, dtype=np.float64), 1e-9, 1 - 1e-9)
        return np.log(bounded / (1 - bounded))

    def contributions(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Refuse: nothing is known of its inside."""
        raise TypeError(
            f"A decision of {type(self.classifier).__name__} cannot be explained by its columns: "
            "fit with model='boosted' or 'logistic'."
        )


def resolve_model(model: Any, y: NDArray[np.int64]) -> Any:
    """Return what "auto" comes to; refuse what is no model."""
    if isinstance(model, str):
        check_choice("model", model, MODELS)
        if model == "auto":
            return "boosted" if min(np.bincount(y, minlength=2)) >= FEW_OF_A_KIND else "logistic"
        return model
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise TypeError(
            f"model must be one of {', '.join(map(repr, MODELS))} or a classifier with fit and "
            f"predict_proba, got {model!r}."
        )
    return model


def fit_pair_model(
    model: Any, X: NDArray[np.float32], y: NDArray[np.int64], rng: np.random.Generator
) -> PairModel:
    """Fit a resolved model to similarities."""
    if model == "boosted":
        return fit_boosted(X, y, BoostingSettings(), rng)
    if isinstance(model, str):
        return fit_logistic(X, y)
    classifier = clone(model)
    if "random_state" in classifier.get_params():
        classifier.set_params(random_state=int(rng.integers(2**31 - 1)))
    return OtherClassifier(classifier.fit(np.nan_to_num(X), y))
