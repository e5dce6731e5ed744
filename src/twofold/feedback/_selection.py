"""Selection: what validation prefers, if it beats the features, refitted on everything."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from twofold._core.warnings import RelationWarning, warn_user
from twofold.evaluation import Metric, gain_error, pair_similarity
from twofold.feedback._candidate import (
    N_ROUNDS,
    Candidate,
    EmbedderCandidate,
    FeaturesCandidate,
    RidgeCandidate,
)
from twofold.feedback._feature_space import feature_spaces
from twofold.feedback._problem import Points, Problem
from twofold.feedback._race import ERRORS_TO_DROP, Race, with_rounds
from twofold.feedback._validation import ranks_of
from twofold.regression import Embedder

RIDGE_MULTIPLIERS = (1.0, 30.0)
"""The second for statements that are hardly more than chance: what few items have in common is
then not learnt."""
MOST_COMPARED_ON = 10_000
"""Statements: of more, so many are drawn to compare candidates, and the best is fitted to all."""
OUTGROWN = 1.5
"""Times the statements of the last selection: with so many, candidates are compared again."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What was selected, refitted on everything, and what it expects on new statements.

    Attributes
    ----------
    candidate : str
        "features as given", "ridge map", "network" or "regressor".
    metric : {"euclidean", "dot", "cosine"}
        How points are compared.
    n_directions, unit : int, bool
        Of the feature space, and whether rows are brought to length 1 first.
    ridge_multiplier, n_rounds : float, int
        Of the ridge map, or of the one that guides a network or regressor.
    expected : dict or None
        AUROC, or of triplets the share in order, to expect on statements about "new items" and
        about "known items"; None without validation.
    reference : float or None
        What the features as given score on new items.
    n_statements, n_validated : int
        Statements when candidates were compared, and those that they were compared on.
    scores : dict
        Of each candidate, by its name, the score of every round in validation.
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
    embedder: Any | None = None,
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
        Share of the items that one fold holds out; with 0 nothing is compared, and the user's
        embedder, or a ridge map, is fitted.
    embedder : TrainingConfig or scikit-learn regressor, optional
        The user's own, a candidate beside ridge maps.
    """
    if len(problem.statements) > MOST_COMPARED_ON and validation_fraction:
        sample = problem.sampled(MOST_COMPARED_ON)
        selection = select_candidate(
            sample,
            n_components=n_components,
            n_rounds=n_rounds,
            validation_fraction=validation_fraction,
            embedder=embedder,
        )
        whole = refit(problem, selection, embedder)
        both = {phase: spent + selection.seconds[phase] for phase, spent in whole.seconds.items()}
        return replace(whole, n_statements=len(problem.statements), seconds=both)
    began = time.perf_counter()
    reference = _reference(problem)
    race = Race(problem, reference, validation_fraction)
    maps = _ridge_maps(problem, reference, n_components, n_rounds or N_ROUNDS)
    race.seconds["regression"] += time.perf_counter() - began
    if not validation_fraction:
        guide = maps[0]
        own = guide if embedder is None else EmbedderCandidate(embedder, guide)
        return _refit(problem, race, own, guide.n_rounds)
    race.run([*maps])
    if not race.folds:
        why = f"{len(problem.statements)} statement(s) are too few to learn from and to validate on"
        return _keep_features(problem, race, reference, why, n_components)
    if embedder is not None:
        best, best_round = race.best()
        guide = next(one for one in maps if one is best)
        race.enter(EmbedderCandidate(embedder, replace(guide, n_rounds=best_round)))
    if race.beats_features():
        return _refit(problem, race, *race.best())
    n_validated = sum(len(fold.held_out) for fold in race.folds)
    why = (
        f"Nothing learnt orders the {n_validated} statements held out clearly better than the "
        f"features do ({race.features_score:.4f})"
    )
    return _keep_features(problem, race, reference, why, n_components)


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
    candidate: Candidate = FeaturesCandidate(selection.metric)
    race = Race(problem, FeaturesCandidate(selection.metric), 0.0)
    if selection.candidate != "features as given":
        (space,) = feature_spaces(problem, selection.n_directions, selection.unit)
        guide = RidgeCandidate(space, problem.metric, selection.ridge_multiplier)
        candidate = guide = replace(guide, n_rounds=selection.n_rounds)
        if selection.candidate != "ridge map":
            candidate = EmbedderCandidate(embedder, guide)
    fitted = _refit(problem, race, candidate, selection.n_rounds)
    names = ("seconds", "embedder", "targets", "losses")
    return replace(selection, **{name: getattr(fitted, name) for name in names})


def _reference(problem: Problem) -> FeaturesCandidate:
    """Return the features compared by cosine or by distance, whichever orders better."""

    def score(candidate: FeaturesCandidate) -> float:
        (round_,) = candidate.rounds(problem)
        return float(ranks_of(problem.statements, round_.similarity)[0].mean())

    return max(FeaturesCandidate("euclidean"), FeaturesCandidate("cosine"), key=score)


def _ridge_maps(
    problem: Problem, reference: FeaturesCandidate, n_components: int | None, n_rounds: int
) -> list[RidgeCandidate]:
    """Return the ridge maps that race: not those that start from far worse points."""
    spaces = feature_spaces(problem, n_components, reference.metric == "cosine")
    statements = problem.statements
    starts = [
        ranks_of(statements, partial(pair_similarity, space.points, metric=problem.metric))
        for space in spaces
    ]
    best = max(starts, key=lambda ranks: float(ranks[0].mean()))
    return [
        RidgeCandidate(space, problem.metric, multiplier, n_rounds)
        for space, start in zip(spaces, starts, strict=True)
        if best[0].mean() - start[0].mean() <= ERRORS_TO_DROP * gain_error(start, best)
        for multiplier in RIDGE_MULTIPLIERS
    ]


def _keep_features(
    problem: Problem,
    race: Race,
    reference: FeaturesCandidate,
    why: str,
    n_components: int | None,
) -> Selection:
    """Return the features as given, and say why."""
    kept = f"so the embedding is the features as given, compared by {reference.metric}"
    if n_components is not None:
        kept += f"; n_components={n_components} is not kept"
    warn_user(f"{why}, {kept}.", RelationWarning)
    return _refit(problem, race, reference, 0)


def _refit(problem: Problem, race: Race, candidate: Candidate, n_rounds: int) -> Selection:
    """Fit a candidate to the whole problem."""
    expected = race.expected(candidate, n_rounds) if race.folds else None
    candidate = with_rounds(candidate, n_rounds)
    problem.tell(f"fitting {candidate.name}")
    for round_ in candidate.rounds(problem):
        race.spend(round_)
    guide = candidate.guide if isinstance(candidate, EmbedderCandidate) else candidate
    space = guide.space if isinstance(guide, RidgeCandidate) else None
    return Selection(
        candidate=candidate.name.partition(",")[0],
        metric=candidate.metric,
        n_directions=0 if space is None else space.n_directions,
        unit=space is not None and space.projection.unit,
        ridge_multiplier=guide.ridge_multiplier if isinstance(guide, RidgeCandidate) else 1.0,
        n_rounds=guide.n_rounds if isinstance(guide, RidgeCandidate) else 0,
        expected=expected,
        reference=race.features_score if race.folds else None,
        n_statements=len(problem.statements),
        n_validated=sum(len(fold.held_out) for fold in race.folds),
        scores=race.scores,
        seconds=race.seconds,
        embedder=round_.embedder(),
        targets=round_.targets(),
        losses=round_.losses,
    )
