"""How a `MetricLearner` is fitted: targets once and regression to them, or both by turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count, check_number
from twofold.estimators._choice import HELD_OUT, Feedback
from twofold.estimators._feedback import learn_by_feedback, refresh_by_feedback
from twofold.estimators._inputs import Relation
from twofold.estimators._later_statements import Stated
from twofold.estimators._training_parameters import (
    check_validation_fraction,
    checkpoint_path,
    progress_callback,
    training_config,
)
from twofold.regression import Epoch, Regression, fit_embedder, is_network
from twofold.relations import LabelRelation
from twofold.targets import standardise_targets

if TYPE_CHECKING:
    from twofold.estimators._metric_learner import MetricLearner


def fit_once(learner: MetricLearner, X: Any, relation: Relation, rng: np.random.Generator) -> None:
    """Solve the targets, then regress to them."""
    learner._feedback = None
    config = training_config(learner, relation)
    learner.dim_ = learner._choose_dim(relation)
    learner.metric_ = learner._metric(relation)
    solution, linked = learner._place(relation, learner.dim_, config.device, rng)
    targets, learner._mean, learner._scale = standardise_targets(solution.points[linked])
    fitted = fit_embedder(
        learner.embedder,
        X,
        targets,
        config,
        rng,
        items=np.flatnonzero(linked),
        regression=_regression(learner, relation, targets),
        validation_fraction=check_validation_fraction(learner.validation_fraction),
        flips=learner.flips,
        callback=progress_callback(learner, learner._embed_with),
        checkpoint=checkpoint_path(learner),
    )
    learner.embedder_ = fitted.embedder
    learner.targets_ = np.where(linked[:, None], solution.points, np.float32(np.nan))
    learner.timing_ = {"targets": solution.seconds, "regression": fitted.seconds}
    learner.history_ = {"targets": solution.history.tolist()}
    if fitted.history is not None:
        learner.history_ |= {
            "regression": fitted.history.loss,
            "validation": fitted.history.validation_loss,
            "best_epoch": fitted.history.best_epoch,
        }


def fit_by_feedback(
    learner: MetricLearner, X: Any, relation: Relation, rng: np.random.Generator
) -> None:
    """Have the targets follow what is learnt, by turns."""
    _refuse_with_feedback(learner)
    if isinstance(relation, LabelRelation):
        relation = relation.sample_pairs(learner.n_similar, learner.n_dissimilar, random_state=rng)
    config = training_config(learner, relation, by_feedback=True)
    learner.metric_ = learner._metric(relation, by_feedback=True)
    learner._mean, learner._scale = np.zeros(1, dtype=np.float32), 1.0  # for callbacks
    found = learn_by_feedback(
        learner.embedder,
        X,
        relation,
        None if learner.dim == "auto" else check_count("dim", learner.dim),
        config,
        rng,
        loss=learner._pair_loss(by_feedback=True),
        margin=check_number("margin", learner.margin, 0, strict=True),
        n_rounds=None if learner.feedback == "auto" else learner.feedback,
        held_out=check_validation_fraction(learner.validation_fraction) or HELD_OUT,
        flips=learner.flips,
        callback=progress_callback(learner, learner._embed_with),
    )
    keep_feedback(learner, found)


def relearn_by_feedback(
    learner: MetricLearner,
    before: Feedback,
    X: Any,
    relation: Stated,
    rng: np.random.Generator,
    callback: Callable[[Epoch], Any] | None = None,
) -> Feedback:
    """Return what is learnt the way that was chosen before; the learner stays as it is."""
    return refresh_by_feedback(
        before,
        learner.embedder,
        X,
        relation,
        training_config(learner, relation, by_feedback=True),
        rng,
        loss=learner._pair_loss(by_feedback=True),
        margin=check_number("margin", learner.margin, 0, strict=True),
        flips=learner.flips,
        callback=callback,
    )


def keep_feedback(learner: MetricLearner, found: Feedback) -> None:
    """Make what was learnt the learner's own."""
    learner._feedback = found
    learner.dim_ = found.targets.shape[1]
    learner._mean, learner._scale = np.zeros(learner.dim_, dtype=np.float32), 1.0
    learner.embedder_ = found.learnt.embedder
    learner.targets_ = found.targets
    learner.timing_ = found.seconds
    learner.history_ = {
        "regression": found.learnt.losses,
        "feedback": {
            "way": found.chosen.way,
            "round": found.chosen.n_rounds,
            "judged": found.judged,
        },
    }


def _regression(
    learner: MetricLearner, relation: Relation, targets: NDArray[np.float32]
) -> Regression:
    """Return how the targets are learnt, if they can be learnt that way."""
    if learner.regression == "squared":
        return "squared"
    is_classes = isinstance(relation, LabelRelation) and relation.is_partition
    if learner.regression == "auto" and not (
        is_classes and learner.pairs == "all" and is_network(learner.embedder)
    ):
        return "squared"
    if not is_network(learner.embedder):
        raise TypeError(
            "regression='likelihood' trains a network; "
            f"{type(learner.embedder).__name__} has its own loss: set regression='squared'."
        )
    n_values = len(np.unique(targets, axis=0))
    if n_values <= len(targets) / 2:
        return "likelihood"
    if learner.regression == "auto":  # fewer dimensions than classes: each item has its own
        return "squared"
    raise ValueError(
        f"regression='likelihood' needs targets that items share, but {len(targets)} items "
        f"have {n_values} different ones: set regression='squared'."
    )


def _refuse_with_feedback(learner: MetricLearner) -> None:
    if learner.checkpoint is not None:
        raise ValueError(
            "checkpoint keeps a training whose targets stay where they are; with feedback they "
            "move. Leave checkpoint out, or set feedback=0."
        )
    if learner.regression == "likelihood":
        raise ValueError(
            "regression='likelihood' needs targets that items share; with feedback each has "
            "its own. Set regression='auto', or feedback=0."
        )
