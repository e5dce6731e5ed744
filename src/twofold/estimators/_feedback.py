"""Feedback: learning from pairs too few to decide the relation.

Phase 1 alone satisfies few statements perfectly, and places what they do not link at random. So
targets start from the features and follow what is learnt, by turns. What is learnt with each turn
is a map that can be solved for, linear or around landmarks, in milliseconds; the embedder is then
trained once, from the targets that the better map came to. Statements that were held out choose
between the features as they are, the maps and the embedder, and how many rounds are best. What they
choose is then learnt from all statements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import RelationWarning, warn_user
from twofold.estimators._judge import Judge
from twofold.estimators._moving_targets import Points, Stated
from twofold.estimators._rounds import Learnt, Setting
from twofold.estimators._trial import Fold, Trial
from twofold.estimators._ways import Chosen, Way, Ways
from twofold.regression import (
    LARGEST_DIM,
    Epoch,
    NetworkEmbedder,
    RawMap,
    RegressorEmbedder,
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

HELD_OUT = 0.2
MOST_HELD_OUT = 250
"""Of the rarer kind: more would hardly tell ways apart better, and be missing for learning."""
SHARE_ASKED_ABOUT = 0.5
"""Of the items: no more are in the statements that judge the embedder: it does not learn them."""
FEWEST_HELD_OUT = 5
"""Statements of which less cannot tell one map from another."""
MOST_FOR_LINEAR = 5000
"""Statements. With more, the linear map takes a fifth of the time and was chosen in no run (MNIST,
amazon-google, dblp-acm); maps around landmarks have a linear part, too."""
MOST_FOLDS = 5
"""Times that statements are held out, where there are few of a kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Feedback:
    """What feedback came to.

    Attributes
    ----------
    chosen : Chosen
        The way.
    learnt : Learnt
        By that way, from all statements.
    targets : ndarray of float32, shape (n_items, dim)
        NaN for items in no statement.
    raw, as_they_are : RawMap
        The features as points, which it started from, and with all their components.
    judged : dict
        How the ways were judged, after each round.
    seconds : dict
        Of the phases, over all that was tried.
    """

    chosen: Chosen
    learnt: Learnt
    targets: Points
    raw: RawMap
    as_they_are: RawMap
    judged: dict[Way, list[float]]
    seconds: dict[str, float]


