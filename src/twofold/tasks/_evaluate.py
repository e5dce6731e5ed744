"""`twofold evaluate`: how good a model is on rows and statements that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_curve

from twofold.datasets import Records, read_pairs, read_tables
from twofold.evaluation import (
    DecisionScores,
    RetrievalScores,
    decision_scores,
    pair_similarity,
    retrieval_scores,
)
from twofold.relations import LabelRelation
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._prepared_model import PreparedModel
from twofold.tasks._statements import read_labels

MOST_ITEMS = 1000
"""Items with labels of which all pairs are scored, half a million; of more, a sample."""
SHOWN_ERRORS = 20
SHOWN_FIELDS = 20
"""Of a row; nobody reads five hundred side by side."""
CURVE_POINTS = 200
MOST_DRAWN, N_RESAMPLES = 5 * 10**7, (100, 1000)
"""Pairs that a bootstrap draws in all, some seconds' work, and the fewest and most resamples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRequest:
    """The options of `twofold evaluate`; see the command's help."""

    model: Path
    data: Path
    right: Path | None = None
    pairs: Path | None = None
    labels: str | None = None
    id_column: str | None = None
    threshold: float | None = None
    device: str = "auto"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class WrongPair:
    """A pair that was decided wrongly, with the fields of both rows.

    Attributes
    ----------
    left_id, right_id : str
        Ids of the rows.
    left, right : dict of str to str
        Their fields.
    score : float
        What was compared with the threshold.
    reasons : dict of str to float
        What each column added to the log-odds of the pair model; empty without one.
    """

    left_id: str
    right_id: str
    left: dict[str, str]
    right: dict[str, str]
    score: float
    reasons: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What an evaluation came to.

    Attributes
    ----------
    model, data : str
        Names of the model and of what it was evaluated on.
    by : {"embedding", "pair model"}
        What gave the similarity.
    decisions : DecisionScores
        Scores of the decisions on pairs, with intervals.
    retrieval : RetrievalScores or None
        Scores of retrieval; None without labels.
    roc, precision_recall : ndarray of float64, shape (n_points, 2)
        Curves: false and true positive rate; recall and precision.
    false_alarms, misses : tuple of WrongPair
        Pairs wrongly called alike, the most confident first; and alike pairs that were missed.
    n_false_alarms, n_misses : int
        Numbers of these.
    seconds : dict of str to float
        Of each phase.
    """

    model: str
    data: str
    by: Literal["embedding", "pair model"]
    decisions: DecisionScores
    retrieval: RetrievalScores | None
    roc: NDArray[np.float64]
    precision_recall: NDArray[np.float64]
    false_alarms: tuple[WrongPair, ...]
    misses: tuple[WrongPair, ...]
    n_false_alarms: int
    n_misses: int
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """Pairs of rows of two tables, what is known of them and how similar they are."""

    pairs: NDArray[np.int64]
    similar: NDArray[np.bool_]
    scores: NDArray[np.float64]
    retrieval: RetrievalScores | None


def evaluate_files(request: EvaluateRequest, progress: Progress | None = None) -> Evaluation:
    """Score a model on rows of files with known answers.

    Parameters
    ----------
    request : EvaluateRequest
        The model, the files and what is alike.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    phases = Phases(progress)
    if (request.pairs is None) == (request.labels is None):
        raise ValueError("Say what is alike with either --pairs FILE or --labels COLUMN.")
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
        threshold = model.decision.threshold_or(request.threshold, request.model)
    with phases.phase("reading"):
        left, second = read_tables(
            request.data,
            request.right,
            id_column=request.id_column,
            pairs=request.pairs,
            features=model.column_names,
        )
        right = left if second is None else second
        for table in (left, right):
            model.check(table)
    with phases.phase("scoring"):
        scored = (_by_pairs if request.labels is None else _by_labels)(request, model, left, right)
        decisions = decision_scores(
            scored.similar,
            scored.scores,
            threshold,
            units=scored.pairs[:, 0],
            n_resamples=int(np.clip(MOST_DRAWN // len(scored.pairs), *N_RESAMPLES)),
            random_state=request.seed,
        )
    is_called = scored.scores >= threshold
    false_alarms = np.flatnonzero(is_called & ~scored.similar)
    misses = np.flatnonzero(~is_called & scored.similar)
    surest_first = false_alarms[np.argsort(-scored.scores[false_alarms], kind="stable")]
    farthest_first = misses[np.argsort(scored.scores[misses], kind="stable")]
    fpr, tpr, _ = roc_curve(scored.similar, scored.scores)
    precision, recall, _ = precision_recall_curve(scored.similar, scored.scores)
    return Evaluation(
        model=request.model.name,
        data=request.data.name,
        by=model.decision.by,
        decisions=decisions,
        retrieval=scored.retrieval,
        roc=_thinned(np.column_stack([fpr, tpr])),
        precision_recall=_thinned(np.column_stack([recall, precision])),
        false_alarms=_shown(model, left, right, scored, surest_first),
        misses=_shown(model, left, right, scored, farthest_first),
        n_false_alarms=false_alarms.size,
        n_misses=misses.size,
        seconds=phases.seconds,
    )


def _by_pairs(
    request: EvaluateRequest, model: PreparedModel, left: Records, right: Records
) -> _Scored:
    assert request.pairs is not None
    stated = read_pairs(request.pairs, left, None if right is left else right)
    similar = stated.similar > 0.5
    if similar.all() or not similar.any():
        raise ValueError(
            f"Scores need pairs of both kinds, but all {similar.size} of {request.pairs} are "
            f"{'alike' if similar.all() else 'not alike'}: add some of the other kind."
        )
    pairs = np.column_stack([stated.left, stated.right])
    return _Scored(pairs, similar, model.pair_scores(left, right, pairs), None)


def _by_labels(
    request: EvaluateRequest, model: PreparedModel, left: Records, right: Records
) -> _Scored:
    assert request.labels is not None
    if right is not left:
        raise ValueError("--labels is for one table: with --right, give pairs with --pairs.")
    relation = LabelRelation(read_labels(left, request.labels))
    rows = np.flatnonzero(relation.known)
    points = model.embed(left)
    retrieval = retrieval_scores(
        points[rows],
        relation.labels[rows],
        metric=model.learner.metric_,
        random_state=request.seed,
    )
    if rows.size > MOST_ITEMS:
        rows = np.sort(np.random.default_rng(request.seed).permutation(rows)[:MOST_ITEMS])
    one, other = np.triu_indices(rows.size, k=1)
    similar = relation.similarity(rows, rows)[one, other] > 0
    pairs = np.column_stack([rows[one], rows[other]])
    scores = pair_similarity(points, pairs[:, 0], pairs[:, 1], model.learner.metric_)
    return _Scored(pairs, similar, scores.astype(np.float64), retrieval)


def _shown(
    model: PreparedModel, left: Records, right: Records, scored: _Scored, rows: NDArray[np.int64]
) -> tuple[WrongPair, ...]:
    """Return the first of some wrong pairs with their rows' fields."""
    rows = rows[:SHOWN_ERRORS]
    pairs = scored.pairs[rows]
    told = model.explain(left, right, pairs) if rows.size else {}
    reasons = [{name: float(added[k]) for name, added in told.items()} for k in range(rows.size)]
    return tuple(
        WrongPair(
            str(left.ids[one]),
            str(right.ids[other]),
            _first_fields(left.fields(int(one))),
            _first_fields(right.fields(int(other))),
            float(scored.scores[row]),
            why,
        )
        for row, (one, other), why in zip(rows, pairs, reasons, strict=True)
    )


def _first_fields(fields: dict[str, str]) -> dict[str, str]:
    """Return the first fields of a row, and how many more there are."""
    if len(fields) <= SHOWN_FIELDS:
        return fields
    first = dict(list(fields.items())[:SHOWN_FIELDS])
    return first | {"…": f"{len(fields) - SHOWN_FIELDS:,} more"}


def _thinned(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most some hundred points of a curve, its ends among them."""
    if len(curve) <= CURVE_POINTS:
        return curve
    places = np.linspace(0, len(curve) - 1, CURVE_POINTS).round().astype(np.int64)
    return np.asarray(curve[np.unique(places)])
