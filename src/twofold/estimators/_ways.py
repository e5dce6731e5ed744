"""The ways to learn by feedback: the features as they are, maps, the embedder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._lesson import Learnt, Lesson, Look, Setting
from twofold.estimators._moving_targets import Points, Stated, ask_of
from twofold.estimators._rounds import (
    map_rounds,
    network_rounds,
    refresh_network,
    regressor_rounds,
)
from twofold.regression import (
    LinearPath,
    MapBasis,
    NetworkEmbedder,
    RegressorEmbedder,
    is_network,
    landmark_basis,
    linear_basis,
)

Rows = NDArray[np.int64] | None
Map = Literal["linear", "landmarks"]
Way = Literal["raw", "linear", "landmarks", "embedder"]
MAPS: tuple[Map, ...] = get_args(Map)
WAYS: tuple[Way, ...] = get_args(Way)
FAR = 1.3
"""The margin, in median distances of what is not alike. From 1 to 2.5 little changes on pairs held
out of digits, scene, yeast and the records, but a linear map tears what is alike apart if more is
asked of it (amazon-google: AUROC .94 with 1.3, .92 with 2)."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A way that was chosen.

    Attributes
    ----------
    way : {"raw", "linear", "landmarks", "embedder"}
        Which.
    n_rounds : int
        How many of its rounds.
    guide : {"linear", "landmarks"} or None
        The map whose points the embedder's first targets are near to.
    n_guiding : int
        How many rounds of it.
    """

    way: Way
    n_rounds: int = 0
    guide: Map | None = None
    n_guiding: int = 0


class Ways:
    """How to learn from statements: by a map, or by the embedder that the user asked for.

    Attributes
    ----------
    setting : Setting
        What all ways learn from.
    metric : {"euclidean", "dot"}
        How points are compared.
    """

    def __init__(
        self,
        setting: Setting,
        loss: Literal["contrastive", "dot"],
        margin: float,
        rng: np.random.Generator,
        is_triplets: bool,
    ) -> None:
        self.setting = setting
        self.metric: Literal["euclidean", "dot"] = (
            "dot" if loss == "dot" and not is_triplets else "euclidean"
        )
        self._loss = loss
        self._margin = margin
        self._rng = rng
        self._bases: dict[Map, MapBasis] = {}

    def learn(self, chosen: Chosen, statements: Stated) -> list[Learnt]:
        """Learn a way that was chosen from all statements; the last is what it came to."""
        if chosen.way == "raw":
            return [self.by_features()]
        if chosen.way != "embedder":
            return [self.by_map(chosen.way, statements, n_rounds=chosen.n_rounds)]
        assert chosen.guide is not None
        guided = self.by_map(chosen.guide, statements, n_rounds=chosen.n_guiding)
        return [guided, self.by_embedder(guided.points, statements, n_rounds=chosen.n_rounds)]

    def by_features(self) -> Learnt:
        """Return the features as they are."""
        setting = self.setting
        points = setting.as_they_are.points(setting.features, setting.items)
        return Learnt(setting.map_embedder(LinearPath(setting.as_they_are)), points, points)

    def by_map(
        self,
        map_: Map,
        statements: Stated,
        judge: Look | None = None,
        n_rounds: int | None = None,
        rows: Rows = None,
    ) -> Learnt:
        """Learn a map."""
        began = time.perf_counter()
        basis = self._basis(map_)
        seconds = time.perf_counter() - began
        learnt = map_rounds(self._lesson(statements, judge, n_rounds, rows), basis)
        learnt.seconds["regression"] += seconds
        return learnt

    def by_embedder(
        self,
        near: Points,
        statements: Stated,
        judge: Look | None = None,
        n_rounds: int | None = None,
        rows: Rows = None,
    ) -> Learnt:
        """Learn the embedder, at first from targets near some points."""
        rounds = network_rounds if is_network(self.setting.embedder) else regressor_rounds
        return rounds(self._lesson(statements, judge, n_rounds, rows), near)

    def refresh_embedder(
        self, embedder: NetworkEmbedder | RegressorEmbedder, chosen: Chosen, statements: Stated
    ) -> Learnt:
        """Go on with an embedder that has learnt before: a network, or a regressor fitted once.

        The map that guided it, which takes little time, is learnt anew.
        """
        assert chosen.guide is not None
        guided = self.by_map(chosen.guide, statements, n_rounds=chosen.n_guiding)
        if isinstance(embedder, RegressorEmbedder):
            return self.by_embedder(guided.points, statements, n_rounds=1)
        assert isinstance(embedder.network, LinearPath)
        return refresh_network(embedder.network, self._lesson(statements), guided.points)

    def _basis(self, map_: Map) -> MapBasis:
        """Return what a map is made of, which all its rounds have in common."""
        setting = self.setting
        if map_ not in self._bases:
            given = (setting.view.raw, setting.start, setting.config.device)
            self._bases[map_] = (
                linear_basis(*given)
                if map_ == "linear"
                else landmark_basis(*given, self._rng, setting.view.stiffness)
            )
        return self._bases[map_]

    def _lesson(
        self,
        statements: Stated,
        judge: Look | None = None,
        n_rounds: int | None = None,
        rows: Rows = None,
    ) -> Lesson:
        setting, margin = self.setting, FAR * self._margin
        asked = ask_of(statements, setting.start, self._loss, margin, setting.config.device)
        return Lesson(setting, asked, self._rng, judge, n_rounds, rows)
