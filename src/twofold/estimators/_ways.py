"""The ways to learn by feedback, and a trial of them before a judge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._judge import Judge, Looks, joined
from twofold.estimators._moving_targets import Points, Stated, ask_of
from twofold.estimators._rounds import (
    Learnt,
    Lesson,
    Look,
    Setting,
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
DEFAULT_EMBEDDER = "mlp"
MAPS: tuple[Map, ...] = get_args(Map)
SHARE_ENOUGH = 0.9
"""Of the statements, and items: what was learnt from so many is not learnt again from all."""
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
            self._bases[map_] = (
                linear_basis(setting.raw, setting.start, setting.config.device)
                if map_ == "linear"
                else landmark_basis(setting.raw, setting.start, setting.config.device, self._rng)
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


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Statements to learn from, and a judge who knows others."""

    kept: Stated
    judge: Judge

    @property
    def unasked(self) -> NDArray[np.int64]:
        """The items that the judge does not ask about."""
        return np.flatnonzero(~self.judge.relation.linked)

    @property
    def asks_about_few(self) -> bool:
        """Whether the judge asks about so few items that all else is nearly all."""
        return len(self.unasked) >= SHARE_ENOUGH * self.judge.relation.n_items


class Trial:
    """Ways tried before judges.

    Maps are tried on every fold. The embedder is tried beside the better of them where no item that
    the judge asks about is regressed to its target: a network learns by heart what it has seen, and
    would be preferred for it (scene at one pair an item: AUROC of the pairs held out .866 against
    .843 of the map, but .788 against .822 on new items).

    Attributes
    ----------
    looks : dict
        What the judges saw, by way.
    """

    def __init__(self, ways: Ways, statements: Stated, folds: Sequence[Fold]) -> None:
        self._ways = ways
        self._statements = statements
        self._folds = folds
        self._tried: dict[Way, _Tried] = {}
        self._beside: Looks | None = None
        self._spent: list[Learnt] = []
        self.looks: dict[Way, Looks] = {}

    def try_map(self, map_: Map) -> None:
        """Learn a map."""
        all_looks = [Looks(fold.judge) for fold in self._folds]
        for fold, looks in zip(self._folds, all_looks, strict=True):
            rows = fold.unasked if fold.asks_about_few else None
            learnt = self._ways.by_map(map_, fold.kept, looks, rows=rows)
            self._spent.append(learnt)
        n_items = self._statements.n_items if rows is None else len(rows)
        self._tried[map_] = _Tried(learnt, len(fold.kept), n_items)
        self.looks[map_] = joined(all_looks)

    def try_embedder(self, fold: Fold) -> None:
        """Learn the embedder from where the better map comes, and the map beside it."""
        guide, looks, rows = self._guide, Looks(fold.judge), fold.unasked
        if self._folds == [fold] and fold.asks_about_few:
            self._beside, guided = self.looks[guide], self._tried[guide].learnt
        else:
            self._beside = Looks(fold.judge)
            n_rounds = self._n_rounds(guide)
            guided = self._ways.by_map(guide, fold.kept, self._beside, n_rounds, rows)
            self._spent.append(guided)
        learnt = self._ways.by_embedder(guided.points, fold.kept, looks, rows=rows)
        self._spent.append(learnt)
        self._tried["embedder"] = _Tried(learnt, len(fold.kept), len(rows))
        self.looks["embedder"] = looks

    @property
    def chosen(self) -> Chosen:
        """The way that the judges like best, and how many of its rounds.

        Of equals it is the embedder if the user brought one, and else the map.
        """
        way = self._way
        n_rounds = self.looks[way].best_round if self._is_learnt else self._n_rounds(way)
        return Chosen(way, n_rounds, self._guide, self._n_rounds(self._guide))

    @property
    def _way(self) -> Way:
        if self._beside is None:
            return self._guide
        looks = self.looks["embedder"]
        if looks.best_round == 0:  # the features as they are
            return self._guide
        if self._ways.setting.embedder == DEFAULT_EMBEDDER:
            return "embedder" if looks.is_better_than(self._beside) else self._guide
        return self._guide if self._beside.is_better_than(looks) else "embedder"

    def _n_rounds(self, way: Way) -> int:
        return self.looks[way].choose_round()

    @property
    def is_clearly_better(self) -> bool:
        """Whether the features as they are are worse by more than chance may give."""
        return any(self.looks[way].is_clearly_better() for way in (self._guide, self._way))

    @property
    def judged(self) -> dict[Way, list[float]]:
        """How the ways were judged, at the start and after each round."""
        return {way: looks.found for way, looks in self.looks.items()}

    @property
    def seconds(self) -> dict[str, float]:
        """Of the phases, over all that was learnt."""
        spent = [learnt.seconds for learnt in self._spent]
        return {phase: sum(one[phase] for one in spent) for phase in spent[0]}

    def learn(self) -> Learnt:
        """Learn the chosen way from all statements."""
        if self._is_learnt:
            return self._tried[self._way].learnt
        learnt = self._ways.learn(self.chosen, self._statements)
        self._spent += learnt
        return learnt[-1]

    @property
    def _is_learnt(self) -> bool:
        """Whether it was learnt, to the best round, from nearly all that there is."""
        is_one = self._way == "embedder" or len(self._folds) == 1
        return is_one and self._tried[self._way].is_of_nearly_all(self._statements)

    @property
    def _guide(self) -> Map:
        """The map that the judges like best."""
        return max(MAPS, key=lambda map_: self.looks[map_].best)


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """What was learnt in a trial, and from how many statements and items."""

    learnt: Learnt
    n_statements: int
    n_items: int

    def is_of_nearly_all(self, statements: Stated) -> bool:
        """Whether hardly a statement or item was held back."""
        return (
            self.n_statements >= SHARE_ENOUGH * len(statements)
            and self.n_items >= SHARE_ENOUGH * statements.n_items
        )
