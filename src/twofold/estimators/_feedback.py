"""Feedback: learning from pairs too few to decide the relation.

Phase 1 alone satisfies few statements perfectly, and places what they do not link at random. So
targets start from the features and follow what is learnt, by turns; statements that were held out
choose between the features as they are, a linear map of them, and the embedder beside them, and
how many rounds are best. What they choose is then learnt from all statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import RelationWarning, warn_user
from twofold.estimators._moving_targets import Judge, MovingTargets, Points, Stated, ask_of
from twofold.estimators._rounds import (
    Learnt,
    Rounds,
    Setting,
    linear_rounds,
    network_rounds,
    refresh_network,
    regressor_rounds,
)
from twofold.regression import (
    Epoch,
    LinearPath,
    RawMap,
    TrainingConfig,
    fit_raw_map,
    is_network,
    item_shape,
    open_features,
    out_of_memory_sentence,
    prepare_features,
    refuse_flipped_vectors,
)
from twofold.relations import TripletRelation

Way = Literal["raw", "linear", "embedder"]
HELD_OUT = 0.2
MOST_HELD_OUT = 2000
FEWEST_HELD_OUT = 5
"""Statements of which less cannot tell one map from another."""
N_ERRORS = 1.5
"""Standard errors that the best of all rounds has to be above the features: it is the best of many
looks, some of which are above by chance."""
GROWTH_WORTH_CHOOSING = 1.2
"""More statements by this factor may call for the embedder where a simpler way was chosen."""
SHARE_WORTH_LEARNING = 0.05
"""Of the statements: if more were held out, what they chose is learnt again from all."""
MARGINS: dict[Way, float] = {"raw": 1.0, "linear": 1.3, "embedder": 2.0}
"""In median distances of what is not alike. A linear map tears what is alike apart if more is asked
of it (amazon-google: AUROC .94 with 1.3, .92 with 2); a network needs more (scene: .78, .79)."""


@dataclass(frozen=True, slots=True, eq=False)
class Feedback:
    """What feedback came to.

    Attributes
    ----------
    way : {"raw", "linear", "embedder"}
        What was chosen.
    n_rounds : int
        How many of its rounds.
    n_statements : int
        That it was chosen on.
    learnt : Learnt
        By that way, from all statements.
    targets : ndarray of float32, shape (n_items, dim)
        NaN for items in no statement.
    raw : RawMap
        The features as points, which it started from.
    judged : dict
        How the ways were judged, after each round.
    seconds : dict
        Of the phases, over all that was tried.
    """

    way: Way
    n_rounds: int
    n_statements: int
    learnt: Learnt
    targets: Points
    raw: RawMap
    judged: dict[Way, list[float]]
    seconds: dict[str, float]

    def is_outgrown(self, n_statements: int) -> bool:
        """Whether so many statements are worth choosing anew."""
        if self.way == "raw":
            return True
        grown = n_statements >= GROWTH_WORTH_CHOOSING * self.n_statements
        return self.way == "linear" and grown


def learn_by_feedback(
    embedder: Any,
    X: Any,
    relation: Stated,
    dim: int,
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    loss: Literal["contrastive", "dot"] = "contrastive",
    margin: float = 1.0,
    n_rounds: int | None = None,
    held_out: float = HELD_OUT,
    flips: bool = False,
    callback: Callable[[Epoch], Any] | None = None,
) -> Feedback:
    """Learn from the features and some statements about them.

    Parameters
    ----------
    embedder, X, config, flips, callback
        See `fit_embedder`.
    relation : PairRelation or TripletRelation
        Over the rows of `X`.
    dim : int
        Components of a point.
    rng : Generator
        Of all that is random.
    loss : {"contrastive", "dot"}
        Of pairs.
    margin : float
        Multiplies what is far enough, see `MARGINS`.
    n_rounds : int, optional
        Rounds of the embedder, which share the config's epochs; by default as many as it takes.
    held_out : float
        Share of the statements that choose, at most 2,000 of them.
    """
    with out_of_memory_sentence(config.batch_size):
        setting = _open(embedder, X, relation, dim, config, flips, n_rounds, callback)
        choice = _Choice(setting, relation.take(setting.items), loss, margin)
        found = choice.learn(held_out, rng)
    return replace(found, targets=_over_all(found.targets, setting.items, relation.n_items))


def refresh_by_feedback(
    before: Feedback,
    embedder: Any,
    X: Any,
    relation: Stated,
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    loss: Literal["contrastive", "dot"] = "contrastive",
    margin: float = 1.0,
    flips: bool = False,
    callback: Callable[[Epoch], Any] | None = None,
) -> Feedback:
    """Go on from what was learnt before, the same way, with other statements or more items.

    Nothing is held out: a network goes on for a few short rounds, a linear map, which takes
    hardly longer, and a regressor are learnt anew.

    Parameters
    ----------
    before : Feedback
        Of a fit or an earlier refresh, by another way than "raw".
    embedder, X, relation, config, rng, loss, margin, flips, callback
        See `learn_by_feedback`.
    """
    with out_of_memory_sentence(config.batch_size):
        dim = before.raw.projection.shape[0]
        setting = _open(embedder, X, relation, dim, config, flips, None, callback, before.raw)
        choice = _Choice(setting, relation.take(setting.items), loss, margin)
        learnt = choice.go_on(before, rng)
    targets = _over_all(learnt.targets, setting.items, relation.n_items)
    return replace(before, learnt=learnt, targets=targets, seconds=learnt.seconds)


class _Choice:
    """The ways to learn from some statements, and the choice between them."""

    def __init__(
        self,
        setting: Setting,
        statements: Stated,
        loss: Literal["contrastive", "dot"],
        margin: float,
    ) -> None:
        self._setting = setting
        self._statements = statements
        self._loss = loss
        self._margin = margin
        is_dot = loss == "dot" and not isinstance(statements, TripletRelation)
        self._metric: Literal["euclidean", "dot"] = "dot" if is_dot else "euclidean"
        is_net = is_network(setting.embedder)
        # The simpler first: it is chosen of equals.
        self._ways: dict[Way, Rounds] = {
            "linear": linear_rounds,
            "embedder": network_rounds if is_net else regressor_rounds,
        }

    def learn(self, held_out: float, rng: np.random.Generator) -> Feedback:
        """Try every way, and learn by the one that statements held out prefer."""
        parts = self._hold_out(held_out, rng)
        if parts is None:
            return self._as_they_are(
                f"{len(self._statements)} statement(s) are too few to learn from and to check it",
                {},
            )
        kept, judge = parts
        looks = {way: _Looks(judge) for way in self._ways}
        tried = {way: self._by(way, kept, rng, looks[way]) for way in self._ways}
        judged = {way: learnt.judged for way, learnt in tried.items()}
        way = max(judged, key=lambda name: max(judged[name]))
        if not looks[way].is_clearly_better():
            return self._as_they_are(_nothing_better(judge, judged), judged)
        best = judge.choose_round(judged[way])
        learnt, seconds = tried[way], _summed(tried.values())
        is_partial = len(judge.relation) > SHARE_WORTH_LEARNING * len(self._statements)
        if is_partial or best < len(judged[way]) - 1:
            learnt = self._by(way, self._statements, rng, n_rounds=best)
            seconds = _summed([*tried.values(), learnt])
        return Feedback(
            way,
            best,
            len(self._statements),
            learnt,
            learnt.targets,
            self._setting.raw,
            judged,
            seconds,
        )

    def go_on(self, before: Feedback, rng: np.random.Generator) -> Learnt:
        """Learn the way that was chosen before."""
        network = getattr(before.learnt.embedder, "network", None)
        if before.way == "embedder" and isinstance(network, LinearPath):
            return refresh_network(network, self._setting, self._ask("embedder"), rng)
        return self._by(before.way, self._statements, rng, n_rounds=before.n_rounds)

    def _ask(self, way: Way, statements: Stated | None = None) -> MovingTargets:
        setting = self._setting
        return ask_of(
            self._statements if statements is None else statements,
            setting.start,
            self._loss,
            MARGINS[way] * self._margin,
            setting.config.device,
        )

    def _by(
        self,
        way: Way,
        statements: Stated,
        rng: np.random.Generator,
        judge: Callable[[Points], float] | None = None,
        n_rounds: int | None = None,
    ) -> Learnt:
        return self._ways[way](self._setting, self._ask(way, statements), rng, judge, n_rounds)

    def _hold_out(self, share: float, rng: np.random.Generator) -> tuple[Stated, Judge] | None:
        """Part statements into those to learn from and those that judge; None if too few."""
        share = min(share, MOST_HELD_OUT / len(self._statements))
        try:
            kept, out = self._statements.split(share, random_state=rng)
        except ValueError:  # one pair or triplet, however often it is stated
            return None
        if len(out) < FEWEST_HELD_OUT:
            return None
        judge = Judge(out, self._metric)
        can_learn = Judge(kept, self._metric).can_judge
        return (kept, judge) if judge.can_judge and can_learn else None

    def _as_they_are(self, why: str, judged: dict[Way, list[float]]) -> Feedback:
        """Return the features' own metric, and say why."""
        warn_user(f"{why}, so the embedding is the features as they are.", RelationWarning)
        start = self._setting.start
        learnt = Learnt(self._setting.linear_embedder(self._setting.raw), start)
        n_statements = len(self._statements)
        return Feedback(
            "raw", 0, n_statements, learnt, start, self._setting.raw, judged, learnt.seconds
        )


