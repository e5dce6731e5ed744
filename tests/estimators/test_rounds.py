"""Rounds of learning from moving targets: each against the slow formula that it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from little_problems import OwnNetwork, beside_loud_noise, exclusive_or, pairs_within
from little_trials import a_setting
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from twofold.estimators import _rounds as rounds_module
from twofold.estimators._judge import Judge, Looks
from twofold.estimators._lesson import Learnt, Lesson, Setting
from twofold.estimators._moving_targets import ask_of
from twofold.estimators._rounds import (
    MOMENTUM,
    map_rounds,
    network_rounds,
    refresh_network,
    regressor_rounds,
)
from twofold.regression import landmark_basis, linear_basis
from twofold.regression._landmarks import LINEAR_RIDGE

X, Y = beside_loud_noise()
RELATION = pairs_within(Y)


def a_lesson(setting: Setting, relation=RELATION, margin: float = 1.3, **rest) -> Lesson:
    """Return what some pairs ask of the points of a setting."""
    asked = ask_of(relation, setting.start, "contrastive", margin, "cpu")
    return Lesson(setting, asked, an_rng(), **rest)


def an_rng() -> np.random.Generator:
    return np.random.default_rng(0)


def a_judge(relation=RELATION) -> Looks:
    return Looks(Judge(relation, "euclidean"))


class Says:
    """A judge who says what it was told to, look by look."""

    def __init__(self, *said: float) -> None:
        self._said = list(said)

    def __call__(self, _) -> float:
        return self._said.pop(0)


def linear_rounds(lesson: Lesson) -> Learnt:
    setting = lesson.setting
    return map_rounds(lesson, linear_basis(setting.view.raw, setting.start, "cpu"))


def landmark_rounds(lesson: Lesson) -> Learnt:
    setting = lesson.setting
    return map_rounds(lesson, landmark_basis(setting.view.raw, setting.start, "cpu", an_rng()))


# ---- a map ----


def test_the_first_linear_round_is_a_ridge_regression_of_what_is_to_change():
    setting = a_setting()
    lesson = a_lesson(setting, n_rounds=1)
    learnt = linear_rounds(lesson)
    change = lesson.asked.near(setting.start, an_rng()) - setting.start
    ridge = Ridge(alpha=LINEAR_RIDGE, fit_intercept=False).fit(setting.start, change)
    expected = setting.start + ridge.predict(setting.start)
    np.testing.assert_allclose(learnt.embedder.predict(X), expected, atol=1e-5)
    np.testing.assert_allclose(learnt.targets, setting.start + change, atol=1e-6)


def slow_rounds(lesson: Lesson, functions: np.ndarray, ridge: float) -> np.ndarray:
    """Return the points after some rounds with momentum, in float64."""
    Z, F, rng = lesson.setting.start.astype(float), functions.astype(float), an_rng()
    rows = slice(None) if lesson.rows is None else lesson.rows
    inverse = np.linalg.inv(F[rows].T @ F[rows] + ridge * np.eye(F.shape[1]))
    W = before = np.zeros((F.shape[1], Z.shape[1]))
    for _ in range(lesson.n_rounds):
        ahead = W + MOMENTUM * (W - before)
        points = Z + F @ ahead
        T = lesson.asked.near(points.astype(np.float32), rng)
        before, W = W, ahead + inverse @ F[rows].T @ (T - points)[rows]
    return Z + F @ W


@pytest.mark.parametrize("rows", [None, np.arange(5, 60, 2)])
@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_rounds_of_a_map_are_a_slow_loop_with_momentum(kind, rows):
    setting = a_setting()
    lesson = a_lesson(setting, n_rounds=5, rows=rows)
    if kind == "linear":
        basis = linear_basis(setting.view.raw, setting.start, "cpu")
    else:
        basis = landmark_basis(setting.view.raw, setting.start, "cpu", an_rng())
    learnt = map_rounds(lesson, basis)
    expected = slow_rounds(lesson, basis.values.numpy(), basis.ridge)
    np.testing.assert_allclose(learnt.points, expected, atol=1e-3)
    np.testing.assert_allclose(learnt.embedder.predict(X), expected, atol=2e-3)


@pytest.mark.parametrize("rounds", [linear_rounds, landmark_rounds])
def test_no_round_of_a_map_is_the_features_as_they_are(rounds):
    setting = a_setting()
    learnt = rounds(a_lesson(setting, n_rounds=0))
    np.testing.assert_allclose(learnt.embedder.predict(X), setting.start, atol=1e-6)
    np.testing.assert_array_equal(learnt.points, setting.start)


@pytest.mark.parametrize("rounds", [linear_rounds, landmark_rounds])
def test_left_open_a_map_takes_thirty_rounds(rounds):
    assert len(rounds(a_lesson(a_setting(), judge=a_judge())).judged) == 31


@pytest.mark.parametrize("rounds", [linear_rounds, landmark_rounds])
@pytest.mark.parametrize("embedder", ["mlp", Ridge()])
def test_a_map_comes_as_the_kind_of_embedder_that_was_asked_for(rounds, embedder):
    setting = a_setting(embedder)
    learnt = rounds(a_lesson(setting, n_rounds=3))
    is_network = hasattr(learnt.embedder, "network")
    assert is_network == (embedder == "mlp")
    if not is_network:
        linear = learnt.embedder.regressor if rounds is linear_rounds else learnt.embedder.path
        assert isinstance(linear, LinearRegression)
    as_network = rounds(a_lesson(a_setting(), n_rounds=3)).embedder
    np.testing.assert_allclose(learnt.embedder.predict(X), as_network.predict(X), atol=1e-3)


def test_landmarks_learn_what_no_linear_map_does():
    features, y = exclusive_or()
    relation, unseen = pairs_within(y, 300), pairs_within(y, 300, seed=1)
    setting = a_setting(features=features, dim=4)
    linear, bent = (
        rounds(a_lesson(setting, relation, judge=a_judge(unseen)))
        for rounds in (linear_rounds, landmark_rounds)
    )
    assert max(linear.judged) < 0.8
    assert bent.judged[-1] > 0.95


# ---- every way ----


def network_from_start(lesson: Lesson) -> Learnt:
    return network_rounds(lesson, lesson.setting.start)


def regressor_from_start(lesson: Lesson) -> Learnt:
    return regressor_rounds(lesson, lesson.setting.start)


WAYS = {
    "linear": (linear_rounds, "mlp"),
    "landmarks": (landmark_rounds, "mlp"),
    "mlp": (network_from_start, "mlp"),
    "own": (network_from_start, OwnNetwork(5, 5)),
    "knn": (regressor_from_start, KNeighborsRegressor(3)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_sees_the_start_and_every_round(way):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    judge = a_judge()
    seen = rounds(a_lesson(setting, judge=judge, n_rounds=3))
    assert seen.judged == judge.found
    assert len(seen.judged) == 4
    assert seen.judged[0] == a_judge()(setting.start)
    found = seen.embedder.predict(X)
    np.testing.assert_allclose(found, seen.points, atol=1e-4)
    assert max(seen.judged[1:]) == pytest.approx(a_judge()(found), abs=1e-3)
    assert set(seen.seconds) == {"targets", "regression"}
    assert min(seen.seconds.values()) > 0


@pytest.mark.parametrize("way", WAYS)
def test_features_are_judged_with_all_their_components(way):
    rounds, embedder = WAYS[way]
    embedder = OwnNetwork(5, 2) if way == "own" else embedder
    seen = rounds(a_lesson(a_setting(embedder, dim=2), judge=a_judge(), n_rounds=1))
    assert seen.judged[0] == a_judge()(a_setting().start)
    assert seen.points.shape == (60, 2)


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_changes_nothing_but_which_round_is_kept(way):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    seen = rounds(a_lesson(setting, judge=Says(9, 1, 2, 3), n_rounds=3))
    unseen = rounds(a_lesson(setting, n_rounds=3))
    assert not unseen.judged
    assert seen.embedder.predict(X).tobytes() == unseen.embedder.predict(X).tobytes()
    assert seen.points.tobytes() == unseen.points.tobytes()
    assert seen.targets.tobytes() == unseen.targets.tobytes()


@pytest.mark.parametrize("said", [(9, 1, 3, 2), (9, 3, 3, 1), (0, 1, 2, 1)])
@pytest.mark.parametrize("way", WAYS)
def test_the_round_that_is_judged_best_is_kept_and_the_last_of_equals(way, said):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    n_rounds = 3 if way in ("linear", "landmarks") else None
    kept = rounds(a_lesson(setting, judge=Says(*said), n_rounds=n_rounds))
    second = rounds(a_lesson(setting, n_rounds=2))
    assert kept.judged == [*said]
    assert kept.embedder.predict(X).tobytes() == second.embedder.predict(X).tobytes()
    assert kept.points.tobytes() == second.points.tobytes()


@pytest.mark.parametrize("rows", [None, np.arange(30)])
@pytest.mark.parametrize("way", WAYS)
def test_the_targets_of_the_round_that_is_judged_best_are_kept(way, rows):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    kept = rounds(a_lesson(setting, judge=Says(0, 3, 2, 1), n_rounds=3, rows=rows))
    first = rounds(a_lesson(setting, n_rounds=1, rows=rows))
    np.testing.assert_array_equal(kept.targets, first.targets)


@pytest.mark.parametrize("way", WAYS)
def test_the_first_rounds_of_many_are_those_of_few(way):
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=3)
    whole = rounds(a_lesson(setting, judge=a_judge(), n_rounds=3))
    part = rounds(a_lesson(setting, judge=a_judge(), n_rounds=2))
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
        found.append(rounds(a_lesson(setting, relation, n_rounds=2)).embedder.predict(X))
        assert setting.start.shape == (30, 5)
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_are_left_out_are_not_regressed_on(way):
    """Their statements move the others' targets, but their own targets may be anything."""
    rounds, embedder = WAYS[way]
    setting = a_setting(embedder, n_rounds=2)
    rows = np.arange(0, 60, 2)
    found = []
    for wild in (False, True):
        lesson = a_lesson(setting, rows=rows, n_rounds=2)
        if wild:
            object.__setattr__(lesson, "asked", WildBeside(lesson.asked, rows))
        found.append(rounds(lesson).embedder.predict(X))
    np.testing.assert_array_equal(found[0], found[1])
    everything = rounds(a_lesson(setting, n_rounds=2)).embedder.predict(X)
    assert not np.allclose(everything, found[0], atol=1e-3)


