"""`twofold fit`: from a user's files to a model for such rows, with its scores."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.warnings import gathered
from twofold.datasets import Records, read_tables
from twofold.estimators import MetricLearner
from twofold.evaluation import DecisionScores, pair_similarity
from twofold.matching import PairClassifier
from twofold.preparation import (
    ColumnPlan,
)
from twofold.regression import Network, take_rows, threads_beside
from twofold.relations import PairRelation, Relation, TripletRelation
from twofold.tasks._fit_checks import check_request, check_tables
from twofold.tasks._fit_input import (
    FitRequest,
    Input,
    prepare_input,
    with_separate_columns,
)
from twofold.tasks._held_out import (
    SHARE,
    HeldOut,
    features_similarity,
    given_validation,
    hold_out,
    pairs_beside,
)
from twofold.tasks._pair_model import embedding_scale, fit_pair_classifier
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._prepared_model import (
    Decision,
    PreparedModel,
)
from twofold.tasks._statements import read_pair_relation, read_relation

REFIT_SHARE = 0.05
"""A model is fitted again on everything where more than this was held out; below it, what a second
fit would add is not worth its time."""

MANY_IMAGES = 2_000
"""Of so many, no more are held out than a second fit is not worth: a hundred make 5,000 pairs."""

IMAGE_PASSES, IMAGE_EPOCHS = 300_000, (8, 30)
"""Images that a network sees in all, and the fewest and most epochs of it: minutes on a CPU."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to decide pairs, scored on pairs that were held out.

    Attributes
    ----------
    name : {"features as given", "embedding", "pair model"}
        What gives the similarity.
    scores : DecisionScores
        At the threshold that was chosen for it.
    """

    name: str
    scores: DecisionScores


@dataclass(frozen=True, slots=True)
class FitResult:
    """What fitting came to.

    Attributes
    ----------
    n_items : tuple of int
        Rows of each table.
    stated : dict of str to int
        Numbers of statements: "alike" and "not alike" pairs, "classes", "labels" or "triplets".
    columns : tuple of ColumnPlan
        How each column of a table was turned into features.
    n_features, n_components : int
        Numbers of features of a row, and of components of its point.
    metric : str
        How points are compared.
    candidates : tuple of Candidate
        Candidates and their scores on held-out pairs; empty if there were none.
    decision : Decision
        What decides, and its threshold.
    notes : tuple of str
        What the user should know: dropped columns, another encoding, what could not be scored.
    seconds : dict of str to float
        Of each phase; "learning" and "pair model" go on side by side.
    model : Path
        The folder that was written.
    """

    n_items: tuple[int, ...]
    stated: dict[str, int]
    columns: tuple[ColumnPlan, ...]
    n_features: int
    n_components: int
    metric: str
    candidates: tuple[Candidate, ...]
    decision: Decision
    notes: tuple[str, ...]
    seconds: dict[str, float]
    model: Path


def fit_files(request: FitRequest, progress: Progress | None = None) -> FitResult:
    """Fit a model on files and write it to a folder.

    Parameters
    ----------
    request : FitRequest
        Files, columns and settings.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    check_request(request)
    with gathered() as warned:
        result = _fit(request, Phases(progress))
    return replace(result, notes=(*result.notes, *warned))


def _fit(request: FitRequest, phases: Phases) -> FitResult:
    with phases.phase("reading"):
        left, right = read_tables(
            request.data,
            request.right,
            id_column=request.id_column,
            pairs=request.pairs,
            features=(*request.columns, *request.text),
        )
        request = with_separate_columns(request, left)
        check_tables(request, left, right)
        labels = request.labels or _folder_labels(request, left)
        if labels is None and request.pairs is None and request.triplets is None:
            raise ValueError(
                f"{request.data} has its images side by side: put those that are alike into one "
                "subfolder per class, or say what is alike with --pairs FILE or --triplets FILE."
            )
        relation = read_relation(
            left, right, labels=labels, pairs=request.pairs, triplets=request.triplets
        )
    with phases.phase("preparing"):
        given = prepare_input(request, left, right, labels)
        if given.readable is not None:
            relation = relation.take(given.readable)
    held = _hold_out(request, given, relation)
    learner, decision, candidates, classifier = _learn(request, given, relation, held, phases)
    if decision.by == "embedding" and decision.threshold is not None:
        learner.threshold_ = decision.threshold
    model = PreparedModel(
        learner,
        given.source,
        given.preparation,
        decision,
        request.image,
        classifier,
        embedding_scale(classifier, given, learner),
    )
    with phases.phase("saving"):
        model.save(request.out)
    return FitResult(
        n_items=tuple(table.n_items for table in given.tables),
        stated=_counted(relation),
        columns=getattr(given.preparation, "columns_", ()),
        n_features=int(np.prod(given.features.shape[1:])),
        n_components=learner.n_components_,
        metric=learner.metric_,
        candidates=candidates,
        decision=decision,
        notes=tuple(given.notes),
        seconds=phases.seconds,
        model=request.out,
    )


