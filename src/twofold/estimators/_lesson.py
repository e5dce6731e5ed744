"""What rounds learn from, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._moving_targets import MovingTargets, Points
from twofold.estimators._views import View
from twofold.regression import (
    Epoch,
    Features,
    LandmarkMap,
    LinearPath,
    NetworkEmbedder,
    RawMap,
    RegressorEmbedder,
    TrainingConfig,
    is_network,
    map_as_regressor,
)

Look = Callable[[Points], float]
"""What judges points: large for better ones."""


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
    view : View
        How the features are seen.
    start : ndarray of float32, shape (n_linked, dim)
        The items' points in that view.
    as_they_are : RawMap
        The features with all their components, or as many as may be kept.
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
    view: View
    start: Points
    as_they_are: RawMap
    config: TrainingConfig
    flips: bool = False
    n_rounds: int | None = None
    max_epochs: int = 1
    callback: Callable[[Epoch], Any] | None = None

    def map_embedder(self, map_: LinearPath | LandmarkMap) -> NetworkEmbedder | RegressorEmbedder:
        """Return a map as an embedder of the kind that the user asked for."""
        if not is_network(self.embedder):
            return map_as_regressor(map_, self.X)
        network = map_.to(self.config.device).eval()
        return NetworkEmbedder(network, self.shape, self.config.device, self._network_name)

    def network_embedder(self, network: LinearPath) -> NetworkEmbedder:
        """Return a trained network as an embedder."""
        return NetworkEmbedder(network, self.shape, self.config.device, self._network_name)

    @property
    def _network_name(self) -> str | None:
        return self.embedder if isinstance(self.embedder, str) else None


@dataclass(slots=True, eq=False)
class Learnt:
    """What rounds came to: before a judge the one that was found best, else the last.

    Attributes
    ----------
    embedder : NetworkEmbedder or RegressorEmbedder
        Of that round.
    points : ndarray of float32, shape (n_linked, dim)
        Where it puts the items.
    targets : ndarray of float32, shape (n_linked, dim)
        What was regressed to; without any round the points.
    judged : list of float
        How the judge found the points at the start and after every round.
    losses : list of float
        Of a network, an epoch each.
    seconds : dict
        Of the phases, "targets" and "regression".
    """

    embedder: NetworkEmbedder | RegressorEmbedder
    points: Points
    targets: Points
    judged: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"targets": 0.0, "regression": 0.0})


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What is to be learnt, from where to where.

    Attributes
    ----------
    setting : Setting
        What all ways learn from.
    asked : MovingTargets
        What the statements ask of points.
    rng : Generator
        Of all that is random.
    judge : callable (points) -> float, optional
        Looks on: at the start, and after every round.
    n_rounds : int, optional
        Rounds after which to stop; all by default.
    rows : ndarray of int64, optional
        Which of the setting's items are regressed to their targets; all by default.
    """

    setting: Setting
    asked: MovingTargets
    rng: np.random.Generator
    judge: Look | None = None
    n_rounds: int | None = None
    rows: NDArray[np.int64] | None = None

    def judged_start(self) -> list[float]:
        """Return how the judge finds the features as they are, if there is one."""
        if self.judge is None:
            return []
        setting = self.setting
        return [self.judge(setting.as_they_are.points(setting.features, setting.items))]

    def is_best(self, judged: list[float]) -> bool:
        """Whether the last round is to be kept, until a later one is found better."""
        return self.judge is None or judged[-1] >= max(judged[1:])

    def regressed(self, of_items: NDArray[Any]) -> NDArray[Any]:
        """Return what is given of the setting's items, for those that are regressed on."""
        return of_items if self.rows is None else of_items[self.rows]
