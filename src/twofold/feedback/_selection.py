"""Selection: candidates race over folds; the best, if it beats the features, is refitted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from twofold._core.warnings import RelationWarning, warn_user
from twofold.feedback._candidate import (
    N_ROUNDS,
    Candidate,
    Embedder,
    EmbedderCandidate,
    FeaturesCandidate,
    RidgeCandidate,
    Round,
    start_round,
)
from twofold.feedback._feature_space import directions_to_try, feature_space
from twofold.feedback._problem import Metric, Points, Problem
from twofold.feedback._validation import (
    MOST_FOLDS,
    MOST_HELD_OUT,
    PRECISION,
    Fold,
    Ranks,
    ValidationTrace,
    gain_error,
    hold_out_items,
    hold_out_statements,
    n_rarer,
    ranks,
    score_error,
    similarities,
)
from twofold.regression import TrainingConfig

RIDGE_MULTIPLIERS = (1.0, 30.0)
"""The second for statements that are hardly more than chance: what few items have in common is
then not learnt."""
ERRORS_OF_EQUALS = 1.0
"""Standard errors within which scores count as equal: then the features as given are kept, the
first candidate and the latest round are taken."""
ERRORS_TO_DROP = 2.0
"""Standard errors below the best at which a candidate leaves the race, and below the best start at
which a feature space does not enter it."""
OUTGROWN = 1.5
"""Times the statements of the last selection: with so many, candidates are compared again."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What was selected, refitted on everything, and what it expects on new pairs.

    Attributes
    ----------
    candidate : str
        "features as given", "ridge map", "network" or "regressor".
    metric : {"euclidean", "dot", "cosine"}
        How points are compared.
    n_directions : int
        Of the feature space; 0 for the features as given.
    unit : bool
        Whether rows of features are brought to length 1 first.
    ridge_multiplier : float
        Of the ridge map, or of the one that guides a network or regressor.
    n_rounds : int
        Of that map.
    expected : dict or None
        AUROC, or of triplets the share in order, to expect on statements about "new items" and
        about "known items"; None without validation.
    reference : float or None
        What the features as given score on new items.
    n_statements : int
        When candidates were compared.
    n_validated : int
        Statements that they were compared on.
    scores : dict
        Of each candidate, by its name, the score of every round.
    seconds : dict
        "targets" and "regression", everything that was tried included.
    embedder : NetworkEmbedder or RegressorEmbedder
        From features to points.
    targets : ndarray of float32, shape (n_items, dim)
        Of the items in some statement.
    losses : list of float
        Of a network, one an epoch.
    """

    candidate: str
    metric: Metric
    n_directions: int
    unit: bool
    ridge_multiplier: float
    n_rounds: int
    expected: dict[str, float] | None
    reference: float | None
    n_statements: int
    n_validated: int
    scores: dict[str, list[float]]
    seconds: dict[str, float]
    embedder: Embedder
    targets: Points
    losses: list[float] = field(default_factory=list)

    def is_outgrown_by(self, n_statements: int) -> bool:
        """Whether statements have become so many more, or fewer, that all is compared again."""
        fewer, more = sorted((n_statements, self.n_statements))
        return more >= OUTGROWN * fewer or self.candidate == "features as given"


def select_candidate(
    problem: Problem,
    *,
    n_components: int | None = None,
    n_rounds: int | None = None,
    validation_fraction: float = 0.2,
    embedder: TrainingConfig | Any | None = None,
) -> Selection:
    """Compare candidates on statements held out, and refit the best on all.

    Parameters
    ----------
    problem : Problem
        Features and statements.
    n_components : int, optional
        Of the embedding; by default as many as the selected space has directions.
    n_rounds : int, optional
        Of ridge maps, at most.
    validation_fraction : float
        Share of the statements that one fold holds out, at most; with 0 nothing is compared, and
        the user's embedder, or a ridge map in the leading directions, is fitted.
    embedder : TrainingConfig or scikit-learn regressor, optional
        The user's own, a candidate beside ridge maps.
    """
    contest = _Contest(problem, n_components, n_rounds or N_ROUNDS, embedder)
    if not validation_fraction:
        return contest.refit(contest.first_candidate(), contest.n_rounds)
    return contest.run(validation_fraction)


def refit(problem: Problem, selection: Selection, embedder: Any | None = None) -> Selection:
    """Return the selected candidate fitted to another problem, as many rounds, without validation.

    Parameters
    ----------
    problem : Problem
        Features and statements.
    selection : Selection
        Of an earlier problem about the same features.
    embedder : TrainingConfig or scikit-learn regressor, optional
        The user's own, if it is what was selected.
    """
    contest = _Contest(problem, selection.n_directions, selection.n_rounds, embedder)
    candidate: Candidate = FeaturesCandidate(selection.metric)
    if selection.candidate != "features as given":
        candidate = contest.ridge_candidate(
            selection.n_directions, selection.unit, selection.ridge_multiplier
        )
        if selection.candidate != "ridge map":
            candidate = EmbedderCandidate(embedder, candidate)
    fitted = contest.refit(candidate, selection.n_rounds)
    return replace(
        selection,
        seconds=fitted.seconds,
        embedder=fitted.embedder,
        targets=fitted.targets,
        losses=fitted.losses,
    )


class _Contest:
    """The race of all candidates for one problem."""

    def __init__(
        self, problem: Problem, n_components: int | None, n_rounds: int, embedder: Any | None
    ) -> None:
        self.n_rounds = n_rounds
        self._problem = problem
        self._n_components = n_components
        self._embedder = embedder
        self._seconds = {"targets": 0.0, "regression": 0.0}
        self._folds: list[Fold] = []
        self._traces: dict[Candidate, ValidationTrace] = {}
        self._dropped: dict[Candidate, ValidationTrace] = {}
        self._reference = self._better_metric()

    def ridge_candidate(self, n_directions: int, unit: bool, multiplier: float) -> RidgeCandidate:
        """Return the ridge map of a space."""
        space = feature_space(self._problem, n_directions, unit)
        return RidgeCandidate(space, self._problem.metric, multiplier, self.n_rounds)

    def first_candidate(self) -> Candidate:
        """Return what is fitted if nothing may be held out to compare candidates."""
        n_directions = directions_to_try(self._problem, self._n_components)[0]
        guide = self.ridge_candidate(n_directions, self._is_unit, RIDGE_MULTIPLIERS[0])
        return guide if self._embedder is None else EmbedderCandidate(self._embedder, guide)

    def run(self, share: float) -> Selection:
        """Race the candidates, and refit the best or keep the features."""
        self._share = share
        self._race(share)
        if not self._folds:
            n_statements = len(self._problem.statements)
            return self.keep_features(
                f"{n_statements} statement(s) are too few to learn from and to validate on"
            )
        if self._embedder is not None:
            guide, n_rounds = self._best()
            assert isinstance(guide, RidgeCandidate)
            own = EmbedderCandidate(self._embedder, replace(guide, n_rounds=n_rounds))
            self._traces[own] = ValidationTrace(own.name)
            for fold in self._folds:
                self._trace(own, fold, self._traces[own])
        if not self._beats_features():
            return self.keep_features(
                f"Nothing learnt orders the {self._n_validated} statements held out clearly better "
                f"than the features do ({self._score_of_features():.4f})"
            )
        return self.refit(*self._best())

    def keep_features(self, why: str) -> Selection:
        """Return the features as given, and say why."""
        kept = f"so the embedding is the features as given, compared by {self._reference.metric}"
        if self._n_components is not None:
            kept += f"; n_components={self._n_components} is not kept"
        warn_user(f"{why}, {kept}.", RelationWarning)
        return self.refit(self._reference, 0)

    def refit(self, candidate: Candidate, n_rounds: int) -> Selection:
        """Fit a candidate to the whole problem."""
        expected = self._expected(candidate, n_rounds)
        candidate = _with_rounds(candidate, n_rounds)
        self._problem.tell(f"fitting {candidate.name}")
        last = self._last_round(candidate)
        map_ = candidate.guide if isinstance(candidate, EmbedderCandidate) else candidate
        is_map = isinstance(map_, RidgeCandidate)
        return Selection(
            candidate=candidate.name.partition(",")[0],
            metric=candidate.metric,
            n_directions=map_.space.n_directions if is_map else 0,
            unit=map_.space.projection.unit if is_map else False,
            ridge_multiplier=map_.ridge_multiplier if is_map else 1.0,
            n_rounds=map_.n_rounds if is_map else 0,
            expected=expected,
            reference=self._score_of_features() if self._folds else None,
            n_statements=len(self._problem.statements),
            n_validated=self._n_validated,
            scores={
                trace.name: trace.scores().tolist()
                for trace in (self._traces | self._dropped).values()
                if trace.n_folds
            },
            seconds=self._seconds,
            embedder=last.embedder(),
            targets=last.targets,
            losses=last.losses,
        )

    def _better_metric(self) -> FeaturesCandidate:
        """Return the features compared by cosine or by distance, whichever orders better."""
        candidates = [FeaturesCandidate("euclidean"), FeaturesCandidate("cosine")]
        scores = [
            self._ranks_of_all(round_)[0].mean()
            for candidate in candidates
            for round_ in candidate.rounds(self._problem)
        ]
        return candidates[int(np.argmax(scores))]

    def _ranks_of_all(self, round_: Round) -> Ranks:
        """Return the ranks of all statements by something that learnt from none of them."""
        statements = self._problem.statements
        return ranks(statements, similarities(round_, statements))

    @property
    def _is_unit(self) -> bool:
        return self._reference.metric == "cosine"

    def _ridge_candidates(self) -> list[Candidate]:
        """Return the ridge maps that race: not those that start from far worse points."""
        spaces = [
            feature_space(self._problem, n_directions, self._is_unit)
            for n_directions in directions_to_try(self._problem, self._n_components)
        ]
        starts = [self._ranks_of_all(start_round(space, self._problem.metric)) for space in spaces]
        best = max(starts, key=lambda start: float(start[0].mean()))
        return [
            RidgeCandidate(space, self._problem.metric, multiplier, self.n_rounds)
            for space, start in zip(spaces, starts, strict=True)
            if best[0].mean() - start[0].mean() <= ERRORS_TO_DROP * gain_error(start, best)
            for multiplier in RIDGE_MULTIPLIERS
        ]

    def _race(self, share: float) -> None:
        """Trace candidates fold by fold, until the best is known well enough.

        Who is clearly below the best does not go on.
        """
        racing = [self._reference, *self._ridge_candidates()]
        self._traces = {candidate: ValidationTrace(candidate.name) for candidate in racing}
        while len(self._folds) < MOST_FOLDS:
            fold = hold_out_items(self._problem.statements, share, self._problem.rng)
            if fold is None:
                return
            self._folds.append(fold)
            for candidate, trace in self._traces.items():
                self._trace(candidate, fold, trace)
            best = self._traces[self._best()[0]]
            dropped = [
                candidate
                for candidate, trace in self._learnt()
                if _is_above(best, trace, ERRORS_TO_DROP)
            ]
            self._dropped |= {candidate: self._traces.pop(candidate) for candidate in dropped}
            error = score_error(best.ranks(int(best.scores().argmax())))
            if self._n_rarer >= MOST_HELD_OUT and error <= PRECISION:
                return

    def _trace(self, candidate: Candidate, fold: Fold, trace: ValidationTrace) -> None:
        """Record a candidate's rounds on a fold."""
        trace.open_fold(fold)
        problem = self._problem.learning_from(fold.kept, fold.rows)
        for number, round_ in enumerate(candidate.rounds(problem), start=1):
            trace.record(round_)
            self._spend(round_)
            score = trace.scores()[-1]
            problem.tell(f"{trace.name}: fold {trace.n_folds}, round {number}, {score:.4f}")

    @property
    def _n_rarer(self) -> int:
        return sum(n_rarer(fold.held_out) for fold in self._folds)

    @property
    def _n_validated(self) -> int:
        return sum(len(fold.held_out) for fold in self._folds)

    def _last_round(self, candidate: Candidate) -> Round:
        round_: Round | None = None
        for round_ in candidate.rounds(self._problem):
            self._spend(round_)
        assert round_ is not None
        return round_

    def _spend(self, round_: Round) -> None:
        for phase, spent in round_.seconds.items():
            self._seconds[phase] += spent

    def _learnt(self) -> list[tuple[Candidate, ValidationTrace]]:
        """Return what was learnt, without the features as given; a user's own comes first."""
        learnt = [pair for pair in self._traces.items() if pair[0] is not self._reference]
        return sorted(learnt, key=lambda pair: isinstance(pair[0], RidgeCandidate))

    def _best(self, half: int | None = None) -> tuple[Candidate, int]:
        """Return the best candidate and how many of its rounds to take.

        Of candidates that count as equal it is the user's own, else the first; of rounds the
        latest, since rounds get better far more often than worse.
        """
        learnt = self._learnt()
        best = max((trace for _, trace in learnt), key=lambda trace: trace.scores(half).max())
        candidate, trace = next(
            (candidate, trace)
            for candidate, trace in learnt
            if not _is_above(best, trace, ERRORS_OF_EQUALS, half)
        )
        scores = trace.scores(half)
        top = trace.ranks(int(scores.argmax()), half)
        equals = [
            number
            for number, score in enumerate(scores)
            if scores.max() - score <= ERRORS_OF_EQUALS * gain_error(trace.ranks(number, half), top)
        ]
        return candidate, 1 + max(equals)

    def _beats_features(self, half: int | None = None) -> bool:
        """Whether the best is above the features by more than chance gives."""
        trace = self._traces[self._best(half)[0]]
        return _is_above(trace, self._traces[self._reference], ERRORS_OF_EQUALS, half)

    def _expected(self, candidate: Candidate, n_rounds: int) -> dict[str, float] | None:
        """Return the scores to expect.

        On new items: what one half of the statements held out selects, scored on the other half.
        On known ones: what was selected, on statements that were held out at random.
        """
        if not self._folds:
            return None
        if all(trace.can_be_halved for trace in self._traces.values()):
            selected = [(*self._selected(half), 1 - half) for half in (0, 1)]
        else:
            selected = [(*self._selected(None), None)]
        scores = [self._traces[one].scores(half)[n - 1] for one, n, half in selected]
        expected = {"new items": float(np.mean(scores))}
        fold = hold_out_statements(self._problem.statements, self._share, self._problem.rng)
        if fold is not None:
            expected["known items"] = self._score_on(fold, candidate, n_rounds)
        return expected

    def _score_on(self, fold: Fold, candidate: Candidate, n_rounds: int) -> float:
        trace = ValidationTrace(candidate.name)
        self._trace(_with_rounds(candidate, n_rounds), fold, trace)
        return float(trace.scores()[-1])

    def _score_of_features(self) -> float:
        return float(self._traces[self._reference].scores()[0])

    def _selected(self, half: int | None) -> tuple[Candidate, int]:
        return self._best(half) if self._beats_features(half) else (self._reference, 1)


def _with_rounds(candidate: Candidate, n_rounds: int) -> Candidate:
    """Return a ridge map that takes so many rounds; any other candidate as it is."""
    if isinstance(candidate, RidgeCandidate):
        return replace(candidate, n_rounds=n_rounds)
    return candidate


def _is_above(
    one: ValidationTrace, other: ValidationTrace, n_errors: float, half: int | None = None
) -> bool:
    """Whether the best round of one trace is above that of another by so many errors."""
    ones, others = one.scores(half), other.scores(half)
    gain = float(ones.max() - others.max())
    error = gain_error(other.ranks(int(others.argmax()), half), one.ranks(int(ones.argmax()), half))
    return gain > n_errors * error and not math.isclose(gain, 0.0)
