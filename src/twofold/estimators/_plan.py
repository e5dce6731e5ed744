"""Every "auto" of a `MetricLearner`, resolved once for the relation it is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import clone

from twofold._core.checks import check_choice, check_count, check_share
from twofold._core.devices import resolve_device
from twofold.evaluation import Metric
from twofold.feedback import MOST_FOLDS
from twofold.regression import (
    MILD,
    STRONG,
    Network,
    PlannedRegression,
    TrainingConfig,
    as_network,
    is_network,
    resolve_network,
)
from twofold.relations import (
    LabelRelation,
    PairRelation,
    Relation,
    TooFewPairsError,
    TripletRelation,
    is_classes,
    is_transitive,
)
from twofold.targets import PairLoss, Targets, gauge_targets, resolve_grade

Goal = Literal["auto", "seen", "unseen", "none"]
MetricGoal = Literal["both", "unseen", "output"]
N_COMPONENTS, MOST_COMPONENTS = 16, 256
GAUGING_SEED = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is fitted, and how: the learner's parameters with the value of every "auto".

    `n_components` is None if validation selects it, `n_rounds` is None for the usual number of
    rounds, and `embedder` is None if feedback only learns ridge maps. `loss` and `targets` belong
    to phase 1, `metric` is how points are compared, `regression` how a network learns targets, and
    `validation_fraction` the share of the items that is held out. `metric_step` says for which
    kinds layers are joined ("output" for none), and `layers` which ones may be (None for all).
    """

    n_components: int | None
    loss: Literal["contrastive", "dot"] | PairLoss
    metric: Metric
    targets: Targets
    uses_feedback: bool
    n_rounds: int | None
    embedder: TrainingConfig | Any | None
    regression: PlannedRegression
    validation_fraction: float
    device: str
    metric_step: MetricGoal
    layers: tuple[str, ...] | None


def resolve_plan(
    relation: Relation,
    targets: Targets,
    *,
    n_components: int | Literal["auto"],
    embedder: Any,
    feedback: int | Literal["auto"],
    validation_fraction: float | Literal["auto"],
    device: str,
    metric: Goal,
    item_shape: tuple[int, ...] = (),
) -> Plan:
    """Return the plan for a relation over items; see `MetricLearner` for the parameters."""
    uses_feedback = _uses_feedback(feedback, targets, relation)
    loss = targets.loss
    if loss == "auto":
        loss = "contrastive" if uses_feedback else "dot"
    is_dot = loss == "dot" if isinstance(loss, str) else not loss.uses_distance
    if validation_fraction == "auto":
        share = 1 / MOST_FOLDS if uses_feedback else 0.0
    else:
        share = check_share("validation_fraction", validation_fraction)
    place = resolve_device(device)
    return Plan(
        n_components=_n_components(n_components, relation, loss, uses_feedback),
        loss=loss,
        metric="dot" if is_dot and not isinstance(relation, TripletRelation) else "euclidean",
        targets=clone(targets).set_params(loss=loss, grade=resolve_grade(targets)),
        uses_feedback=uses_feedback,
        n_rounds=None if feedback == "auto" else int(feedback),
        embedder=_embedder(embedder, relation, uses_feedback, place, item_shape),
        regression=_regression(embedder, relation, targets, uses_feedback),
        validation_fraction=share,
        device=place,
        metric_step=_metric_step(metric, relation, loss, targets, uses_feedback),
        layers=_layers(embedder),
    )


def _metric_step(
    metric: Goal, relation: Relation, loss: str | PairLoss, targets: Targets, uses_feedback: bool
) -> MetricGoal:
    """Return for which kinds layers are joined.

    By default for those of classes, unless the paper's way is asked for: how near an item is to a
    class says how far its output is to be trusted, and pairs or several labels have no such thing.
    """
    check_choice("metric", metric, get_args(Goal))
    if metric == "unseen":
        if isinstance(relation, TripletRelation):
            raise ValueError(
                "metric='unseen' holds out whole kinds, but triplets do not say which items are "
                "of the same kind. Give classes, labels or pairs, or set metric='auto'."
            )
        return "unseen"
    is_whole = is_classes(relation) and loss == "dot" and targets.pairs == "all"
    return "both" if metric == "auto" and is_whole and not uses_feedback else "output"


def _layers(embedder: Any) -> tuple[str, ...] | None:
    layers = as_network(embedder).layers if is_network(embedder) else "auto"
    return None if isinstance(layers, str) and layers == "auto" else tuple(layers)


def check_feedback(feedback: object) -> None:
    """Refuse what is neither "auto" nor a number of rounds."""
    if isinstance(feedback, str) and feedback == "auto":
        return
    if isinstance(feedback, bool) or not isinstance(feedback, int | np.integer) or feedback < 0:
        raise ValueError(
            f"feedback must be 'auto' or a number of rounds, 0 for none, got {feedback!r}."
        )


def _uses_feedback(feedback: int | Literal["auto"], targets: Targets, relation: Relation) -> bool:
    """Whether the targets are to follow the features.

    They need not where statements decide a relation that is not transitive: there inner products of
    targets, which know nothing of the features, say more (scene with 20 pairs per item: AUROC .886
    against .828). Of a transitive one they say less (digits with 16: .9985 against .9992).
    """
    is_own = not isinstance(targets.loss, str)
    if feedback != "auto":
        if feedback > 0 and is_own:
            raise ValueError(
                f"feedback={feedback} scales the built-in losses to the features, and cannot scale "
                f"{type(targets.loss).__name__}. Set feedback=0 or 'auto'."
            )
        return feedback > 0
    if isinstance(relation, LabelRelation) or targets.init == "random" or is_own:
        return False
    if isinstance(relation, TripletRelation) or is_transitive(relation):
        return True
    try:
        return not gauge_targets(relation, random_state=GAUGING_SEED).decides
    except TooFewPairsError:
        return True


def _n_components(
    n_components: int | Literal["auto"],
    relation: Relation,
    loss: str | PairLoss,
    uses_feedback: bool,
) -> int | None:
    if n_components != "auto":
        return check_count("n_components", n_components)
    if uses_feedback:
        return None
    if loss == "dot" and isinstance(relation, LabelRelation) and relation.is_partition:
        return min(max(N_COMPONENTS, relation.n_occurring), MOST_COMPONENTS)
    return N_COMPONENTS


def _embedder(
    embedder: Any,
    relation: Relation,
    uses_feedback: bool,
    device: str,
    item_shape: tuple[int, ...],
) -> TrainingConfig | Any | None:
    if not is_network(embedder):
        return embedder
    if uses_feedback and isinstance(embedder, str) and embedder == "auto":
        return None
    mild = uses_feedback or is_classes(relation)
    regularisation = MILD if mild else STRONG
    return resolve_network(
        as_network(embedder),
        regularisation,
        device,
        item_shape=item_shape,
        n_items=relation.n_items,
    )


def _regression(
    embedder: Any, relation: Relation, targets: Targets, uses_feedback: bool
) -> PlannedRegression:
    """Return how targets are to be learnt."""
    network = as_network(embedder) if is_network(embedder) else Network(loss="squared")
    if network.loss == "likelihood":
        if uses_feedback:
            raise ValueError(
                "loss='likelihood' needs targets that several items share, but with feedback "
                "each item has its own. Set loss='auto', or feedback=0."
            )
        return "likelihood"
    if network.loss == "squared" or isinstance(relation, PairRelation | TripletRelation):
        return "squared"
    is_shared = is_classes(relation) and targets.pairs == "all"
    return "likelihood if shared" if is_shared else "squared"
