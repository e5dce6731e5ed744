"""What rounds learn from, and looks of judges, that the suites of feedback share."""

from __future__ import annotations

import numpy as np
from little_problems import beside_loud_noise, pairs_within
from sklearn.neighbors import KNeighborsRegressor

from twofold.estimators._judge import Looks
from twofold.estimators._lesson import Setting
from twofold.estimators._views import View
from twofold.estimators._ways import Ways
from twofold.regression import TrainingConfig, fit_raw_map, open_features

LOUD, _ = beside_loud_noise()
X, Y = beside_loud_noise(80)
PAIRS = pairs_within(Y, 160)


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
        view=View(raw),
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


def some_ways(embedder="mlp", loss="contrastive", is_triplets=False, **rest) -> Ways:
    rng = np.random.default_rng(0)
    setting = a_setting(embedder, X, n_rounds=2, **rest)
    return Ways(setting, loss, 1.0, rng, is_triplets)


class Watched(Ways):
    """Ways that remember what was learnt, from what, and by whom it was judged."""

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.seen: list[tuple] = []

    def by_map(self, map_, statements, judge=None, n_rounds=None, rows=None):
        learnt = super().by_map(map_, statements, judge, n_rounds, rows)
        self.seen.append((map_, statements, judge, n_rounds, rows, learnt))
        return learnt

    def by_embedder(self, near, statements, judge=None, n_rounds=None, rows=None):
        learnt = super().by_embedder(near, statements, judge, n_rounds, rows)
        self.seen.append(("embedder", statements, judge, n_rounds, rows, learnt))
        self.near = near
        return learnt


NEIGHBOURS = KNeighborsRegressor(3)


def watched_ways(embedder=NEIGHBOURS) -> Watched:
    setting = a_setting(embedder, X, n_rounds=2)
    return Watched(setting, "contrastive", 1.0, np.random.default_rng(0), False)
