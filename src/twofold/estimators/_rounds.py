"""Ways to learn from moving targets, in rounds: a linear map, a network, any regressor.

Each starts as the features are, and by turns asks where its points should be and regresses to it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from twofold.estimators._moving_targets import MovingTargets, Points
from twofold.regression import (
    Epoch,
    Features,
    LinearPath,
    NetworkEmbedder,
    RawMap,
    RegressionTask,
    RegressorEmbedder,
    TrainingConfig,
    as_regressor,
    beside_features,
    fit_regressor,
    is_network,
    predict_points,
    prepare_network,
    take_rows,
    train_network,
)

Look = Callable[[Points], float]
"""What judges points: large for better ones."""
N_LINEAR_ROUNDS = 40
MOMENTUM = 0.9
RIDGE = 100.0
"""In items: directions in which all features together are shorter than a hundred points of usual
length are hardly changed. With 1 the linear map learns its statements by heart (scene at one pair
an item falls from AUROC .71 to .60 over the rounds; with 100 it stays at .71 or above)."""
N_STEPS = 3000
FEWEST_ROUNDS, MOST_ROUNDS = 20, 60
"""Of a network: as many rounds, of one epoch each, as make N_STEPS steps."""
SHARE_OF_RATE = 0.5
"""Of the learning rate: targets that move are followed more slowly (digits, 670 pairs of which a
tenth are alike: AUROC .963 against .945; at a quarter pair an item .959 against .955)."""
N_REGRESSOR_ROUNDS = 8
N_REFRESHING_STEPS = 120
FEWEST_REFRESHING_ROUNDS, MOST_REFRESHING_ROUNDS = 4, 10
"""Of a network that has learnt before, when statements come later."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What all ways learn from.

    Attributes
    ----------
    embedder : network by name, nn.Module or regressor
        As the user gave it.
    X : any
        Features as the user gave them, checked.
    features : Features
        The same, on the device.
    shape : tuple of int
        Of one item.
    items : ndarray of int64, shape (n_linked,)
        The rows of `X` that are in some statement.
    raw : RawMap
        The features as they are.
    start : ndarray of float32, shape (n_linked, dim)
        Their points.
    config : TrainingConfig
        Of a network.
    flips : bool
        Whether training images are mirrored.
    n_rounds : int or None
        That the user asked for.
    max_epochs : int
        Of a network, over all rounds, where the user asked for some.
    callback : callable (Epoch), optional
        Of the user.
    """

    embedder: Any
    X: Any
    features: Features
    shape: tuple[int, ...]
    items: NDArray[np.int64]
    raw: RawMap
    start: Points
    config: TrainingConfig
    flips: bool = False
    n_rounds: int | None = None
    max_epochs: int = 1
    callback: Callable[[Epoch], Any] | None = None

    def linear_embedder(self, raw: RawMap) -> NetworkEmbedder | RegressorEmbedder:
        """Return a linear map as an embedder of the kind that the user asked for."""
        if not is_network(self.embedder):
            return RegressorEmbedder(as_regressor(raw, self.X))
        network = LinearPath(raw).to(self.config.device).eval()
        return NetworkEmbedder(network, self.shape, self.config.device, self._network_name)

    def network_embedder(self, network: LinearPath) -> NetworkEmbedder:
        """Return a trained network as an embedder."""
        return NetworkEmbedder(network, self.shape, self.config.device, self._network_name)

    @property
    def _network_name(self) -> str | None:
        return self.embedder if isinstance(self.embedder, str) else None


@dataclass(slots=True, eq=False)
class Learnt:
    """What rounds came to.

    Attributes
    ----------
    embedder : NetworkEmbedder or RegressorEmbedder
        Of the last round.
    targets : ndarray of float32, shape (n_linked, dim)
        The last that were regressed to.
    judged : list of float
        How the judge found the points at the start and after every round.
    losses : list of float
        Of a network, an epoch each.
    seconds : dict
        Of the phases, "targets" and "regression".
    """

    embedder: NetworkEmbedder | RegressorEmbedder
    targets: Points
    judged: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"targets": 0.0, "regression": 0.0})


class Rounds(Protocol):
    """A way to learn by turns."""

    def __call__(
        self,
        setting: Setting,
        asked: MovingTargets,
        rng: np.random.Generator,
        judge: Look | None = None,
        n_rounds: int | None = None,
    ) -> Learnt:
        """Learn all rounds, or the first `n_rounds` of them; a judge looks on."""


def linear_rounds(
    setting: Setting,
    asked: MovingTargets,
    rng: np.random.Generator,
    judge: Look | None = None,
    n_rounds: int | None = None,
) -> Learnt:
    """Learn a linear map of the raw points Z: each round W += (ZᵀZ + ρI)⁻¹ Zᵀ (T − ZW).

    The change of a round is carried on into the next, as by Nesterov.
    """
    raw_points = setting.start.astype(np.float64)
    dim = raw_points.shape[1]
    solve = np.linalg.solve(raw_points.T @ raw_points + RIDGE * np.eye(dim), raw_points.T)
    judged = [] if judge is None else [judge(setting.start)]
    now = last = np.eye(dim)
    targets = setting.start
    spent = {"targets": 0.0, "regression": 0.0}
    for _ in range(N_LINEAR_ROUNDS if n_rounds is None else n_rounds):
        began = time.perf_counter()
        ahead = now + MOMENTUM * (now - last)
        points = (raw_points @ ahead).astype(np.float32)
        targets = asked.near(points, rng)
        asked_for = time.perf_counter()
        last, now = now, ahead + solve @ (targets - points)
        spent["targets"] += asked_for - began
        spent["regression"] += time.perf_counter() - asked_for
        if judge is not None:
            judged.append(judge((raw_points @ now).astype(np.float32)))
    embedder = setting.linear_embedder(setting.raw.turned(now.astype(np.float32)))
    return Learnt(embedder, targets, judged, seconds=spent)


def network_rounds(
    setting: Setting,
    asked: MovingTargets,
    rng: np.random.Generator,
    judge: Look | None = None,
    n_rounds: int | None = None,
) -> Learnt:
    """Learn a network beside the features; its targets move after every round.

    One training from end to end, with one schedule of its rate: only the targets change.
    """
    return _train(_beside_features(setting, rng), setting, asked, rng, judge, n_rounds)


def refresh_network(
    network: LinearPath, setting: Setting, asked: MovingTargets, rng: np.random.Generator
) -> Learnt:
    """Go on with a network that has learnt before, from half way back to a fresh start.

    One that goes on from where it is learns the statements it knows by heart: after ten updates on
    digits AUROC .985 against .991 of a fit from scratch, from half way back .993.
    """
    network = copy.deepcopy(network)  # what is interrupted changes nothing
    fresh = _beside_features(setting, rng)
    with torch.no_grad():
        for learnt, new in zip(network.parameters(), fresh.parameters(), strict=True):
            learnt.lerp_(new, 0.5)
    points = predict_points(network, setting.features, setting.shape, setting.items)
    n_rounds = _n_rounds(
        setting, N_REFRESHING_STEPS, FEWEST_REFRESHING_ROUNDS, MOST_REFRESHING_ROUNDS
    )
    short = replace(setting, start=points, n_rounds=n_rounds, max_epochs=n_rounds)
    return _train(network, short, asked, rng, None, None)


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
    return beside_features(network, setting.raw, is_own=not isinstance(setting.embedder, str))


def _train(
    network: LinearPath,
    setting: Setting,
    asked: MovingTargets,
    rng: np.random.Generator,
    judge: Look | None,
    n_rounds: int | None,
) -> Learnt:
    config, epochs_a_round = _training(setting)
    follower = _Follower(setting, asked, rng, judge, epochs_a_round, n_rounds)
    task = RegressionTask(
        setting.features, setting.items, follower.targets, config.device, setting.flips
    )
    follower.task = task
    history = train_network(network, task, config, rng, callback=follower.go_on)
    spent = {"targets": follower.seconds, "regression": history.seconds}
    return Learnt(
        setting.network_embedder(network), follower.targets, follower.judged, history.loss, spent
    )


def _training(setting: Setting) -> tuple[TrainingConfig, int]:
    """Return how a network is trained over all rounds, and the epochs of one round."""
    rate = SHARE_OF_RATE * setting.config.learning_rate
    config = replace(setting.config, learning_rate=rate)
    if setting.n_rounds is None:
        n_rounds = _n_rounds(setting, N_STEPS, FEWEST_ROUNDS, MOST_ROUNDS)
        return replace(config, max_epochs=n_rounds), 1
    epochs_a_round = max(1, setting.max_epochs // setting.n_rounds)
    return replace(config, max_epochs=setting.n_rounds * epochs_a_round), epochs_a_round


def _n_rounds(setting: Setting, n_steps: int, fewest: int, most: int) -> int:
    """Return the rounds, of one epoch each, that make so many steps."""
    n_batches = math.ceil(len(setting.items) / setting.config.batch_size)
    return min(max(math.ceil(n_steps / n_batches), fewest), most)


class _Follower:
    """Judges a network while it trains, and moves its targets when a round is over."""

    task: RegressionTask

    def __init__(
        self,
        setting: Setting,
        asked: MovingTargets,
        rng: np.random.Generator,
        judge: Look | None,
        epochs_a_round: int,
        n_rounds: int | None,
    ) -> None:
        self._setting = setting
        self._asked = asked
        self._rng = rng
        self._judge = judge
        self._epochs_a_round = epochs_a_round
        self._n_epochs = None if n_rounds is None else n_rounds * epochs_a_round
        self.judged = [] if judge is None else [judge(setting.start)]
        began = time.perf_counter()
        self.targets = asked.near(setting.start, rng)
        self.seconds = time.perf_counter() - began

    def go_on(self, epoch: Epoch) -> bool:
        """Tell the user, and after a round judge it and move the targets; whether to stop."""
        told = None if self._setting.callback is None else self._setting.callback(epoch)
        if told is True:
            return True
        if epoch.number % self._epochs_a_round:
            return False
        began = time.perf_counter()
        points = self._points(epoch.network)
        self.seconds += time.perf_counter() - began
        if self._judge is not None:
            self.judged.append(self._judge(points))
        is_last = epoch.number in (self._n_epochs, epoch.n_epochs)
        if not is_last:
            began = time.perf_counter()
            self.targets = self._asked.near(points, self._rng)
            self.task.move_targets(self.targets)
            self.seconds += time.perf_counter() - began
        return is_last

    def _points(self, network: Any) -> Points:
        setting = self._setting
        return predict_points(network, setting.features, setting.shape, setting.items)


def regressor_rounds(
    setting: Setting,
    asked: MovingTargets,
    rng: np.random.Generator,
    judge: Look | None = None,
    n_rounds: int | None = None,
) -> Learnt:
    """Learn by a regressor what is to be added to the features; it is fitted anew every round."""
    path = as_regressor(setting.raw, setting.X)
    learnt = Learnt(RegressorEmbedder(path), setting.start)
    learnt.judged = [] if judge is None else [judge(setting.start)]
    points = setting.start
    n_asked = n_rounds or setting.n_rounds or N_REGRESSOR_ROUNDS
    for _ in range(n_asked):
        began = time.perf_counter()
        learnt.targets = asked.near(points, rng)
        asked_for = time.perf_counter()
        change = learnt.targets - setting.start
        fitted = fit_regressor(setting.embedder, setting.X, change, setting.items, rng)
        points = setting.start + fitted.predict(take_rows(setting.X, setting.items))
        learnt.seconds["targets"] += asked_for - began
        learnt.seconds["regression"] += time.perf_counter() - asked_for
        learnt.embedder = RegressorEmbedder(fitted.regressor, path)
        if judge is not None:
            learnt.judged.append(judge(points))
    return learnt
