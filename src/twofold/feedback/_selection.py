"""Selection: what validation prefers, if it beats the features, refitted on everything."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields, replace
from typing import Any

from twofold._core.warnings import RelationWarning, warn_user
from twofold.evaluation import Metric, gain_error
from twofold.feedback._candidate import (
    N_ROUNDS,
    Candidate,
    EmbedderCandidate,
    FeaturesCandidate,
    RidgeCandidate,
    last_round,
    similarity_of,
)
from twofold.feedback._feature_space import feature_spaces
from twofold.feedback._problem import Points, Problem
from twofold.feedback._race import ERRORS_OF_EQUALS, MOST_FOLDS, Race, features_score, with_rounds
from twofold.feedback._validation import ranks_of
from twofold.regression import Embedder, Projection

RIDGE_MULTIPLIERS = (1.0, 30.0)
"""The second for statements that are hardly more than chance: what few items have in common is
then not learnt."""
MOST_COMPARED_ON = 10_000
"""Statements: of more, so many are drawn to compare candidates, and the best is fitted to all."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What was selected, refitted on everything, and the score to expect on new statements.

    Attributes
    ----------
    candidate : str
        "features as given", "ridge map", "network" or "regressor".
    metric : {"euclidean", "dot", "cosine"}
        How points are compared.
    n_directions, unit : int, bool
        Dimensions of the feature space, and whether rows are scaled to length 1 first.
    ridge_multiplier, n_rounds : float, int
        Of the ridge map, or of the one that guides a network or regressor.
    expected : dict or None
        AUROC, or for triplets the share in order, to expect on statements about "new items" and
        about "known items"; None without validation.
    reference : float or None
        Score of the features as given on new items.
    n_statements, n_validated : int
        Number of statements when candidates were compared, and of those used to compare them.
    scores : dict
        For each candidate, by its name, the validation score of every round.
    seconds : dict
        "targets" and "regression", including all candidates.
    embedder : NetworkEmbedder or RegressorEmbedder
        From features to points.
    targets : ndarray of float32, shape (n_items, dim)
        Of the items in some statement.
    losses : list of float
        Of a network, one per epoch.
    projection : Projection or None
        Of the feature space; None of the features as given, and of a model that was opened.
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
    projection: Projection | None = None

    def plain(self) -> dict[str, Any]:
        """Return what JSON takes of it: all but the embedder, the targets and the projection."""
        names = {one.name for one in fields(self)} - {"embedder", "targets", "projection"}
        return {name: getattr(self, name) for name in sorted(names)}

    def is_outgrown_by(self, n_statements: int) -> bool:
        """Whether as many statements came, or went, as candidates were compared on.

        Then they are compared again; also where the features were kept as given, after which
        learning is always worth a try.
        """
        n_changed = abs(n_statements - self.n_statements)
        return n_changed >= self.n_validated or self.candidate == "features as given"


def select_candidate(
    problem: Problem,
    *,
    n_components: int | None = None,
    n_rounds: int | None = None,
    validation_fraction: float = 1 / MOST_FOLDS,
    embedder: Any | None = None,
) -> Selection:
    """Compare candidates on statements held out, and fit the best to all.

    The user's own `embedder`, a TrainingConfig or regressor, is a candidate beside ridge maps of at
    most `n_rounds` rounds; with no `n_components` given, spaces of different sizes race. A fold
    holds out `validation_fraction` of the items; with 0 nothing is compared, and the user's
    embedder, or a ridge map, is fitted.
    """
    began = time.perf_counter()
    whole, is_many = problem, len(problem.statements) > MOST_COMPARED_ON
    if is_many and validation_fraction:
        problem = whole.sampled(MOST_COMPARED_ON)
    metrics: tuple[Metric, ...] = ("euclidean", "cosine")
    references = [FeaturesCandidate(metric) for metric in metrics]
    reference = max(references, key=lambda features: features_score(problem, features))
    race = Race(problem, reference, validation_fraction)
    maps = _ridge_maps(problem, reference, n_components, n_rounds or N_ROUNDS)
    race.seconds["regression"] += time.perf_counter() - began
    if validation_fraction:
        candidate, best_round = _winner(problem, race, maps, n_components, embedder)
    else:
        candidate, best_round = maps[0], maps[0].n_rounds
        if embedder is not None:
            candidate = EmbedderCandidate(embedder, maps[0])
    expected = race.expected(candidate, best_round) if race.folds else None
    candidate = with_rounds(candidate, best_round)
    if problem is not whole:
        candidate = _moved(candidate, whole)
    return _selection(race, candidate, expected, whole)


