"""How a `MetricLearner` goes on from where it is when statements come later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from twofold._core.random import as_generator
from twofold.estimators._fitting import keep_feedback, relearn_by_feedback
from twofold.estimators._inputs import check_features, refuse_one_sided
from twofold.estimators._later_statements import (
    Stated,
    append_rows,
    check_same_kind,
    merge_statements,
)
from twofold.estimators._training_parameters import progress_callback, training_config
from twofold.regression import NetworkEmbedder, fit_embedder, n_rows, refresh_embedder
from twofold.relations import LabelRelation
from twofold.targets import solve_targets

if TYPE_CHECKING:
    from twofold.estimators._metric_learner import MetricLearner

REFRESHING_SHARE, REFRESHING_RATE = 0.1, 0.3
"""Of the epochs and the learning rate, when statements come later and the targets do not follow
what is learnt."""


def remembered(learner: MetricLearner, action: str) -> tuple[Any, Stated]:
    """Return what was learnt from: features and statements; `action` is who asks for them."""
    X, known = getattr(learner, "_learnt_from", (None, None))
    if known is None:
        raise ValueError(
            f"This model was opened from a file, which holds no training items: {action} goes on "
            "from a fit in this process."
        )
    if isinstance(known, LabelRelation):
        raise TypeError(
            f"{action} goes on from statements; this model was fitted to labels, which state all "
            "pairs at once. For more labels call fit with all of them."
        )
    return X, known


def update_learner(
    learner: MetricLearner, relation: Stated | None, X_new: Any, withdrawn: ArrayLike | None
) -> None:
    """Take in what arrives later: see `MetricLearner.update`."""
    X, known = remembered(learner, "update")
    if relation is None and withdrawn is None:
        raise ValueError("There is nothing to update: pass relation, withdrawn, or both.")
    if X_new is not None:
        check_same_kind(X, X_new)
        X = append_rows(X, check_features(learner, X_new, reset=False))
    known = merge_statements(known, relation, withdrawn, n_rows(X))
    refuse_one_sided(known)
    rng = as_generator(learner.random_state)
    before = learner._feedback
    learner._forget_threshold()
    if before is None:
        _refresh_once(learner, X, known, rng)
    else:
        told = progress_callback(learner, learner._embed_with)
        keep_feedback(learner, relearn_by_feedback(learner, before, X, known, rng, told))
    learner._learnt_from = (X, known)


def _refresh_once(
    learner: MetricLearner, X: Any, relation: Stated, rng: np.random.Generator
) -> None:
    """Solve the targets from where they are, and go on with the regression to them."""
    config = training_config(learner, relation)
    first = learner.transform(X)
    was_linked = np.flatnonzero(np.isfinite(learner.targets_[:, 0]))
    first[was_linked] = learner.targets_[was_linked]
    solution = solve_targets(
        relation,
        learner.dim_,
        loss=learner._pair_loss(),
        margin=learner.margin,
        init=first,
        device=config.device,
        random_state=rng,
    )
    linked = relation.linked
    targets = (solution.points[linked] - learner._mean) / np.float32(learner._scale)
    n_epochs = max(1, round(REFRESHING_SHARE * config.max_epochs))
    short = replace(
        config, max_epochs=n_epochs, learning_rate=REFRESHING_RATE * config.learning_rate
    )
    common: dict[str, Any] = {
        "items": np.flatnonzero(linked),
        "flips": learner.flips,
        "callback": progress_callback(learner, learner._embed_with),
    }
    if isinstance(learner.embedder_, NetworkEmbedder):
        fitted = refresh_embedder(learner.embedder_, X, targets, short, rng, **common)
    else:
        fitted = fit_embedder(learner.embedder, X, targets, config, rng, **common)
    learner.embedder_ = fitted.embedder
    learner.targets_ = np.where(linked[:, None], solution.points, np.float32(np.nan))
    learner.timing_ = {"targets": solution.seconds, "regression": fitted.seconds}
