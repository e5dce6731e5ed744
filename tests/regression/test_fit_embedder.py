"""Phase 2 as a whole: networks by name, a user's own, and any regressor."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from torch import nn

from twofold.regression import (
    NetworkEmbedder,
    RegressorEmbedder,
    TrainingConfig,
    fit_embedder,
    part_examples,
)

RNG = np.random.default_rng
CONFIG = TrainingConfig(max_epochs=3, batch_size=16, learning_rate=1e-2)


def a_problem(n_items: int = 80, dim: int = 3):
    rng = RNG(0)
    X = rng.normal(size=(n_items, 4)).astype(np.float32)
    targets = (X[:, :dim] * 2 + 0.1 * rng.normal(size=(n_items, dim))).astype(np.float32)
    return X, targets


def own_network(n_features: int = 4, dim: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(n_features, 8), nn.ReLU(), nn.Linear(8, dim))


def fit(embedder, X, targets, seed: int = 0, config=CONFIG, **rest):
    return fit_embedder(embedder, X, targets, config, RNG(seed), **rest)


def share_explained(embedder, X, targets) -> float:
    error = np.square(embedder.predict(X) - targets).sum()
    return 1 - error / np.square(targets - targets.mean(axis=0)).sum()


# ---- networks ----


@pytest.mark.parametrize(
    ("embedder", "rate"), [("mlp", 5e-3), ("mnist", 5e-3), (own_network(), 5e-2)]
)
def test_a_network_learns_its_targets(embedder, rate):
    X, targets = a_problem()
    config = TrainingConfig(max_epochs=25, batch_size=16, learning_rate=rate)
    fitted = fit(embedder, X, targets, config=config)
    assert isinstance(fitted.embedder, NetworkEmbedder)
    assert share_explained(fitted.embedder, X, targets) > 0.7
    assert fitted.embedder.predict(X).dtype == np.float32
    assert fitted.embedder.input_shape == (4,)
    assert fitted.history.seconds <= fitted.seconds


def test_weights_by_name_are_drawn_from_the_generator():
    X, targets = a_problem()
    found = [fit("mlp", X, targets, seed).embedder.predict(X).tobytes() for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_building_a_network_leaves_the_global_generator_alone():
    X, targets = a_problem()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    fit("mlp", X, targets)
    assert torch.get_rng_state().equal(before)


def test_only_items_with_a_target_are_trained_on():
    X, targets = a_problem()
    items = np.arange(0, 80, 2)
    seen = set()

    class Watched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, batch):
            if self.training:
                seen.update(batch[:, 0].tolist())
            return self.layer(batch)

    fit(Watched(), X, targets[items], items=items)
    assert seen == set(X[items, 0].tolist())


def test_items_meet_their_own_targets():
    X, targets = a_problem()
    items = RNG(3).permutation(80)[:60]
    config = TrainingConfig(max_epochs=25, batch_size=16, learning_rate=5e-3)
    fitted = fit("mlp", X, targets[items], items=items, config=config, validation_fraction=0.2)
    assert share_explained(fitted.embedder, X, targets) > 0.7


def test_the_best_epoch_is_kept_on_a_validation_part():
    X, targets = a_problem()
    states = []
    fitted = fit(
        own_network(),
        X,
        targets,
        validation_fraction=0.25,
        callback=lambda epoch: states.append(epoch.validation_loss),
    )
    assert fitted.history.validation_loss == states
    assert fitted.history.best_epoch == 1 + int(np.argmin(states))


def test_the_validation_loss_is_that_of_the_part_held_out():
    X, targets = a_problem()
    seen = {"train": set(), "held_out": set()}

    class Watched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, batch):
            if len(batch) > 2:  # a trial has two
                seen["train" if self.training else "held_out"].update(batch[:, 0].tolist())
            return self.layer(batch)

    fit(Watched(), X, targets, validation_fraction=0.25)
    assert len(seen["train"]) == 60
    assert len(seen["held_out"]) == 20
    assert not seen["train"] & seen["held_out"]


def test_examples_are_parted_at_random_without_loss():
    train, held_out = part_examples(100, 0.2, RNG(0))
    assert (train.size, held_out.size) == (80, 20)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(100))
    assert held_out.tolist() != list(range(20))
    train, held_out = part_examples(10, 0.0, RNG(0))
    assert (train.size, held_out.size) == (10, 0)


def test_the_seconds_leave_out_what_callbacks_take():
    import time

    X, targets = a_problem(20)
    fitted = fit(own_network(), X, targets, callback=lambda _: time.sleep(0.2))
    assert fitted.seconds < 0.55


def test_a_network_trained_elsewhere_is_pickled_for_a_cpu():
    X, targets = a_problem()
    embedder = fit("mlp", X, targets).embedder
    again = pickle.loads(pickle.dumps(embedder))
    assert again.device == "cpu"
    np.testing.assert_array_equal(again.predict(X), embedder.predict(X))
    assert embedder.network is not again.network


def test_a_network_with_dropout_predicts_the_same_every_time():
    X, targets = a_problem()
    embedder = fit("mnist", X, targets).embedder
    embedder.network.train()
    np.testing.assert_array_equal(embedder.predict(X), embedder.predict(X))


# ---- regressors ----

REGRESSORS = {
    "ridge": Ridge(),
    "forest": RandomForestRegressor(10),
    "neighbours": KNeighborsRegressor(3),
    "histogram boosting": HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5),
    "lightgbm": LGBMRegressor(n_estimators=15, min_child_samples=5, n_jobs=1, verbosity=-1),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
}
WRAPPED = {"histogram boosting", "lightgbm"}


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", REGRESSORS)
def test_any_regressor_is_an_embedder(name, dim):
    X, targets = a_problem(dim=dim)
    given = REGRESSORS[name]
    with threadpool_limits(1):  # threads of boosting that wait for others cost seconds
        fitted = fit(given, X, targets)
        found = fitted.embedder.predict(X)
    assert isinstance(fitted.embedder, RegressorEmbedder)
    assert found.shape == (80, dim)
    assert found.dtype == np.float32
    assert share_explained(fitted.embedder, X, targets) > 0.6
    assert fitted.history is None
    assert fitted.seconds > 0
    inner = fitted.embedder.regressor
    assert isinstance(inner, MultiOutputRegressor) == (dim > 1 and name in WRAPPED)
    assert inner is not given


@pytest.mark.parametrize("name", ["ridge", "forest"])
def test_the_regressor_that_was_given_is_not_fitted(name):
    X, targets = a_problem()
    fit(REGRESSORS[name], X, targets)
    assert not hasattr(REGRESSORS[name], "n_features_in_")
    assert REGRESSORS[name].get_params().get("random_state") is None


def test_a_regressor_gives_what_it_gives_alone():
    X, targets = a_problem()
    alone = Ridge(alpha=3).fit(X, targets).predict(X)
    found = fit(Ridge(alpha=3), X, targets).embedder.predict(X)
    np.testing.assert_allclose(found, alone, atol=1e-5)


@pytest.mark.parametrize(
    "embedder",
    [
        RandomForestRegressor(3, max_features=1),
        LGBMRegressor(
            n_estimators=3, min_child_samples=5, colsample_bytree=0.5, n_jobs=1, verbosity=-1
        ),
    ],
)
def test_a_random_state_left_open_is_drawn_from_the_generator(embedder):
    X, targets = a_problem()
    found = [fit(embedder, X, targets, seed).embedder.predict(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_a_random_state_that_was_given_stays():
    X, targets = a_problem()
    embedder = RandomForestRegressor(3, random_state=7)
    fitted = fit(embedder, X, targets, seed=1).embedder
    assert fitted.regressor.random_state == 7
    np.testing.assert_array_equal(
        fitted.predict(X), fit(embedder, X, targets, 2).embedder.predict(X)
    )


@pytest.mark.parametrize(
    "embedder",
    [
        make_pipeline(StandardScaler(), RandomForestRegressor(3, max_features=1)),
        MultiOutputRegressor(RandomForestRegressor(3, max_features=1)),
    ],
)
def test_a_random_state_within_a_pipeline_is_drawn_too(embedder):
    X, targets = a_problem()
    found = [fit(embedder, X, targets, 0).embedder.predict(X) for _ in range(2)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["ridge", "neighbours", "lightgbm"])
def test_rows_without_a_target_are_left_out_of_a_regressor(name):
    X, targets = a_problem()
    items = np.arange(0, 80, 2)
    wild = X.copy()
    wild[1::2] = 1e5
    found = fit(REGRESSORS[name], wild, targets[items], items=items).embedder.predict(X)
    subset = fit(REGRESSORS[name], X[items], targets[items]).embedder.predict(X)
    np.testing.assert_array_equal(found, subset)


def test_what_takes_several_outputs_gets_them_at_once():
    seen = []

    class Watched(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            seen.append(y.shape)
            self.dim_ = y.shape[1]
            return self

        def predict(self, X):
            return np.zeros((len(X), self.dim_))

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.target_tags.multi_output = True
            return tags

    X, targets = a_problem()
    fit(Watched(), X, targets)
    assert seen == [(80, 3)]
