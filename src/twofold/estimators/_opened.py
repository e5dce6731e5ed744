"""What a user gave to learn from by feedback, checked and on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._lesson import Setting
from twofold.estimators._moving_targets import Points
from twofold.estimators._views import View, views_of
from twofold.regression import (
    Epoch,
    RawMap,
    TrainingConfig,
    fit_raw_map,
    is_network,
    item_shape,
    open_features,
    prepare_features,
    refuse_flipped_vectors,
)


class Opened:
    """Features and how they are to be learnt: what is common to all views and choices."""

    def __init__(
        self,
        embedder: Any,
        X: Any,
        config: TrainingConfig,
        flips: bool,
        n_rounds: int | None,
        callback: Callable[[Epoch], Any] | None,
    ) -> None:
        numbers = X if is_network(embedder) else prepare_features(X)
        self.shape = item_shape(numbers)
        refuse_flipped_vectors(flips, self.shape)
        self.features = open_features(numbers, config.device)
        self._embedder = embedder
        self._X = X
        self._config = config
        self._flips = flips
        self._n_rounds = n_rounds
        self._callback = callback

    def as_they_are(self, dim: int | None) -> RawMap:
        """Return the features with all their components, or as many as may be kept."""
        return fit_raw_map(self.features, dim)

    def views(self, dim: int | None) -> list[View]:
        """Return how the features may be seen."""
        return views_of(self.features, self.shape, dim)

    def seen(self, view: View, as_they_are: RawMap, items: NDArray[np.int64]) -> Setting:
        """Return some items in a view, as a setting to learn in."""
        start = view.raw.points(self.features, items)
        _refuse_not_finite(start, items)
        return Setting(
            embedder=self._embedder,
            X=self._X,
            features=self.features,
            shape=self.shape,
            items=items,
            view=view,
            start=start,
            as_they_are=as_they_are,
            config=self._config,
            flips=self._flips,
            n_rounds=self._n_rounds,
            max_epochs=self._config.max_epochs,
            callback=self._callback,
        )


def _refuse_not_finite(points: Points, items: NDArray[np.int64]) -> None:
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"X holds NaN or infinity, first in row {items[wrong[0]]} of those in some statement, "
            "or in many. Replace or drop it first."
        )