class WildBeside:
    """Targets as they are asked for, but far away for all except some rows."""

    def __init__(self, asked, rows) -> None:
        self._asked = asked
        self._rows = rows

    def near(self, points, rng):
        targets = np.full_like(points, 1e6)
        targets[self._rows] = self._asked.near(points, rng)[self._rows]
        return targets


# ---- a network ----


@pytest.mark.parametrize(("max_epochs", "n_rounds", "a_round"), [(6, 3, 2), (7, 3, 2), (2, 4, 1)])
def test_rounds_share_the_epochs_and_have_one_each_at_least(max_epochs, n_rounds, a_round):
    seen = []
    setting = a_setting(n_rounds=n_rounds, callback=seen.append)
    object.__setattr__(setting, "max_epochs", max_epochs)
    learnt = network_from_start(a_lesson(setting, judge=a_judge()))
    assert [epoch.number for epoch in seen] == list(range(1, n_rounds * a_round + 1))
    assert {epoch.n_epochs for epoch in seen} == {n_rounds * a_round}
    assert len(learnt.judged) == n_rounds + 1
    assert len(learnt.losses) == n_rounds * a_round


@pytest.mark.parametrize(("n_items", "expected"), [(64, 40), (64 * 100, 12), (64 * 3000, 6)])
def test_left_open_a_network_takes_rounds_of_one_epoch_for_so_many_steps(n_items, expected):
    setting = a_setting()
    object.__setattr__(setting, "items", np.arange(n_items))
    config, a_round = rounds_module._training(setting)
    assert (config.max_epochs, a_round) == (expected, 1)
    assert config.learning_rate == setting.config.learning_rate / 2