def _folder_labels(request: FitRequest, left: Records) -> str | None:
    """Return the column of classes of a folder of images, where nothing else is said."""
    is_silent = request.pairs is None and request.triplets is None
    if is_silent and left.path.is_dir() and left.table is not None:
        return "label" if "label" in left.table.column_names else None
    return None


def _hold_out(request: FitRequest, given: Input, relation: Relation) -> HeldOut | None:
    """Return pairs to score on; where none can be had, note why."""
    valid = None
    if request.valid is not None:
        valid = read_pair_relation(request.valid, given.left, given.right)
    if isinstance(relation, TripletRelation):
        if valid is not None:
            return pairs_beside(relation, valid)
        given.notes.append(
            "Triplets only compare, so there is no score and no threshold: use `twofold search`, "
            "or give some pairs with --valid, which choose one."
        )
        return None
    if valid is not None and isinstance(relation, PairRelation):
        return given_validation(relation, valid)
    is_dear = given.source == "images" and relation.n_items >= MANY_IMAGES
    held = hold_out(relation, request.seed, REFIT_SHARE if is_dear else SHARE)
    if held is None:
        given.notes.append(
            "There are too few statements to hold some of them out, so there is no score and no "
            "threshold. Add more, of both kinds."
        )
    return held


Learnt = tuple[MetricLearner, Decision, tuple[Candidate, ...], PairClassifier | None]


def _learn(
    request: FitRequest, given: Input, relation: Relation, held: HeldOut | None, phases: Phases
) -> Learnt:
    """Fit on what is not held out, score, and fit again on everything."""
    if held is None:
        with phases.phase("learning"):
            learner = _learner(request, given).fit(given.features, relation=relation)
        return learner, Decision("embedding", None), (), None
    classifier, thresholds = None, {}
    if given.source == "table" and isinstance(held.whole, PairRelation):
        learner, classifier = _fit_side_by_side(request, given, held, held.whole, phases)
    else:
        learner = _fit_known(request, given, held, phases)
    with phases.phase("scoring"):
        scored: dict[str, NDArray[Any]] = {
            "features as given": features_similarity(given.features, held),
            "embedding": _embedding_similarity(learner, given.features, held),
        }
    if classifier is not None:
        held_out = classifier.held_out_[held.places]
        if not np.isnan(held_out).any():  # else there were too few for folds
            scored["pair model"] = held_out
            thresholds["pair model"] = classifier.threshold_  # of all pairs, each held out once
    with phases.phase("scoring"):
        candidates = tuple(
            Candidate(
                name,
                held.score(values, thresholds.get(name, held.best_threshold(values)), request.seed),
            )
            for name, values in scored.items()
        )
    decision = _decide(candidates)
    given.notes += _doubts(candidates, decision)
    # Where the pair model decides, the embedding only has to find candidates.
    if decision.by == "embedding" and _is_worth_refitting(held):
        with phases.phase("learning"):
            learner = _learner(request, given).fit(given.features, relation=held.whole)
    return learner, decision, candidates, classifier if decision.by == "pair model" else None


def _fit_known(request: FitRequest, given: Input, held: HeldOut, phases: Phases) -> MetricLearner:
    """Fit the embedding to what is not held out."""
    with phases.phase("learning"):
        part = take_rows(given.features, held.rows)
        return _learner(request, given).fit(part, relation=held.known)


