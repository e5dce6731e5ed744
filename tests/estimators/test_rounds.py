"""Rounds of learning from moving targets: each against the slow formula that it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from little_problems import OwnNetwork, beside_loud_noise, exclusive_or, pairs_within
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from twofold.estimators import _rounds as rounds_module
from twofold.estimators._moving_targets import Judge, ask_of
from twofold.estimators._rounds import (
    MOMENTUM,
    RIDGE,
    Setting,
    linear_rounds,
    network_rounds,
    regressor_rounds,
)
from twofold.regression import TrainingConfig, fit_raw_map, open_features

X, Y = beside_loud_noise()
RELATION = pairs_within(Y)


def a_setting(embedder="mlp", features=X, items=None, dim: int = 5, **rest) -> Setting:
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
        config=TrainingConfig(max_epochs=6, batch_size=64, learning_rate=2e-3),
        max_epochs=6,
        **rest,
    )


def asked_of(setting: Setting, relation=RELATION, margin: float = 1.3):
    return ask_of(relation, setting.start, "contrastive", margin, "cpu")


def an_rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---- a linear map ----


def test_the_first_linear_round_is_a_ridge_regression_of_what_is_to_change():
    setting = a_setting()
    asked = asked_of(setting)
    learnt = linear_rounds(setting, asked, an_rng(), n_rounds=1)
    change = asked.near(setting.start, an_rng()) - setting.start
    ridge = Ridge(alpha=RIDGE, fit_intercept=False).fit(setting.start, change)
    expected = setting.start + ridge.predict(setting.start)
    np.testing.assert_allclose(learnt.embedder.predict(X), expected, atol=1e-5)
    np.testing.assert_allclose(learnt.targets, setting.start + change, atol=1e-6)


def test_linear_rounds_are_a_slow_loop_with_momentum():
    setting = a_setting()
    asked, Z, rng = asked_of(setting), setting.start.astype(float), an_rng()
    W = before = np.eye(5)
    for _ in range(5):
        ahead = W + MOMENTUM * (W - before)
        T = asked.near((Z @ ahead).astype(np.float32), rng)
        step = np.linalg.inv(Z.T @ Z + RIDGE * np.eye(5)) @ Z.T @ (T - Z @ ahead)
        before, W = W, ahead + step
    found = linear_rounds(setting, asked, an_rng(), n_rounds=5).embedder.predict(X)
    np.testing.assert_allclose(found, Z @ W, atol=1e-4)


def test_no_linear_round_is_the_features_as_they_are():
    setting = a_setting()
    learnt = linear_rounds(setting, asked_of(setting), an_rng(), n_rounds=0)
    np.testing.assert_array_equal(learnt.embedder.predict(X), setting.start)


@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_a_linear_map_comes_as_the_kind_of_embedder_that_was_asked_for(embedder):
    setting = a_setting(embedder)
    learnt = linear_rounds(setting, asked_of(setting), an_rng(), n_rounds=3)
    is_network = hasattr(learnt.embedder, "network")
    assert is_network == (embedder == "mlp")
    if not is_network:
        assert isinstance(learnt.embedder.regressor, LinearRegression)
    as_network = linear_rounds(a_setting(), asked_of(setting), an_rng(), n_rounds=3).embedder
    np.testing.assert_allclose(learnt.embedder.predict(X), as_network.predict(X), atol=1e-5)


# ---- every way ----

WAYS = {
    "linear": (linear_rounds, "mlp"),
    "mlp": (network_rounds, "mlp"),
    "own": (network_rounds, OwnNetwork(5, 5)),
    "knn": (regressor_rounds, KNeighborsRegressor(3)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_sees_the_start_and_every_round_and_changes_nothing(way):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    judge = Judge(RELATION, "euclidean")
    seen = rounds(setting, asked_of(setting), an_rng(), judge, 3)
    unseen = rounds(setting, asked_of(setting), an_rng(), None, 3)
    assert len(seen.judged) == 4
    assert seen.judged[0] == judge(setting.start)
    assert seen.judged[-1] == pytest.approx(judge(seen.embedder.predict(X)), abs=1e-6)
    assert not unseen.judged
    assert seen.embedder.predict(X).tobytes() == unseen.embedder.predict(X).tobytes()
    assert set(seen.seconds) == {"targets", "regression"}
    assert min(seen.seconds.values()) > 0


@pytest.mark.parametrize("way", WAYS)
def test_the_first_rounds_of_many_are_those_of_few(way):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    judge = Judge(RELATION, "euclidean")
    whole = rounds(setting, asked_of(setting), an_rng(), judge, 3)
    part = rounds(setting, asked_of(setting), an_rng(), judge, 2)
    assert part.judged == whole.judged[:3]


@pytest.mark.parametrize("way", WAYS)
def test_items_in_no_statement_are_not_learnt_from(way):
    rounds, embedder = WAYS[way]
    linked = np.arange(0, 60, 2)
    relation = pairs_within(Y[linked])
    found = []
    for wild in (False, True):
        features = X.copy()
        if wild:  # the same values in all, so that the start and the scaling are the same
            features[1::2] = features[1::2][::-1]
        setting = a_setting(embedder, features, linked, n_rounds=2)
        asked = ask_of(relation, setting.start, "contrastive", 1.3, "cpu")
        found.append(rounds(setting, asked, an_rng(), None, 2).embedder.predict(X))
        assert setting.start.shape == (30, 5)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


# ---- a network ----


@pytest.mark.parametrize(("max_epochs", "n_rounds", "a_round"), [(6, 3, 2), (7, 3, 2), (2, 4, 1)])
def test_rounds_share_the_epochs_and_have_one_each_at_least(max_epochs, n_rounds, a_round):
    seen = []
    setting = a_setting(n_rounds=n_rounds, callback=seen.append)
    object.__setattr__(setting, "max_epochs", max_epochs)
    asked, judge = asked_of(setting), Judge(RELATION, "euclidean")
    learnt = network_rounds(setting, asked, an_rng(), judge)
    assert [epoch.number for epoch in seen] == list(range(1, n_rounds * a_round + 1))
    assert {epoch.n_epochs for epoch in seen} == {n_rounds * a_round}
    assert len(learnt.judged) == n_rounds + 1
    assert len(learnt.losses) == n_rounds * a_round


@pytest.mark.parametrize(("n_items", "expected"), [(64, 60), (64 * 100, 30), (64 * 3000, 20)])
def test_left_open_a_network_takes_rounds_of_one_epoch_for_so_many_steps(n_items, expected):
    setting = a_setting()
    object.__setattr__(setting, "items", np.arange(n_items))
    config, a_round = rounds_module._training(setting)
    assert (config.max_epochs, a_round) == (expected, 1)


def test_a_network_is_regressed_to_targets_that_move_after_every_round(monkeypatch):
    moved = []
    setting = a_setting(n_rounds=3)
    task = rounds_module.RegressionTask
    monkeypatch.setattr(
        task,
        "move_targets",
        lambda self, targets: (
            moved.append(targets),
            self._targets.copy_(torch.from_numpy(targets)),
        ),
    )
    learnt = network_rounds(setting, asked_of(setting), an_rng())
    assert len(moved) == 2
    np.testing.assert_array_equal(moved[-1], learnt.targets)
    assert not np.array_equal(moved[0], moved[1])


def test_a_callback_that_returns_true_ends_a_network_s_rounds():
    seen = []

    def stop(epoch):
        seen.append(epoch.number)
        return epoch.number == 3

    setting = a_setting(n_rounds=6, callback=stop)
    judge = Judge(RELATION, "euclidean")
    learnt = network_rounds(setting, asked_of(setting), an_rng(), judge)
    assert seen == [1, 2, 3]
    assert len(learnt.losses) == 3
    assert len(learnt.judged) == 3


def test_a_network_learns_what_no_linear_map_does():
    features, y = exclusive_or()
    relation = pairs_within(y, 300)
    judge = Judge(relation, "euclidean")
    setting = a_setting(features=features, dim=4)
    linear = linear_rounds(setting, asked_of(setting, relation), an_rng(), judge)
    network = network_rounds(setting, asked_of(setting, relation, 2.0), an_rng(), judge)
    assert max(linear.judged) < 0.7
    assert network.judged[-1] > 0.95


# ---- a regressor ----


def test_a_regressor_s_round_adds_to_the_features_what_is_to_change():
    memory = KNeighborsRegressor(1)
    setting = a_setting(memory)
    asked, rng = asked_of(setting), an_rng()
    points = setting.start
    for _ in range(2):
        points = asked.near(points, rng)  # a memory predicts just what it was told
    learnt = regressor_rounds(setting, asked, an_rng(), n_rounds=2)
    np.testing.assert_allclose(learnt.embedder.predict(X), points, atol=1e-4)
    np.testing.assert_allclose(learnt.targets, points, atol=1e-4)


@pytest.mark.parametrize(
    ("asked_for", "of_all", "expected"), [(None, None, 8), (3, None, 3), (3, 2, 2)]
)
def test_a_regressor_takes_eight_rounds_or_as_many_as_are_asked_for(asked_for, of_all, expected):
    setting = a_setting(Ridge(), n_rounds=asked_for)
    judge = Judge(RELATION, "euclidean")
    learnt = regressor_rounds(setting, asked_of(setting), an_rng(), judge, of_all)
    assert len(learnt.judged) == expected + 1
