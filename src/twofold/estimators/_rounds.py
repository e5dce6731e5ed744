"""Ways to learn from moving targets, in rounds: a map that is solved for, a network, a regressor.

A map starts as the features are, and by turns asks where its points should be and is solved for it:
milliseconds a round. A network or regressor, which costs more, begins with the targets near the
points that a map has found, so that a few rounds do.
"""

from __future__ import annotations

import copy
import math
import time
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from twofold.estimators._lesson import Learnt, Lesson, Setting
from twofold.estimators._moving_targets import Points
from twofold.regression import (
    Epoch,
    LinearPath,
    MapBasis,
    RegressionTask,
    RegressorEmbedder,
    TrainingConfig,
    as_regressor,
    beside_features,
    fit_regressor,
    predict_points,
    prepare_network,
    take_rows,
    train_network,
)

N_MAP_ROUNDS = 30
MOMENTUM = 0.9
N_STEPS = 1200
FEWEST_ROUNDS, MOST_ROUNDS = 6, 40
"""Of a network: as many rounds, of one epoch each, as make N_STEPS steps."""
SHARE_HELD = 0.5
"""Of a network's rounds, in which the targets stay near what a map found. Then they follow the
network, which may know better where a map of the features says little. On vectors it hardly matters
(one seed each; digits at half a pair an item: AUROC .9959 against .9958 if they stay, MNIST with
6,000 pairs .9876 against .9878, amazon-google .948 against .951); on images it was not measured."""
SHARE_OF_RATE = 0.5
"""Of the learning rate: targets that move are followed more slowly."""
N_REGRESSOR_ROUNDS = 2
N_REFRESHING_STEPS = 120
FEWEST_REFRESHING_ROUNDS, MOST_REFRESHING_ROUNDS = 4, 10
"""Of a network that has learnt before, when statements come later."""


def map_rounds(lesson: Lesson, basis: MapBasis) -> Learnt:
    """Learn a map of the raw points Z: each round the sum Z + FW is regressed to its targets.

    W += (FᵀF + ρI)⁻¹ Fᵀ (T − Z − FW), and the change of a round is carried on into the next, as by
    Nesterov.
    """
    start = lesson.setting.start
    learnt = Learnt(lesson.setting.map_embedder(LinearPath(basis.raw)), start, start)
    learnt.judged = lesson.judged_start()
    device = basis.values.device
    points = last_points = torch.from_numpy(start).to(device)
    dim = points.shape[1]
    weights = last_weights = torch.zeros(basis.values.shape[1], dim, device=device)
    ridge = basis.ready(lesson.rows)
    best_weights = weights
    for _ in range(N_MAP_ROUNDS if lesson.n_rounds is None else lesson.n_rounds):
        began = time.perf_counter()
        ahead = points + MOMENTUM * (points - last_points)
        weights_ahead = weights + MOMENTUM * (weights - last_weights)
        now = ahead.cpu().numpy()
        targets = lesson.asked.near(now, lesson.rng)
        asked_for = time.perf_counter()
        change = ridge.weights(torch.from_numpy(lesson.regressed(targets - now)).to(device))
        last_points, points = points, ahead + basis.sum(change)
        last_weights, weights = weights, weights_ahead + change
        learnt.seconds["targets"] += asked_for - began
        learnt.seconds["regression"] += time.perf_counter() - asked_for
        found = points.cpu().numpy()
        if lesson.judge is not None:
            learnt.judged.append(lesson.judge(found))
        if lesson.is_best(learnt.judged):
            learnt.points, learnt.targets, best_weights = found, targets, weights
    learnt.embedder = lesson.setting.map_embedder(basis.as_map(best_weights))
    return learnt


def network_rounds(lesson: Lesson, near: Points) -> Learnt:
    """Learn a network beside the features, from targets near some points; later they move.

    One training from end to end, with one schedule of its rate: only the targets change.
    """
    config, epochs_a_round = _training(lesson.setting)
    n_held = math.ceil(SHARE_HELD * config.max_epochs / epochs_a_round)
    network = _beside_features(lesson.setting, lesson.rng)
    return _train(network, lesson, config, _Follower(lesson, near, epochs_a_round, n_held))


def refresh_network(network: LinearPath, lesson: Lesson, near: Points) -> Learnt:
    """Go on with a network that has learnt before, from half way back to a fresh start.

    One that goes on from where it is learns the statements it knows by heart: after ten updates on
    digits AUROC .985 against .991 of a fit from scratch, from half way back .993.
    """
    setting = lesson.setting
    network = copy.deepcopy(network)  # what is interrupted changes nothing
    fresh = _beside_features(setting, lesson.rng)
    with torch.no_grad():
        for learnt, new in zip(network.parameters(), fresh.parameters(), strict=True):
            learnt.lerp_(new, 0.5)
    n_rounds = _n_rounds(
        setting, N_REFRESHING_STEPS, FEWEST_REFRESHING_ROUNDS, MOST_REFRESHING_ROUNDS
    )
    config = replace(_slowed(setting), max_epochs=n_rounds)
    return _train(network, lesson, config, _Follower(lesson, near, 1, n_held=n_rounds))


