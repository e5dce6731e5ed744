"""Feedback: learning from pairs too few to decide the relation.

Phase 1 alone satisfies few statements perfectly, and places what they do not link at random. So
targets start from the features and follow what is learnt, by turns. What is learnt with each turn
is a map that can be solved for, linear or around landmarks, in milliseconds; the embedder is then
trained once, from the targets that the better map came to. Statements that were held out choose how
the features are seen; then between the features as they are, the maps and the embedder, and how
many rounds are best. What they choose is then learnt from all statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from twofold.estimators._choice import HELD_OUT, Choice, Feedback, n_rarer
from twofold.estimators._moving_targets import Stated
from twofold.estimators._opened import Opened
from twofold.estimators._views import View
from twofold.estimators._ways import Ways
from twofold.regression import (
    Epoch,
    NetworkEmbedder,
    RawMap,
    RegressorEmbedder,
    TrainingConfig,
    out_of_memory_sentence,
)
from twofold.relations import TripletRelation

MOST_FOR_VIEWS, FEWEST_RARER_FOR_VIEWS = 5000, 1250
"""Statements, and those of the rarer kind, that views are compared by; of more, some are drawn."""


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
        Components of a point; by default as many as the better view has, see `views_of`.
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
        opened = Opened(embedder, X, config, flips, n_rounds, callback)
        course = _Course(opened, opened.as_they_are(dim), loss, margin, rng)
        views = opened.views(dim)
        found = course.choice(views, relation, held_out).learn(held_out)
    return _over_all(replace(found, views=views, n_compared=len(relation)), relation)


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

    An embedder goes on, a network for a few short rounds, and a map is learnt again; nothing is
    held out for it. With many more statements, or where the features were left as they are, it is
    chosen anew between these and maps.

    Parameters
    ----------
    before : Feedback
        Of a fit or an earlier refresh.
    embedder, X, relation, config, rng, loss, margin, flips, callback
        See `learn_by_feedback`.
    """
    with out_of_memory_sentence(config.batch_size):
        opened = Opened(embedder, X, config, flips, None, callback)
        course = _Course(opened, before.as_they_are, loss, margin, rng)
        is_outgrown = before.is_outgrown_by(relation)
        views = before.views if is_outgrown else [before.view]
        found = course.choice(views, relation).go_on(before)
    n_compared = len(relation) if is_outgrown else before.n_compared
    return _over_all(replace(found, views=before.views, n_compared=n_compared), relation)


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
    opened = Opened(embedder, X, config, flips, n_rounds, None)
    course = _Course(opened, before.as_they_are, loss, margin, rng)
    return course.choice([before.view], relation).learn_again(before.chosen)


@dataclass(frozen=True, slots=True, eq=False)
class _Course:
    """What all choices of one fit have in common."""

    opened: Opened
    as_they_are: RawMap
    loss: Literal["contrastive", "dot"]
    margin: float
    rng: np.random.Generator
    spent: list[dict[str, float]] = field(default_factory=list)

    def choice(self, views: Sequence[View], relation: Stated, held_out: float = HELD_OUT) -> Choice:
        """Return the choice between ways to learn a relation, in some views.

        With many statements some of them say which view it is to be.
        """
        if len(views) > 1 and (few := _some_of(relation, self.rng)) is not relation:
            views = [self._between(views, few).best_view(held_out)]
        return self._between(views, relation)

    def _between(self, views: Sequence[View], relation: Stated) -> Choice:
        items = np.flatnonzero(relation.linked)
        is_triplets = isinstance(relation, TripletRelation)
        ways = [
            Ways(
                self.opened.seen(view, self.as_they_are, items),
                self.loss,
                self.margin,
                self.rng,
                is_triplets,
            )
            for view in views
        ]
        return Choice(ways, relation.take(items), self.rng, self.spent)


def _some_of(relation: Stated, rng: np.random.Generator) -> Stated:
    """Return enough statements to compare views by."""
    share = max(MOST_FOR_VIEWS / len(relation), FEWEST_RARER_FOR_VIEWS / max(1, n_rarer(relation)))
    return relation if share >= 1 else relation.split(share, random_state=rng)[1]


def _over_all(found: Feedback, relation: Stated) -> Feedback:
    """Return the same with targets for all items: NaN for those in no statement."""
    every = np.full((relation.n_items, found.targets.shape[1]), np.nan, dtype=np.float32)
    every[relation.linked] = found.targets
    return replace(found, targets=every)
