"""The choice between ways to learn by feedback, by statements that are held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from twofold._core.warnings import RelationWarning, warn_user
from twofold.estimators._judge import Judge, is_far_above
from twofold.estimators._lesson import Learnt
from twofold.estimators._moving_targets import Points, Stated
from twofold.estimators._trial import Fold, Trial
from twofold.estimators._views import View
from twofold.estimators._ways import Chosen, Way, Ways
from twofold.regression import NetworkEmbedder, RawMap, RegressorEmbedder
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
OUTGROWN = 1.5
"""Times the statements that views and ways were compared by; with so many they are again."""
MOST_FOLDS = 5
"""Times that statements are held out, where there are few of a kind."""
EASY, FOLDS_UNLESS_EASY = 0.9, 4
"""What is ordered no better than so needs more judges: on delicious 250 of a kind chose the view
and the round too much by chance (AUROC of new items .641 to .670, with 1,000 .659 to .668)."""
HARD = 0.75
"""What is ordered no better than so is learnt by stiff maps. Judges, who ask about items that maps
have learnt, prefer pliant ones there, and new items do not: in yeast's training part, 16 seeds,
AUROC .547 against .541 if they may choose."""


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
    view : View
        How the features are seen, whose points it started from.
    views : sequence of View
        How else they may be seen.
    n_compared : int
        Statements when views and ways were compared last.
    as_they_are : RawMap
        The features with all their components.
    judged : dict
        How the ways were judged, after each round.
    seconds : dict
        Of the phases, over all that was tried.
    """

    chosen: Chosen
    learnt: Learnt
    targets: Points
    view: View
    as_they_are: RawMap
    judged: dict[Way, list[float]]
    seconds: dict[str, float]
    views: Sequence[View] = ()
    n_compared: int = 0

    def is_outgrown_by(self, relation: Stated) -> bool:
        """Whether statements are so many more, or less, that views and ways are compared again.

        An embedder goes on in the view that it has learnt in.
        """
        less, more = sorted((len(relation), self.n_compared))
        return more >= OUTGROWN * less and self.chosen.way != "embedder"