def _ridge_maps(
    problem: Problem, reference: FeaturesCandidate, n_components: int | None, n_rounds: int
) -> list[RidgeCandidate]:
    """Return the ridge maps that race: not those that start from clearly worse points."""
    spaces = feature_spaces(problem, n_components, reference.metric == "cosine")
    starts = [
        ranks_of(problem.statements, similarity_of(space.points, problem.metric))
        for space in spaces
    ]
    best = max(starts, key=lambda ranks: float(ranks[0].mean()))
    return [
        RidgeCandidate(space, problem.metric, multiplier, n_rounds)
        for space, start in zip(spaces, starts, strict=True)
        if best[0].mean() - start[0].mean() <= ERRORS_OF_EQUALS * gain_error(start, best)
        for multiplier in RIDGE_MULTIPLIERS
    ]


def _winner(
    problem: Problem,
    race: Race,
    maps: list[RidgeCandidate],
    n_components: int | None,
    embedder: Any | None,
) -> tuple[Candidate, int]:
    """Return what wins the race, and its rounds; if that is the features as given, say why."""
    race.run([*maps])
    if embedder is not None and race.folds:
        best, best_round = race.best()
        guide = next(one for one in maps if one is best)
        race.enter(EmbedderCandidate(embedder, replace(guide, n_rounds=best_round)))
    if race.folds and race.beats_features():
        return race.best()
    why = f"{len(problem.statements)} statement(s) are too few for learning and validation"
    if race.folds:
        why = (
            f"Nothing learnt orders the {race.n_validated} held-out statements clearly better "
            f"than the features do ({race.features_score:.4f})"
        )
    kept = f"so the embedding is the features as given, compared by {race.reference.metric}"
    if n_components is not None:
        kept += f"; n_components={n_components} does not apply"
    warn_user(f"{why}, {kept}.", RelationWarning)
    return race.reference, 0


def _moved(candidate: Candidate, problem: Problem) -> Candidate:
    """Return a candidate that starts from the features of another problem's items."""
    if isinstance(candidate, EmbedderCandidate):
        guide = _moved(candidate.guide, problem)
        assert isinstance(guide, RidgeCandidate)
        return replace(candidate, guide=guide)
    if not isinstance(candidate, RidgeCandidate):
        return candidate
    space = candidate.space
    (moved,) = feature_spaces(problem, space.n_directions, space.projection.unit)
    return replace(candidate, space=moved)


def _selection(
    race: Race, candidate: Candidate, expected: dict[str, float] | None, problem: Problem
) -> Selection:
    """Fit what won the race, and say how it came."""
    last = last_round(candidate, problem, race.seconds)
    guide = candidate.guide if isinstance(candidate, EmbedderCandidate) else candidate
    ridge_map = guide if isinstance(guide, RidgeCandidate) else None
    return Selection(
        candidate=candidate.name.partition(",")[0],
        metric=candidate.metric,
        n_directions=ridge_map.space.n_directions if ridge_map else 0,
        unit=ridge_map.space.projection.unit if ridge_map else False,
        ridge_multiplier=ridge_map.ridge_multiplier if ridge_map else 1.0,
        n_rounds=ridge_map.n_rounds if ridge_map else 0,
        expected=expected,
        reference=race.features_score if race.folds else None,
        n_statements=len(problem.statements),
        n_validated=race.n_validated,
        scores=race.scores,
        seconds=race.seconds,
        embedder=last.embedder(),
        targets=last.targets(),
        losses=last.losses,
        projection=ridge_map.space.projection if ridge_map else None,
    )
