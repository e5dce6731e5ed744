"""Phase 2 as a whole: networks by name, a user's own, and any regressor."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from lightgbm import LGBMRegressor
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from torch import nn
from torch.utils.data import Dataset

from twofold.regression import (
    Augment,
    NetworkEmbedder,
    OutputScale,
    RegressorEmbedder,
    TrainingConfig,
    append_rows,
    fit_embedder,
    part_examples,
    refresh_embedder,
    take_rows,
)
from twofold.regression import _regressor as regressor_module

RNG = np.random.default_rng


def config(architecture="mlp", **parameters) -> TrainingConfig:
    defaults = {"max_epochs": 3, "batch_size": 16, "learning_rate": 1e-2}
    return TrainingConfig(architecture, **{**defaults, **parameters})


def a_problem(n_items: int = 80, dim: int = 3):
    rng = RNG(0)
    X = rng.normal(size=(n_items, 4)).astype(np.float32)
    targets = (X[:, :dim] * 2 + 0.1 * rng.normal(size=(n_items, dim))).astype(np.float32)
    return X, targets


def own_network(n_features: int = 4, dim: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(n_features, 8), nn.ReLU(), nn.Linear(8, dim))


def fit(embedder, X, targets, seed: int = 0, **rest):
    """Fit a config, a regressor, or a network with the usual config."""
    if isinstance(embedder, str | nn.Module):
        embedder = config(embedder)
    return fit_embedder(embedder, X, targets, RNG(seed), **rest)


def share_explained(embedder, X, targets) -> float:
    error = np.square(embedder.predict(X) - targets).sum()
    return 1 - error / np.square(targets - targets.mean(axis=0)).sum()


# ---- networks ----


@pytest.mark.parametrize(
    ("architecture", "rate"), [("mlp", 5e-3), ("mnist", 5e-3), (own_network(), 5e-2)]
)
def test_a_network_learns_its_targets(architecture, rate):
    X, targets = a_problem()
    fitted = fit(config(architecture, max_epochs=20, learning_rate=rate), X, targets)
    assert isinstance(fitted.embedder, NetworkEmbedder)
    assert share_explained(fitted.embedder, X, targets) > 0.7
    assert fitted.embedder.predict(X).dtype == np.float32
    assert fitted.embedder.input_shape == (4,)
    assert fitted.history.seconds <= fitted.seconds


def test_weights_by_name_are_drawn_from_the_generator():
    X, targets = a_problem()
    points = [fit("mlp", X, targets, seed).embedder.predict(X).tobytes() for seed in (1, 1, 2)]
    assert points[0] == points[1] != points[2]


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
    longer = config(max_epochs=20, learning_rate=5e-3)
    fitted = fit(longer, X, targets[items], items=items, validation_fraction=0.2)
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


def test_a_network_trained_elsewhere_is_pickled_for_a_cpu():
    X, targets = a_problem()
    scale = OutputScale(np.ones(3, np.float32), 2.0)
    embedder = fit("mlp", X, targets, output_scale=scale).embedder
    again = pickle.loads(pickle.dumps(embedder))
    assert again.device == "cpu"
    np.testing.assert_allclose(again.predict(X), embedder.predict(X), rtol=1e-5, atol=1e-6)
    assert embedder.network is not again.network


def test_a_network_with_dropout_predicts_the_same_every_time():
    X, targets = a_problem()
    embedder = fit("mnist", X, targets).embedder
    embedder.network.train()
    np.testing.assert_array_equal(embedder.predict(X), embedder.predict(X))


@pytest.mark.parametrize("embedder", ["mlp", Ridge()], ids=["network", "regressor"])
def test_an_output_scale_brings_outputs_to_the_targets_own_coordinates(embedder):
    X, targets = a_problem()
    mean = np.array([1, -2, 3], np.float32)
    outputs = fit(embedder, X, targets).embedder.predict(X)
    points = fit(embedder, X, targets, output_scale=OutputScale(mean, 4.0)).embedder.predict(X)
    np.testing.assert_allclose(points, 4 * outputs + mean, rtol=1e-5, atol=1e-5)
    assert points.dtype == np.float32


def test_an_epoch_can_embed_by_the_network_as_it_stands_in_the_targets_coordinates():
    X, targets = a_problem()
    seen = []
    fitted = fit(
        "mlp",
        X,
        targets,
        output_scale=OutputScale(np.ones(3, np.float32), 2.0),
        callback=lambda epoch: seen.append(epoch.embed(X)),
    )
    assert len(seen) == 3
    np.testing.assert_allclose(seen[-1], fitted.embedder.predict(X), rtol=1e-5, atol=1e-6)
    assert np.abs(seen[0] - seen[-1]).max() > 0.01


def test_a_network_goes_on_towards_other_targets_from_where_it_is():
    X, targets = a_problem()
    scale = OutputScale(np.ones(3, np.float32), 2.0)
    first = fit(config(max_epochs=20, learning_rate=5e-3), X, targets, output_scale=scale).embedder
    before = first.predict(X)
    gentle = config(max_epochs=2, learning_rate=1e-4)
    again = refresh_embedder(first, X, targets, gentle, RNG(0), items=np.arange(80))
    np.testing.assert_array_equal(first.predict(X), before)  # a copy goes on
    moved = np.abs(again.embedder.predict(X) - before).mean()
    assert 0 < moved < 0.1 * np.abs(before - before.mean(axis=0)).mean()
    assert again.embedder.output_scale.scale == 2
    assert len(again.history.loss) == 2


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_only_images_can_be_mirrored(shape):
    X = RNG(0).normal(size=(20, *shape)).astype(np.float32)
    with pytest.raises(ValueError, match=r"augment changes images .* items have shape"):
        fit(config(augment=Augment(flips=True)), X, np.zeros((20, 3), np.float32))


def test_outputs_that_are_not_as_many_as_targets_have_components_are_refused():
    X, targets = a_problem()
    with pytest.raises(ValueError, match=r"\(n_items, n_components\) = \(2, 3\) .* got \(2, 5\)"):
        fit(own_network(dim=5), X, targets)


def test_a_network_for_other_items_is_refused():
    X, targets = a_problem()
    with pytest.raises(ValueError, match=r"does not take items of shape \(4,\)"):
        fit(own_network(n_features=7), X, targets)


def test_a_network_without_parameters_is_refused():
    X, targets = a_problem()
    with pytest.raises(ValueError, match="no parameters to train"):
        fit(nn.Flatten(), X[:, :3], targets)


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
        points = fitted.embedder.predict(X)
    assert isinstance(fitted.embedder, RegressorEmbedder)
    assert points.shape == (80, dim)
    assert points.dtype == np.float32
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
    points = fit(Ridge(alpha=3), X, targets).embedder.predict(X)
    np.testing.assert_allclose(points, alone, atol=1e-5)


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
    points = [fit(embedder, X, targets, seed).embedder.predict(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(points[0], points[1])
    assert not np.array_equal(points[0], points[2])


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
    points = [fit(embedder, X, targets, 0).embedder.predict(X) for _ in range(2)]
    np.testing.assert_array_equal(*points)


@pytest.mark.parametrize("name", ["ridge", "neighbours", "lightgbm"])
def test_rows_without_a_target_are_left_out_of_a_regressor(name):
    X, targets = a_problem()
    items = np.arange(0, 80, 2)
    wild = X.copy()
    wild[1::2] = 1e5
    points = fit(REGRESSORS[name], wild, targets[items], items=items).embedder.predict(X)
    subset = fit(REGRESSORS[name], X[items], targets[items]).embedder.predict(X)
    np.testing.assert_allclose(points, subset, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("embedder", ["mlp", Ridge()], ids=["network", "regressor"])
def test_all_items_in_another_order_meet_their_own_targets(embedder):
    X, targets = a_problem()
    items = RNG(3).permutation(80)
    if embedder == "mlp":
        embedder = config(max_epochs=20, learning_rate=5e-3)
    fitted = fit(embedder, X, targets[items], items=items)
    assert share_explained(fitted.embedder, X, targets) > 0.7


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


def test_a_regressor_predicts_in_parts(monkeypatch):
    X, targets = a_problem()
    embedder = fit(
        Ridge(), X, targets, output_scale=OutputScale(np.ones(3, np.float32), 2)
    ).embedder
    whole = embedder.predict(X)
    monkeypatch.setattr(regressor_module, "PREDICTED_AT_ONCE", 7)
    np.testing.assert_allclose(embedder.predict(X), whole, rtol=1e-5, atol=1e-5)


# ---- rows ----


class Rows(Dataset):
    def __init__(self, array) -> None:
        self.array = array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, number):
        return torch.tensor(self.array[number])


KINDS = {
    "array": np.asarray,
    "frame": pd.DataFrame,
    "csr": sparse.csr_array,
    "coo": sparse.coo_array,
    "dataset": Rows,
}


def as_array(X) -> np.ndarray:
    if isinstance(X, Dataset):
        return np.stack([X[number] for number in range(len(X))])
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("kind", KINDS)
def test_some_rows_are_taken_of_features_of_any_kind(kind):
    X, _ = a_problem(6)
    taken = take_rows(KINDS[kind](X), np.array([4, 0, 1]))
    np.testing.assert_array_equal(as_array(taken), X[[4, 0, 1]])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_appended_to_features_of_any_kind(kind):
    X, _ = a_problem(6)
    both = append_rows(KINDS[kind](X[:4]), KINDS[kind](X[4:]))
    np.testing.assert_array_equal(as_array(both), X)


def test_rows_of_a_dataset_are_not_appended_to_an_array():
    X, _ = a_problem(6)
    with pytest.raises(TypeError, match="X_new must be of the same type as X in fit, got Rows"):
        append_rows(X, Rows(X))
