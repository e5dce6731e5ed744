"""A model as a folder: `model.json` beside its embedder. Opening one runs nothing from it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from torch import nn

from twofold._core.devices import resolve_device
from twofold._core.files import new_folder
from twofold._core.versions import package_versions
from twofold.estimators._training_data import TrainingData
from twofold.evaluation import Metric
from twofold.metric import MetricStep
from twofold.regression import Embedder, Network, load_embedder, save_embedder
from twofold.targets import Targets

FORMAT, FORMAT_VERSION, OLDEST_VERSION = "twofold-model", 3, 2
CARD = "model.json"
PACKAGES = ("twofold", "numpy", "scikit-learn", "torch")
NESTED: dict[str, type[BaseEstimator]] = {"Network": Network, "Targets": Targets}
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
    card = _read_card(place)
    saved = card.get("metric_step")
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
        parameters=decoded_parameters(card["parameters"]),
        embedder=embedder,
        fitted=Fitted(**{name: card[name] for name in FITTED}),
        data=TrainingData.open(place) if card["has_data"] else None,
        metric_step=step,
    )


def plain_parameters(learner: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that JSON takes, nested ones by the name of their class.

    What it does not take is made anew when a model is opened, or is of no more use.
    """
    plain: dict[str, Any] = {}
    for name, value in learner.get_params(deep=False).items():
        if type(value).__name__ in NESTED:
            plain[name] = {type(value).__name__: plain_parameters(value)}
        elif isinstance(value, np.generic):
            plain[name] = value.item()
        elif isinstance(value, bool | int | float | str) and name != "checkpoint":
            plain[name] = value
    return plain


def decoded_parameters(plain: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as `plain_parameters` was given them."""
    decoded = dict(plain)
    for name, value in plain.items():
        if isinstance(value, dict):
            ((kind, parameters),) = value.items()
            decoded[name] = NESTED[kind](**decoded_parameters(parameters))
    return decoded


def _read_card(place: Path) -> dict[str, Any]:
    """Read `model.json`, or say why the folder is no model that can be opened."""
    if not place.is_dir():
        raise FileNotFoundError(f"There is no model folder {place}.")
    if not (place / CARD).is_file():
        raise FileNotFoundError(f"{place} is no Twofold model: it has no {CARD}.")
    try:
        card = json.loads((place / CARD).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{place / CARD} is damaged: {error}.") from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{place / CARD} is not a Twofold model's: it does not say {FORMAT!r}.")
    written = card.get("format_version")
    if not isinstance(written, int) or written > FORMAT_VERSION:
        raise ValueError(
            f"{place} has format version {written}, newer than version {FORMAT_VERSION}, the "
            "newest this Twofold reads: update Twofold."
        )
    if written < OLDEST_VERSION:
        raise ValueError(
            f"{place} has format version {written}, of an older Twofold; this one reads version "
            f"{OLDEST_VERSION} and later: fit and save the model again."
        )
    missing = {"learner", "parameters", "embedder", "has_data", *FITTED} - card.keys()
    if missing:
        raise ValueError(f"{place / CARD} is damaged: it lacks {', '.join(sorted(missing))}.")
    return card
