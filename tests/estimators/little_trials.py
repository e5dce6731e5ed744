"""What rounds learn from, and looks of judges, that the suites of feedback share."""

from __future__ import annotations

import numpy as np
from little_problems import beside_loud_noise

from twofold.estimators._judge import Looks
from twofold.estimators._rounds import Setting
from twofold.regression import TrainingConfig, fit_raw_map, open_features

LOUD, _ = beside_loud_noise()


def a_setting(embedder="mlp", features=LOUD, items=None, dim: int = 5, **rest) -> Setting:
    """Return what the rounds learn from, over all items or some."""
    opened = open_features(features, "cpu")
    raw = fit_raw_map(opened, dim)
    items = np.arange(len(features)) if items is None else items
    return Setting(
        embedder=embedder,
        X=features,
        features=opened,
        shape=features.shape[1:],
        items=items,
        raw=raw,
        start=raw.points(opened, items),
        as_they_are=fit_raw_map(opened),
        config=TrainingConfig(max_epochs=6, batch_size=64, learning_rate=2e-3),
        max_epochs=6,
        **rest,
    )


class Given:
    """Takes what each statement is right against for points, so that a look sees just that."""

    def placements(self, seen):
        return seen


def looks_at(*seen) -> Looks:
    """Return looks that saw, one after the other, these placements of one kind."""
    looks = Looks(Given())
    for one in seen:
        looks([np.asarray(one, dtype=float)])
    return looks


def right_of(n_right: int, n_statements: int = 100) -> np.ndarray:
    """Return the placements of statements of which the first are right."""
    return (np.arange(n_statements) < n_right).astype(float)