def learn_by_feedback(
    embedder: Any,
    X: Any,
    relation: Stated,
    dim: int | None,
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
    dim : int or None
        Components of a point; by default as many as the features are worth, see `fit_raw_map`.
    rng : Generator
        Of all that is random.
    loss : {"contrastive", "dot"}
        Of pairs.
    margin : float
        Multiplies what is far enough, see `FAR`.
    n_rounds : int, optional
        Rounds of the embedder, which share the config's epochs; by default as many as it takes.
    held_out : float
        Share of the statements that choose, at most 250 of the rarer kind.
    """
    with out_of_memory_sentence(config.batch_size):
        setting = _open(embedder, X, relation, dim, config, flips, n_rounds, callback)
        ways = Ways(setting, loss, margin, rng, isinstance(relation, TripletRelation))
        found = _Choice(ways, relation.take(setting.items), rng).learn(held_out)
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
    """Go on from what was learnt before, with other statements or more items.

    An embedder goes on, a network for a few short rounds, and nothing is held out. Where a map, or
    the features as they are, was chosen, which takes hardly longer, it is chosen anew.

    Parameters
    ----------
    before : Feedback
        Of a fit or an earlier refresh.
    embedder, X, relation, config, rng, loss, margin, flips, callback
        See `learn_by_feedback`.
    """
    with out_of_memory_sentence(config.batch_size):
        setting = _open(embedder, X, relation, None, config, flips, None, callback, before)
        ways = Ways(setting, loss, margin, rng, isinstance(relation, TripletRelation))
        found = _Choice(ways, relation.take(setting.items), rng).go_on(before)
    return replace(found, targets=_over_all(found.targets, setting.items, relation.n_items))


def learn_same_way(
    before: Feedback,
    embedder: Any,
    X: Any,
    relation: Stated,
    config: TrainingConfig,
    rng: np.random.Generator,
    *,
    loss: Literal["contrastive", "dot"] = "contrastive",
    margin: float = 1.0,
    n_rounds: int | None = None,
    flips: bool = False,
) -> NetworkEmbedder | RegressorEmbedder:
    """Return what the way that was chosen before comes to with other statements.

    Parameters
    ----------
    before : Feedback
        Of a fit or a refresh.
    embedder, X, relation, config, rng, loss, margin, n_rounds, flips
        See `learn_by_feedback`.
    """
    setting = _open(embedder, X, relation, None, config, flips, n_rounds, None, before)
    ways = Ways(setting, loss, margin, rng, isinstance(relation, TripletRelation))
    return ways.learn(before.chosen, relation.take(setting.items))[-1].embedder


class _Choice:
    """The choice between ways, by statements that are held out."""

    def __init__(self, ways: Ways, statements: Stated, rng: np.random.Generator) -> None:
        self._ways = ways
        self._statements = statements
        self._rng = rng

    def learn(self, held_out: float, with_embedder: bool = True) -> Feedback:
        """Try every way, and learn by the one that statements held out prefer."""
        folds = self._hold_out(held_out)
        if not folds:
            why = f"{len(self._statements)} statement(s) are too few to learn from and to check it"
            return self._as_they_are(why, {})
        trial = Trial(self._ways, self._statements, folds)
        if len(self._statements) <= MOST_FOR_LINEAR:
            trial.try_map("linear")
        trial.try_map("landmarks")
        if with_embedder:
            trial.try_embedder(self._fold_apart(held_out, folds[0]))
        if not trial.is_clearly_better:
            return self._as_they_are(_nothing_better(folds, trial.judged), trial.judged)
        learnt = trial.learn()
        found = self._feedback(trial.chosen, learnt, trial.judged)
        return replace(found, seconds=trial.seconds)

    def go_on(self, before: Feedback) -> Feedback:
        """Learn the way that was chosen before; a map and its rounds are chosen anew."""
        if before.chosen.way != "embedder":
            return self.learn(HELD_OUT, with_embedder=False)
        embedder, chosen = before.learnt.embedder, before.chosen
        learnt = self._ways.refresh_embedder(embedder, chosen, self._statements)
        return self._feedback(chosen, learnt, before.judged)

    def _hold_out(self, share: float) -> list[Fold]:
        """Part statements, again and again, into those to learn from and those that judge.

        As often as it takes to hold out enough of the rarer kind; never, if there are too few.
        """
        n_rarer = _n_rarer(self._statements)
        share = min(share, MOST_HELD_OUT / max(1, n_rarer))
        n_folds = math.ceil(MOST_HELD_OUT / max(1.0, share * n_rarer) - 0.5)
        folds = [self._fold(share) for _ in range(min(max(n_folds, 1), MOST_FOLDS))]
        return [fold for fold in folds if fold is not None]

    def _fold_apart(self, share: float, first: Fold) -> Fold:
        """Return a fold for the embedder, whose judge leaves enough items to learn."""
        if first.asks_about_few:
            return first
        return self._fold(min(share, _share_asked_about(self._statements))) or first

    def _fold(self, share: float) -> Fold | None:
        try:
            kept, out = self._statements.split(share, random_state=self._rng)
        except ValueError:  # one pair or triplet, however often it is stated
            return None
        if len(out) < FEWEST_HELD_OUT:
            return None
        judge = Judge(out, self._ways.metric)
        can_learn = Judge(kept, self._ways.metric).can_judge
        return Fold(kept, judge) if judge.can_judge and can_learn else None

    def _as_they_are(self, why: str, judged: dict[Way, list[float]]) -> Feedback:
        """Return the features' own metric, and say why."""
        warn_user(f"{why}, so the embedding is the features as they are.", RelationWarning)
        return self._feedback(Chosen("raw"), self._ways.by_features(), judged)

    def _feedback(self, chosen: Chosen, learnt: Learnt, judged: dict[Way, list[float]]) -> Feedback:
        setting = self._ways.setting
        return Feedback(
            chosen,
            learnt,
            learnt.targets,
            setting.raw,
            setting.as_they_are,
            judged,
            learnt.seconds,
        )


def _open(
    embedder: Any,
    X: Any,
    relation: Stated,
    dim: int | None,
    config: TrainingConfig,
    flips: bool,
    n_rounds: int | None,
    callback: Callable[[Epoch], Any] | None,
    before: Feedback | None = None,
) -> Setting:
    numbers = X if is_network(embedder) else prepare_features(X)
    shape = item_shape(numbers)
    refuse_flipped_vectors(flips, shape)
    features = open_features(numbers, config.device)
    if before is None:
        raw = fit_raw_map(features, dim)
        as_they_are = raw if dim is not None else fit_raw_map(features, _n_kept(shape))
    else:
        raw, as_they_are = before.raw, before.as_they_are
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
        as_they_are=as_they_are,
        config=config,
        flips=flips,
        n_rounds=n_rounds,
        max_epochs=config.max_epochs,
        callback=callback,
    )


def _n_kept(shape: tuple[int, ...]) -> int:
    """Return how many components the features as they are may have."""
    return min(math.prod(shape), LARGEST_DIM)


def _refuse_not_finite(points: Points, items: NDArray[np.int64]) -> None:
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"X holds NaN or infinity, first in row {items[wrong[0]]} of those in some statement, "
            "or in many. Replace or drop it first."
        )


def _share_asked_about(statements: Stated) -> float:
    """Return the share of statements that leaves enough items which they do not ask about."""
    n_roles = 3 if isinstance(statements, TripletRelation) else 2
    n_most = SHARE_ASKED_ABOUT * statements.n_items / n_roles
    return min(MOST_HELD_OUT / max(1, _n_rarer(statements)), n_most / len(statements))


def _n_rarer(statements: Stated) -> int:
    """Return how many pairs of the rarer kind there are, or triplets."""
    if isinstance(statements, TripletRelation):
        return len(statements)
    n_alike = int((statements.similar > 0.5).sum())
    return min(n_alike, len(statements) - n_alike)


def _nothing_better(folds: Sequence[Fold], judged: dict[Way, list[float]]) -> str:
    found = next(iter(judged.values()))[0]
    n_judges = sum(len(fold.judge.relation) for fold in folds)
    return (
        f"Nothing learnt orders the {n_judges} statements held out clearly better than the "
        f"features do ({found:.4f})"
    )


def _over_all(points: Points, items: NDArray[np.int64], n_items: int) -> Points:
    every = np.full((n_items, points.shape[1]), np.nan, dtype=np.float32)
    every[items] = points
    return every