class Watched:
    """Targets as they are asked for, and what was asked for."""

    def __init__(self, asked) -> None:
        self._asked = asked
        self.points: list[np.ndarray] = []
        self.targets: list[np.ndarray] = []

    def near(self, points, rng):
        self.points.append(points.copy())
        targets = self._asked.near(points, rng)
        self.targets.append(targets.copy())
        return targets


@pytest.fixture
def moved(monkeypatch) -> list:
    """Return the targets that a network's task was moved to, one after the other."""
    seen = []
    move_targets = rounds_module.RegressionTask.move_targets

    def watched(self, targets):
        seen.append(targets.copy())
        move_targets(self, targets)

    monkeypatch.setattr(rounds_module.RegressionTask, "move_targets", watched)
    return seen


@pytest.mark.parametrize(("n_rounds", "n_moved"), [(1, 0), (2, 1), (3, 1), (6, 3), (7, 3)])
def test_a_network_holds_its_targets_for_half_the_rounds_then_moves_them(n_rounds, n_moved, moved):
    setting = a_setting(n_rounds=n_rounds)
    near = np.random.default_rng(1).normal(size=(60, 5)).astype(np.float32)
    lesson = a_lesson(setting)
    watched = Watched(lesson.asked)
    object.__setattr__(lesson, "asked", watched)
    learnt = network_rounds(lesson, near)
    np.testing.assert_array_equal(watched.points[0], near)
    assert len(moved) == n_moved == len(watched.points) - 1
    for found, expected in zip(moved, watched.targets[1:], strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(watched.targets[-1], learnt.targets)
    assert len({targets.tobytes() for targets in watched.targets}) == n_moved + 1


def test_what_moves_a_network_s_targets_is_where_it_is(moved):
    setting = a_setting(n_rounds=4)
    lesson = a_lesson(setting)
    watched = Watched(lesson.asked)
    object.__setattr__(lesson, "asked", watched)
    network_from_start(lesson)
    for number, points in enumerate(watched.points[1:], start=2):
        expected = network_from_start(a_lesson(setting, n_rounds=number)).points
        np.testing.assert_array_equal(points, expected)


def test_only_targets_of_rows_that_are_regressed_on_reach_a_network(moved):
    rows = np.arange(0, 60, 3)
    setting = a_setting(n_rounds=2)
    learnt = network_from_start(a_lesson(setting, rows=rows))
    assert learnt.targets.shape == learnt.points.shape == (60, 5)
    np.testing.assert_array_equal(moved[-1], learnt.targets[rows])


def test_a_callback_that_returns_true_ends_a_network_s_rounds():
    seen = []

    def stop(epoch):
        seen.append(epoch.number)
        return epoch.number == 3

    setting = a_setting(n_rounds=6, callback=stop)
    learnt = network_from_start(a_lesson(setting, judge=a_judge()))
    assert seen == [1, 2, 3]
    assert len(learnt.losses) == 3
    assert len(learnt.judged) == 3


def test_a_network_learns_what_no_linear_map_does():
    features, y = exclusive_or()
    relation = pairs_within(y, 300)
    setting = a_setting(features=features, dim=4)
    linear = linear_rounds(a_lesson(setting, relation, judge=a_judge(relation)))
    network = network_from_start(a_lesson(setting, relation, 2.0, judge=a_judge(relation)))
    assert max(linear.judged) < 0.8
    assert network.judged[-1] > 0.95


def test_a_network_learns_first_where_it_is_told_to_go():
    """Statements that ask for little leave the targets near the points that were given."""
    setting = a_setting(n_rounds=40)
    near = np.eye(5, dtype=np.float32)[Y]
    lesson = a_lesson(setting, n_rounds=20)  # all of them with targets that are held
    found = network_rounds(lesson, near).points
    apart = [np.linalg.norm(found[k == Y].mean(axis=0) - found.mean(axis=0)) for k in range(3)]
    start = setting.start
    before = [np.linalg.norm(start[k == Y].mean(axis=0) - start.mean(axis=0)) for k in range(3)]
    assert min(apart) > 1.5 * max(before)


def test_a_network_goes_on_from_half_way_back_and_is_left_as_it_was(moved):
    setting = a_setting(n_rounds=6)
    learnt = network_from_start(a_lesson(setting))
    network = learnt.embedder.network
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    moved.clear()
    lesson = a_lesson(setting, judge=a_judge())
    again = refresh_network(network, lesson, learnt.points)
    assert all(tensor.equal(before[name]) for name, tensor in network.state_dict().items())
    assert len(again.losses) == 10
    assert not moved  # near the points that were given, in all rounds
    expected = lesson.asked.near(learnt.points, an_rng())
    np.testing.assert_allclose(again.targets, expected, atol=0.01)


def test_half_way_back_is_half_of_what_was_learnt(monkeypatch):
    setting = a_setting(n_rounds=6)
    learnt = network_from_start(a_lesson(setting))
    network, seen = learnt.embedder.network, []

    def watched(started, *rest, **named):
        seen.append({name: one.detach().clone() for name, one in started.named_parameters()})
        return train_network(started, *rest, **named)

    train_network = rounds_module.train_network
    monkeypatch.setattr(rounds_module, "train_network", watched)
    refresh_network(network, a_lesson(setting), learnt.points)
    network_from_start(a_lesson(setting))
    begun, fresh = seen
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(begun[name], (parameter.detach() + fresh[name]) / 2)


@pytest.mark.parametrize(("n_items", "expected"), [(64, 10), (64 * 20, 6), (64 * 3000, 4)])
def test_a_network_goes_on_for_rounds_that_make_so_many_steps(n_items, expected):
    setting = a_setting()
    object.__setattr__(setting, "items", np.arange(n_items))
    limits = (
        rounds_module.N_REFRESHING_STEPS,
        rounds_module.FEWEST_REFRESHING_ROUNDS,
        rounds_module.MOST_REFRESHING_ROUNDS,
    )
    assert rounds_module._n_rounds(setting, *limits) == expected


# ---- a regressor ----


def test_a_regressor_s_round_adds_to_the_features_what_is_to_change():
    memory = KNeighborsRegressor(1)
    setting = a_setting(memory)
    near = np.random.default_rng(1).normal(size=(60, 5)).astype(np.float32)
    lesson, rng = a_lesson(setting, n_rounds=2), an_rng()
    points = near
    for _ in range(2):
        points = lesson.asked.near(points, rng)  # a memory predicts just what it was told
    learnt = regressor_rounds(lesson, near)
    np.testing.assert_allclose(learnt.embedder.predict(X), points, atol=1e-4)
    np.testing.assert_allclose(learnt.targets, points, atol=1e-4)
    np.testing.assert_allclose(learnt.points, points, atol=1e-4)


def test_a_regressor_that_learns_nothing_leaves_the_features_but_for_a_shift():
    setting = a_setting(DummyRegressor())
    learnt = regressor_from_start(a_lesson(setting))
    shift = learnt.embedder.predict(X) - setting.start
    np.testing.assert_allclose(shift, np.tile(shift[0], (60, 1)), atol=1e-5)


@pytest.mark.parametrize(
    ("asked_for", "of_all", "expected"), [(None, None, 2), (3, None, 3), (3, 2, 2)]
)
def test_a_regressor_takes_two_rounds_or_as_many_as_are_asked_for(asked_for, of_all, expected):
    setting = a_setting(Ridge(), n_rounds=asked_for)
    learnt = regressor_from_start(a_lesson(setting, judge=a_judge(), n_rounds=of_all))
    assert len(learnt.judged) == expected + 1
