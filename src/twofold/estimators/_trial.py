"""A trial of the ways to learn by feedback, before judges who know other statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.estimators._judge import Judge, Looks, joined
from twofold.estimators._lesson import Learnt
from twofold.estimators._moving_targets import Stated
from twofold.estimators._ways import MAPS, WAYS, Chosen, Map, Way, Ways

DEFAULT_EMBEDDER = "mlp"
SHARE_ENOUGH = 0.9
"""Of the statements, and items: what was learnt from so many is not learnt again from all."""
SHARE_LEFT = 0.65
"""Of the items: with so many left, a map is judged by items that it does not learn, too."""


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
    def leaves_most(self) -> bool:
        """Whether enough items to learn from are left if those it asks about are not regressed."""
        return len(self.unasked) >= SHARE_LEFT * self.judge.relation.n_items


class Trial:
    """Ways tried before judges.

    Maps are tried on every fold. The embedder is tried beside the better of them where no item that
    the judge asks about is regressed to its target: a network learns by heart what it has seen, and
    would be preferred for it (scene at one pair an item: AUROC of the pairs held out .866 against
    .843 of the map, but .788 against .822 on new items). So are maps, where enough items are left.

    Parameters
    ----------
    ways : Ways
        What is tried.
    statements : PairRelation or TripletRelation
        All of them.
    folds : sequence of Fold
        Parts of them.
    spent : list of dict, optional
        The account that seconds are written to, where trials share one.

    Attributes
    ----------
    ways : Ways
        What is tried.
    looks : dict
        What the judges saw, by way.
    """

    def __init__(
        self,
        ways: Ways,
        statements: Stated,
        folds: Sequence[Fold],
        spent: list[dict[str, float]] | None = None,
    ) -> None:
        self.ways = ways
        self._statements = statements
        self._folds = list(folds)
        self._looks_of_folds: dict[Map, list[Looks]] = {}
        self._tried: dict[Way, _Tried] = {}
        self._beside: Looks | None = None
        self._spent = [] if spent is None else spent
        self.looks: dict[Way, Looks] = {}

    def try_map(self, map_: Map) -> None:
        """Learn a map."""
        self._looks_of_folds[map_] = []
        self._try_on(self._folds, map_)

    def go_on_with(self, folds: Sequence[Fold]) -> None:
        """Learn the maps that were tried on more folds, too."""
        self._folds += folds
        for map_ in self._looks_of_folds:
            self._try_on(folds, map_)

    def _try_on(self, folds: Sequence[Fold], map_: Map) -> None:
        for fold in folds:
            looks = Looks(fold.judge)
            rows = fold.unasked if fold.leaves_most else None
            learnt = self.ways.by_map(map_, fold.kept, looks, rows=rows)
            self._spent.append(learnt.seconds)
            self._looks_of_folds[map_].append(looks)
            n_items = self._statements.n_items if rows is None else len(rows)
            self._tried[map_] = _Tried(learnt, len(fold.kept), n_items)
        self.looks[map_] = joined(self._looks_of_folds[map_])

    def try_embedder(self, fold: Fold) -> None:
        """Learn the embedder from where the better map comes, and the map beside it."""
        guide, looks, rows = self._guide, Looks(fold.judge), fold.unasked
        if self._folds == [fold] and fold.leaves_most:
            self._beside, guided = self.looks[guide], self._tried[guide].learnt
        else:
            self._beside = Looks(fold.judge)
            n_rounds = self._n_rounds(guide)
            guided = self.ways.by_map(guide, fold.kept, self._beside, n_rounds, rows)
            self._spent.append(guided.seconds)
        learnt = self.ways.by_embedder(guided.points, fold.kept, looks, rows=rows)
        self._spent.append(learnt.seconds)
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
        if self.ways.setting.embedder == DEFAULT_EMBEDDER:
            return "embedder" if looks.is_better_than(self._beside) else self._guide
        return self._guide if self._beside.is_better_than(looks) else "embedder"

    def _n_rounds(self, way: Way) -> int:
        return self.looks[way].choose_round()

    @property
    def is_clearly_better(self) -> bool:
        """Whether the features as they are are worse by more than chance may give."""
        return any(self.looks[way].is_clearly_better() for way in (self._guide, self._way))

    @property
    def n_judging(self) -> int:
        """Statements that judge maps, in all folds together."""
        return sum(len(fold.judge.relation) for fold in self._folds)

    @property
    def judged(self) -> dict[Way, list[float]]:
        """How the ways were judged, at the start and after each round."""
        return {way: self.looks[way].found for way in WAYS if way in self.looks}

    @property
    def seconds(self) -> dict[str, float]:
        """Of the phases, over all that was learnt, here and in trials that share the account."""
        return {phase: sum(one[phase] for one in self._spent) for phase in self._spent[0]}

    def learn(self) -> Learnt:
        """Learn the chosen way from all statements."""
        if self._is_learnt:
            return self._tried[self._way].learnt
        learnt = self.ways.learn(self.chosen, self._statements)
        self._spent += [one.seconds for one in learnt]
        return learnt[-1]

    @property
    def _is_learnt(self) -> bool:
        """Whether it was learnt, to the best round, from nearly all that there is."""
        is_one = self._way == "embedder" or len(self._folds) == 1
        return is_one and self._tried[self._way].is_of_nearly_all(self._statements)

    @property
    def _guide(self) -> Map:
        """The map that the judges like best."""
        tried = [map_ for map_ in MAPS if map_ in self.looks]
        return max(tried, key=lambda map_: self.looks[map_].best)


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