class _Looks:
    """A judge that remembers the start and the best that it has seen."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._first: Points | None = None
        self._best: Points | None = None
        self._found: list[float] = []

    def __call__(self, points: Points) -> float:
        """Judge points."""
        found = self._judge(points)
        if not self._found:
            self._first = points
        if found > max(self._found, default=-1.0):
            self._best = points
        self._found.append(found)
        return found

    def is_clearly_better(self) -> bool:
        """Whether the best is above the start by more than chance may give."""
        assert self._first is not None
        assert self._best is not None
        gain = max(self._found) - self._found[0]
        return gain > N_ERRORS * self._judge.gain_error(self._first, self._best)


def _open(
    embedder: Any,
    X: Any,
    relation: Stated,
    dim: int,
    config: TrainingConfig,
    flips: bool,
    n_rounds: int | None,
    callback: Callable[[Epoch], Any] | None,
    raw: RawMap | None = None,
) -> Setting:
    numbers = X if is_network(embedder) else prepare_features(X)
    shape = item_shape(numbers)
    refuse_flipped_vectors(flips, shape)
    features = open_features(numbers, config.device)
    raw = fit_raw_map(features, dim) if raw is None else raw
    items = np.flatnonzero(relation.linked)
    start = raw.points(features, items)
    _refuse_not_finite(start, items)
    return Setting(
        embedder=embedder,
        X=X,
        features=features,
        shape=shape,
        items=items,
        raw=raw,
        start=start,
        config=config,
        flips=flips,
        n_rounds=n_rounds,
        max_epochs=config.max_epochs,
        callback=callback,
    )


def _refuse_not_finite(points: Points, items: NDArray[np.int64]) -> None:
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"X holds NaN or infinity, first in row {items[wrong[0]]} of those in some statement, "
            "or in many. Replace or drop it first."
        )


def _nothing_better(judge: Judge, judged: dict[Way, list[float]]) -> str:
    found = next(iter(judged.values()))[0]
    return (
        f"Nothing learnt orders the {len(judge.relation)} statements held out clearly better than "
        f"the features do ({found:.4f})"
    )


def _summed(all_learnt: Iterable[Learnt]) -> dict[str, float]:
    spent = [learnt.seconds for learnt in all_learnt]
    return {phase: sum(one[phase] for one in spent) for phase in spent[0]}


def _over_all(points: Points, items: NDArray[np.int64], n_items: int) -> Points:
    every = np.full((n_items, points.shape[1]), np.nan, dtype=np.float32)
    every[items] = points
    return every
