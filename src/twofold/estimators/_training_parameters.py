"""The parameters of training that all learners have, checked, and what tells of its progress."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from twofold._core.checks import check_count, check_number
from twofold._core.devices import resolve_device
from twofold._core.files import check_place
from twofold._core.random import RandomState
from twofold.estimators._inputs import Relation
from twofold.regression import Epoch, TrainingConfig
from twofold.relations import LabelRelation

CLASS_DROPOUT, CLASS_WEIGHT_DECAY = 0.2, 0.03
DROPOUT, WEIGHT_DECAY = 0.5, 1.0
"""Of "mlp". A class is certain; what several labels or single statements say of an item is less so,
and easier to learn by heart, unless feedback chooses the best round."""
LOGGER = logging.getLogger("twofold")


class Trained(Protocol):
    """A learner with the parameters of training."""

    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float | Literal["auto"]
    dropout: float | Literal["auto"]
    embedder: Any
    validation_fraction: float
    device: str
    verbose: bool
    callback: Callable[[Epoch], Any] | None
    checkpoint: str | os.PathLike[str] | None
    random_state: RandomState


def training_config(
    learner: Trained,
    relation: Relation,
    epoch_size: int | None = None,
    by_feedback: bool = False,
) -> TrainingConfig:
    """Return a learner's parameters of training, checked, for what it is to learn from."""
    is_mild = by_feedback or _is_classes(relation)
    return TrainingConfig(
        max_epochs=check_count("max_epochs", learner.max_epochs),
        batch_size=check_count("batch_size", learner.batch_size),
        learning_rate=check_number("learning_rate", learner.learning_rate, 0, strict=True),
        weight_decay=_weight_decay(learner, is_mild),
        dropout=_dropout(learner, is_mild),
        epoch_size=None if epoch_size is None else check_count("epoch_size", epoch_size),
        may_record=isinstance(learner.embedder, str),  # a user's own may decide as it goes
        device=resolve_device(learner.device),
    )


def _weight_decay(learner: Trained, is_mild: bool) -> float:
    if learner.weight_decay == "auto":
        if learner.embedder != "mlp":
            return 0.0
        return CLASS_WEIGHT_DECAY if is_mild else WEIGHT_DECAY
    return check_number("weight_decay", learner.weight_decay, 0)


def _dropout(learner: Trained, is_mild: bool) -> float:
    if learner.dropout == "auto":
        return CLASS_DROPOUT if is_mild else DROPOUT
    rate = check_number("dropout", learner.dropout, 0)
    if rate >= 1:
        raise ValueError(f"dropout must be below 1, got {rate:g}.")
    return rate


def _is_classes(relation: Relation) -> bool:
    return isinstance(relation, LabelRelation) and relation.is_partition


def check_validation_fraction(value: float) -> float:
    """Return a share in [0, 1)."""
    share = check_number("validation_fraction", value, 0)
    if share >= 1:
        raise ValueError(f"validation_fraction must be below 1, got {share:g}.")
    return share


def checkpoint_path(learner: Trained) -> Path | None:
    """Return the file that a training is kept in, if one is named."""
    if learner.checkpoint is None:
        return None
    if not isinstance(learner.random_state, int | np.integer):
        raise ValueError(
            "checkpoint needs random_state to be a number, got "
            f"{learner.random_state!r}: only what is drawn the same again can be gone on with."
        )
    return check_place(learner.checkpoint)


def progress_callback(
    learner: Trained, embed: Callable[[nn.Module, Any], NDArray[np.float32]]
) -> Callable[[Epoch], Any]:
    """Return what is called after every epoch: a line if verbose, then the user's callback.

    `embed` says how features become points by a network that is still being trained.
    """
    if learner.verbose:
        _make_heard()

    def report(epoch: Epoch) -> Any:
        if learner.verbose:
            found = epoch.validation_loss
            validation = "" if found is None else f", validation {found:.4f}"
            LOGGER.info(
                "epoch %d/%d: loss %.4f%s, %.1f s",
                epoch.number,
                epoch.n_epochs,
                epoch.loss,
                validation,
                epoch.seconds,
            )
        if learner.callback is None:
            return None
        return learner.callback(replace(epoch, embed=partial(embed, epoch.network)))

    return report


def _make_heard() -> None:
    """Have the library's lines shown where the user has set up no logging."""
    if not LOGGER.hasHandlers():
        LOGGER.addHandler(logging.StreamHandler())
    if LOGGER.getEffectiveLevel() > logging.INFO:
        LOGGER.setLevel(logging.INFO)