def _beside_features(setting: Setting, rng: np.random.Generator) -> LinearPath:
    network = prepare_network(
        setting.embedder,
        setting.features,
        setting.shape,
        setting.start.shape[1],
        setting.config.device,
        rng,
        setting.config.dropout,
    )
    return beside_features(network, setting.view.raw, is_own=not isinstance(setting.embedder, str))


def _train(
    network: LinearPath, lesson: Lesson, config: TrainingConfig, follower: _Follower
) -> Learnt:
    setting = lesson.setting
    task = RegressionTask(
        setting.features,
        lesson.regressed(setting.items),
        lesson.regressed(follower.targets),
        config.device,
        setting.flips,
    )
    follower.task = task
    history = train_network(network, task, config, lesson.rng, callback=follower.go_on)
    return Learnt(
        setting.network_embedder(follower.best_network or network),
        follower.best_points,
        follower.best_targets,
        follower.judged,
        history.loss,
        {"targets": follower.seconds, "regression": history.seconds},
    )


def _training(setting: Setting) -> tuple[TrainingConfig, int]:
    """Return how a network is trained over all rounds, and the epochs of one round."""
    config = _slowed(setting)
    if setting.n_rounds is None:
        n_rounds = _n_rounds(setting, N_STEPS, FEWEST_ROUNDS, MOST_ROUNDS)
        return replace(config, max_epochs=n_rounds), 1
    epochs_a_round = max(1, setting.max_epochs // setting.n_rounds)
    return replace(config, max_epochs=setting.n_rounds * epochs_a_round), epochs_a_round


def _slowed(setting: Setting) -> TrainingConfig:
    return replace(setting.config, learning_rate=SHARE_OF_RATE * setting.config.learning_rate)


def _n_rounds(setting: Setting, n_steps: int, fewest: int, most: int) -> int:
    """Return the rounds, of one epoch each, that make so many steps."""
    n_batches = math.ceil(len(setting.items) / setting.config.batch_size)
    return min(max(math.ceil(n_steps / n_batches), fewest), most)


class _Follower:
    """Judges a network while it trains, and moves its targets when a round is over."""

    task: RegressionTask
    best_network: LinearPath | None = None
    best_points: Points
    best_targets: Points

    def __init__(self, lesson: Lesson, near: Points, epochs_a_round: int, n_held: int) -> None:
        self._lesson = lesson
        self._epochs_a_round = epochs_a_round
        self._n_held = n_held
        n_rounds = lesson.n_rounds
        self._n_epochs = None if n_rounds is None else n_rounds * epochs_a_round
        self.judged = lesson.judged_start()
        began = time.perf_counter()
        self.targets = lesson.asked.near(near, lesson.rng)
        self.seconds = time.perf_counter() - began
        self.best_points, self.best_targets = lesson.setting.start, self.targets

    def go_on(self, epoch: Epoch) -> bool:
        """Tell the user, and after a round judge it and move the targets; whether to stop."""
        told = None if self._setting.callback is None else self._setting.callback(epoch)
        if told is True:
            return True
        n_rounds, rest = divmod(epoch.number, self._epochs_a_round)
        if rest:
            return False
        began = time.perf_counter()
        points = predict_points(
            epoch.network, self._setting.features, self._setting.shape, self._setting.items
        )
        self.seconds += time.perf_counter() - began
        if self._lesson.judge is not None:
            self.judged.append(self._lesson.judge(points))
        self._keep_best(epoch.network, points)
        is_last = epoch.number in (self._n_epochs, epoch.n_epochs)
        if not is_last and n_rounds >= self._n_held:
            began = time.perf_counter()
            self.targets = self._lesson.asked.near(points, self._lesson.rng)
            self.task.move_targets(self._lesson.regressed(self.targets))
            self.seconds += time.perf_counter() - began
        return is_last

    def _keep_best(self, network: nn.Module, points: Points) -> None:
        if not self._lesson.is_best(self.judged):
            return
        self.best_points, self.best_targets = points, self.targets
        if self._lesson.judge is not None:  # else the last is the best
            assert isinstance(network, LinearPath)
            self.best_network = copy.deepcopy(network)

    @property
    def _setting(self) -> Setting:
        return self._lesson.setting


def regressor_rounds(lesson: Lesson, near: Points) -> Learnt:
    """Learn by a regressor what is to be added to the features; it is fitted anew every round."""
    setting = lesson.setting
    path = as_regressor(setting.view.raw, setting.X)
    learnt = Learnt(RegressorEmbedder(path), setting.start, setting.start)
    learnt.judged = lesson.judged_start()
    points = near
    for _ in range(lesson.n_rounds or setting.n_rounds or N_REGRESSOR_ROUNDS):
        began = time.perf_counter()
        targets = lesson.asked.near(points, lesson.rng)
        asked_for = time.perf_counter()
        change = lesson.regressed(targets - setting.start)
        items = lesson.regressed(setting.items)
        fitted = fit_regressor(setting.embedder, setting.X, change, items, lesson.rng)
        points = setting.start + fitted.predict(take_rows(setting.X, setting.items))
        learnt.seconds["targets"] += asked_for - began
        learnt.seconds["regression"] += time.perf_counter() - asked_for
        if lesson.judge is not None:
            learnt.judged.append(lesson.judge(points))
        if lesson.is_best(learnt.judged):
            learnt.points, learnt.targets = points, targets
            learnt.embedder = RegressorEmbedder(fitted.regressor, path)
    return learnt
