"""A model as a folder: `model.json` beside its embedder. Opening one runs nothing from it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from torch import nn

from twofold._core.devices import resolve_device
from twofold._core.files import new_folder
from twofold._core.model_card import (
    CARD,
    FORMAT,
    FORMAT_VERSION,
    damage_said,
    decoded_parameters,
    read_card,
)
from twofold._core.versions import package_versions
from twofold.estimators._training_data import TrainingData
from twofold.evaluation import Metric
from twofold.metric import MetricStep
from twofold.regression import Augment, Embedder, Network, load_embedder, save_embedder
from twofold.targets import Targets

PACKAGES = ("twofold", "numpy", "scikit-learn", "torch")
NESTED: dict[str, type[BaseEstimator]] = {
    "Augment": Augment,
    "Network": Network,
    "Targets": Targets,
}
"""Parameters that have parameters of their own."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What JSON takes of a fitted learner, beside its parameters."""

    metric: Metric
    n_components: int
    threshold: float | None
    input_shape: list[int]
    n_features_in: int | None
    feature_names_in: list[str] | None
    selection: dict[str, Any] | None = None


FITTED = [field.name for field in fields(Fitted)]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is saved of a fitted learner, by the name of its class."""

    learner: str
    parameters: dict[str, Any]
    embedder: Embedder
    fitted: Fitted
    data: TrainingData | None = None
    metric_step: MetricStep | None = None


def save_model(model: Model, folder: str | os.PathLike[str]) -> Path:
    """Write a model to a folder, whole or not at all; return the folder."""
    with new_folder(folder, CARD) as place:
        if model.data is not None:
            model.data.save(place)
        card = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "learner": model.learner,
            "parameters": model.parameters,
            **asdict(model.fitted),
            "embedder": save_embedder(model.embedder, place),
            "metric_step": None if model.metric_step is None else model.metric_step.save(place),
            "has_data": model.data is not None,
            "versions": package_versions(PACKAGES),
        }
        text = json.dumps(card, indent=2, allow_nan=False) + "\n"
        (place / CARD).write_text(text, encoding="utf-8")
    return Path(folder)


def open_model(
    folder: str | os.PathLike[str],
    *,
    architecture: nn.Module | None,
    device: str,
    trusted: Sequence[str],
) -> Model:
    """Read a model that `save_model` wrote; see `load`."""
    place = Path(folder)
    card = read_card(place)
    saved = card.get("metric_step")
    with damage_said(place, "its metric"):
        step = None if saved is None else MetricStep.open(saved, place)
    embedder = load_embedder(
        card["embedder"],
        place,
        dim=card["n_components"] if step is None else step.n_outputs,
        architecture=architecture,
        device=resolve_device(device),
        trusted=trusted,
    )
    return Model(
        learner=card["learner"],
        parameters=decoded_parameters(card["parameters"], NESTED, place / CARD),
        embedder=embedder,
        fitted=Fitted(**{name: card[name] for name in FITTED}),
        data=TrainingData.open(place, card["n_features_in"]) if card["has_data"] else None,
        metric_step=step,
    )