class Choice:
    """The choice between ways, by statements that are held out; in one view or, first, of some."""

    def __init__(
        self,
        seen: Sequence[Ways],
        statements: Stated,
        rng: np.random.Generator,
        spent: list[dict[str, float]],
    ) -> None:
        self._seen = seen
        self._statements = statements
        self._rng = rng
        self._spent = spent

    def best_view(self, held_out: float) -> View:
        """Return the view in which a map learns best."""
        folds = self._hold_out(held_out)
        ways = self._try_views(folds).ways if folds else self._seen[0]
        return ways.setting.view

    def learn(self, held_out: float, beside: Sequence[Way] = ("linear", "embedder")) -> Feedback:
        """Try a map around landmarks and some ways beside; learn by the one that judges prefer."""
        folds = self._hold_out(held_out)
        if not folds:
            why = f"{len(self._statements)} statement(s) are too few to learn from and to check it"
            return self._as_they_are(why, {})
        trial = self._try_views(folds)
        if "linear" in beside and len(self._statements) <= MOST_FOR_LINEAR:
            trial.try_map("linear")
        if "embedder" in beside:
            trial.try_embedder(self._fold_apart(held_out, folds[0]))
        if not trial.is_clearly_better:
            return self._as_they_are(_nothing_better(trial), trial.judged)
        learnt = trial.learn()
        found = self._feedback(trial.ways, trial.chosen, learnt, trial.judged)
        return replace(found, seconds=trial.seconds)

    def learn_again(self, chosen: Chosen) -> NetworkEmbedder | RegressorEmbedder:
        """Learn a way that was chosen before, as it was then."""
        return self._seen[0].learn(chosen, self._statements)[-1].embedder

    def go_on(self, before: Feedback) -> Feedback:
        """Learn the way that was chosen before, and as many rounds, while it is not outgrown.

        The features as they are give way as soon as something is clearly better. A linear map that
        was worse than one around landmarks is not tried again: it has less to learn from more.
        """
        chosen, ways = before.chosen, self._seen[0]
        if chosen.way == "raw" or before.is_outgrown_by(self._statements):
            return self.learn(HELD_OUT, beside=() if chosen.way == "landmarks" else ("linear",))
        if chosen.way == "embedder":
            learnt = ways.refresh_embedder(before.learnt.embedder, chosen, self._statements)
        else:
            learnt = ways.by_map(chosen.way, self._statements, n_rounds=chosen.n_rounds)
        return self._feedback(ways, chosen, learnt, before.judged)

    def _try_views(self, folds: Sequence[Fold]) -> Trial:
        """Learn maps around landmarks in every view; return the trial in the one they like best.

        How the first does says whether stiff views are to be tried, or the others. Of equals it is
        the one with fewest directions.
        """
        usual, *others = self._worth_trying
        first = Trial(usual, self._statements, folds, self._spent)
        first.try_map("landmarks")
        found = first.looks["landmarks"].best
        is_hard = found < HARD
        like_it = [ways for ways in others if (ways.setting.view.stiffness > 1) == is_hard]
        trials = [] if is_hard and like_it else [first]
        if found < EASY:
            more = self._more_folds(folds)
            folds = [*folds, *more]
            for trial in trials:
                trial.go_on_with(more)
        for ways in like_it:
            trials.append(Trial(ways, self._statements, folds, self._spent))
            trials[-1].try_map("landmarks")
        best = max((trial.looks["landmarks"] for trial in trials), key=lambda looks: looks.best)
        return next(trial for trial in trials if not best.is_better_than(trial.looks["landmarks"]))

    @property
    def _worth_trying(self) -> Sequence[Ways]:
        """The views whose points, as they are, do not order the statements far worse."""
        judge = Judge(self._statements, self._seen[0].metric)
        seen = [judge.placements(ways.setting.start) for ways in self._seen]
        best = max(seen, key=lambda placements: float(placements[0].mean()))
        return [
            ways
            for ways, placements in zip(self._seen, seen, strict=True)
            if not is_far_above(best, placements)
        ]

    def _hold_out(self, share: float) -> list[Fold]:
        """Part statements, again and again, into those to learn from and those that judge.

        As often as it takes to hold out enough of the rarer kind; never, if there are too few.
        """
        n_most = n_rarer(self._statements)
        share = min(share, MOST_HELD_OUT / max(1, n_most))
        n_folds = math.ceil(MOST_HELD_OUT / max(1.0, share * n_most) - 0.5)
        return self._folds(share, min(max(n_folds, 1), MOST_FOLDS))

    def _more_folds(self, folds: Sequence[Fold]) -> list[Fold]:
        """Part statements as often again as it takes where judges disagree."""
        share = len(folds[0].judge.relation) / len(self._statements)
        return self._folds(share, FOLDS_UNLESS_EASY - len(folds))

    def _folds(self, share: float, n_folds: int) -> list[Fold]:
        folds = [self._fold(share) for _ in range(n_folds)]
        return [fold for fold in folds if fold is not None]

    def _fold_apart(self, share: float, first: Fold) -> Fold:
        """Return a fold for the embedder, whose judge leaves enough items to learn."""
        if first.leaves_most:
            return first
        return self._fold(min(share, _share_asked_about(self._statements))) or first

    def _fold(self, share: float) -> Fold | None:
        try:
            kept, out = self._statements.split(share, random_state=self._rng)
        except ValueError:  # one pair or triplet, however often it is stated
            return None
        if len(out) < FEWEST_HELD_OUT:
            return None
        judge = Judge(out, self._seen[0].metric)
        can_learn = Judge(kept, self._seen[0].metric).can_judge
        return Fold(kept, judge) if judge.can_judge and can_learn else None

    def _as_they_are(self, why: str, judged: dict[Way, list[float]]) -> Feedback:
        """Return the features' own metric, and say why."""
        warn_user(f"{why}, so the embedding is the features as they are.", RelationWarning)
        ways = self._seen[0]
        return self._feedback(ways, Chosen("raw"), ways.by_features(), judged)

    def _feedback(
        self, ways: Ways, chosen: Chosen, learnt: Learnt, judged: dict[Way, list[float]]
    ) -> Feedback:
        setting = ways.setting
        return Feedback(
            chosen,
            learnt,
            learnt.targets,
            setting.view,
            setting.as_they_are,
            judged,
            learnt.seconds,
        )


def _share_asked_about(statements: Stated) -> float:
    """Return the share of statements that leaves enough items which they do not ask about."""
    n_roles = 3 if isinstance(statements, TripletRelation) else 2
    n_most = SHARE_ASKED_ABOUT * statements.n_items / n_roles
    return min(MOST_HELD_OUT / max(1, n_rarer(statements)), n_most / len(statements))


def n_rarer(statements: Stated) -> int:
    """Return how many pairs of the rarer kind there are, or triplets."""
    if isinstance(statements, TripletRelation):
        return len(statements)
    n_alike = int((statements.similar > 0.5).sum())
    return min(n_alike, len(statements) - n_alike)


def _nothing_better(trial: Trial) -> str:
    found = next(iter(trial.judged.values()))[0]
    return (
        f"Nothing learnt orders the {trial.n_judging} statements held out clearly better than the "
        f"features do ({found:.4f})"
    )