def _fit_side_by_side(
    request: FitRequest, given: Input, held: HeldOut, whole: PairRelation, phases: Phases
) -> tuple[MetricLearner, PairClassifier]:
    """Fit the embedding, and beside it the pair model, which waits for it once it needs it.

    What columns say needs no embedding, and neither of the two keeps every processor busy.
    """
    learnt: Future[MetricLearner] = Future()

    def fit_pairs() -> PairClassifier:
        with phases.phase("pair model"):
            return fit_pair_classifier(given, whole, learnt, request.seed)

    with ThreadPoolExecutor(1, thread_name_prefix="twofold") as beside:
        pair_model = beside.submit(copy_context().run, fit_pairs)
        try:
            with threads_beside(1):
                learnt.set_result(_fit_known(request, given, held, phases))
        except BaseException as error:  # nobody is to wait for what will not come
            learnt.set_exception(error)
            raise
        return learnt.result(), pair_model.result()


def _learner(request: FitRequest, given: Input) -> MetricLearner:
    """Return a learner for these features, not yet fitted."""
    embedder: Any = "auto"
    if given.source == "images":
        embedder = Network("conv", max_epochs=request.max_epochs or _image_epochs(given))
    elif request.max_epochs is not None:
        embedder = Network(max_epochs=request.max_epochs)
    return MetricLearner(
        "auto" if request.n_components is None else request.n_components,
        embedder=embedder,
        metric=request.metric,
        device=request.device,
        random_state=request.seed,
    )


def _image_epochs(given: Input) -> int:
    """Return fewer epochs for many images: on two cores a thousand take about a second."""
    return int(np.clip(IMAGE_PASSES // given.features.shape[0], *IMAGE_EPOCHS))


def _embedding_similarity(
    learner: MetricLearner, features: Any, held: HeldOut
) -> NDArray[np.float32]:
    rows, places = np.unique(held.pairs, return_inverse=True)
    points = learner.transform(take_rows(features, rows))
    left, right = places.reshape(-1, 2).T
    return pair_similarity(points, left, right, learner.metric_)


def _decide(candidates: tuple[Candidate, ...]) -> Decision:
    """Take the pair model where it ranks held-out pairs better than the embedding."""
    by_name = {candidate.name: candidate.scores for candidate in candidates}
    embedding, pair_model = by_name["embedding"], by_name.get("pair model")
    if pair_model is not None and pair_model.average_precision > embedding.average_precision:
        return Decision("pair model", pair_model.threshold)
    return Decision("embedding", embedding.threshold)


def _doubts(candidates: tuple[Candidate, ...], decision: Decision) -> list[str]:
    """Say what the scores of the one that decides leave to doubt."""
    by_name = {candidate.name: candidate.scores for candidate in candidates}
    ours, given = by_name[decision.by], by_name["features as given"]
    low, _ = ours.intervals.get("auroc", (ours.auroc, ours.auroc))
    if low <= 0.5:
        return [
            f"On held-out pairs the {decision.by} may be no better than guessing (AUROC "
            f"{ours.auroc:.3f}, where guessing has .5): do not trust its decisions. Are these the "
            "columns that tell what is alike?"
        ]
    if given.average_precision > ours.average_precision:
        return [
            f"On held-out pairs the features as given do better than the {decision.by}: more "
            "statements, or fewer columns that have nothing to do with them, may help."
        ]
    return []


def _is_worth_refitting(held: HeldOut) -> bool:
    if isinstance(held.whole, PairRelation):
        return len(held.pairs) > REFIT_SHARE * held.whole.n_pairs
    if isinstance(held.whole, TripletRelation):  # of which nothing was held out
        return False
    n_known = int(np.count_nonzero(held.whole.known))
    return n_known - len(held.rows) > round(REFIT_SHARE * n_known)


def _counted(relation: Relation) -> dict[str, int]:
    """Return what was stated, in numbers."""
    if isinstance(relation, TripletRelation):
        return {"triplets": len(relation.anchor)}
    if isinstance(relation, PairRelation):
        n_alike = int(np.count_nonzero(relation.similar > 0.5))
        return {"alike": n_alike, "not alike": relation.n_pairs - n_alike}
    kind = "classes" if relation.is_partition else "labels"
    return {kind: relation.n_labels, "items with one": int(np.count_nonzero(relation.known))}
