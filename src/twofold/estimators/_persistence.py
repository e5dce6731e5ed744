"""A model as a folder: `model.json` beside its weights. Opening one runs nothing from it.

Networks keep their weights as safetensors, scikit-learn regressors as skops. The file of weights
is named with its digest in `model.json`, so that damage is found before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from twofold._core.devices import resolve_device
from twofold._core.files import new_folder
from twofold.regression import (
    NETWORKS,
    NetworkEmbedder,
    RegressorEmbedder,
    WithinLimits,
    build_scaled_network,
    is_map,
)

if TYPE_CHECKING:
    from twofold.estimators._embedding_learner import EmbeddingLearner

FORMAT = "twofold-model"
FORMAT_VERSION = 1
CARD = "model.json"
WEIGHTS = "weights.safetensors"
REGRESSOR = "embedder.skops"
OWN_TYPE = f"{WithinLimits.__module__}.{WithinLimits.__qualname__}"
PACKAGES = ("twofold", "numpy", "scikit-learn", "torch")
LEARNERS: dict[str, type[EmbeddingLearner]] = {}
"""Learners by name: what a folder may ask for."""


def save_model(learner: EmbeddingLearner, folder: str | os.PathLike[str]) -> Path:
    """Write a fitted learner to a folder, whole or not at all; return the folder."""
    with new_folder(folder, CARD) as place:
        embedder = learner.embedder_
        if isinstance(embedder, NetworkEmbedder):
            kept = _save_network(embedder, place)
        else:
            kept = _save_regressor(embedder, place)
        card = _card(learner) | {"file": kept.name, "sha256": _digest(kept)}
        text = json.dumps(card, indent=2, allow_nan=False) + "\n"
        (place / CARD).write_text(text, encoding="utf-8")
    return Path(folder)


def load(
    folder: str | os.PathLike[str],
    *,
    embedder: nn.Module | None = None,
    device: str = "auto",
    trusted: Sequence[str] = (),
) -> EmbeddingLearner:
    """Open a model that `save` wrote. Nothing from the folder is run.

    Parameters
    ----------
    folder : path
        Of the model.
    embedder : nn.Module, optional
        A network of the user's own kind, needed if the model was made with one: its weights are in
        the folder, its code is not. It is filled in place.
    device : {"auto", "cpu", "cuda", "cuda:N"}
        Where it is to run.
    trusted : sequence of str
        Types that a regressor in the folder may hold besides those that skops takes for harmless,
        for instance "sklearn.tree._tree.Tree" for a forest; the message that refuses the folder
        lists them.

    Returns
    -------
    MetricLearner, or whichever learner was saved
        With equal outputs. The training items' `targets_` are not part of a model.
    """
    place = Path(folder)
    card = _read_card(place)
    weights = place / card["file"]
    if not weights.is_file():
        raise FileNotFoundError(f"{place} has no {card['file']}: the model is not whole.")
    if _digest(weights) != card["sha256"]:
        raise ValueError(f"{weights} is damaged or was changed: its digest is not that of {CARD}.")
    learner = LEARNERS[card["learner"]](**card["parameters"])
    learner.device = device
    if card["file"] == WEIGHTS:
        learner.embedder_ = _load_network(card, weights, embedder, resolve_device(device))
        learner.embedder = embedder if card["network"] is None else card["network"]
        learner.input_shape_ = tuple(card["input_shape"])
    else:
        learner.embedder_ = RegressorEmbedder(*_load_regressor(weights, trusted))
        learner.embedder = learner.embedder_.regressor
    learner.metric_ = card["metric"]
    learner.dim_ = card["dim"]
    learner._mean = np.asarray(card["mean"], dtype=np.float32)
    learner._scale = card["scale"]
    if card["threshold"] is not None:
        learner.threshold_ = card["threshold"]
    if card["n_features_in"] is not None:
        learner.n_features_in_ = card["n_features_in"]
    if card["feature_names_in"] is not None:
        learner.feature_names_in_ = np.asarray(card["feature_names_in"], dtype=object)
    return learner


def _card(learner: EmbeddingLearner) -> dict[str, Any]:
    """Return all of a model but its weights, as JSON takes it."""
    names = getattr(learner, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "learner": type(learner).__name__,
        "parameters": _plain_parameters(learner),
        "network": getattr(learner.embedder_, "name", None),
        "metric": learner.metric_,
        "dim": learner.dim_,
        "threshold": getattr(learner, "threshold_", None),
        "input_shape": list(getattr(learner, "input_shape_", ())),
        "n_features_in": getattr(learner, "n_features_in_", None),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "mean": [float(number) for number in learner._mean],
        "scale": float(learner._scale),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _plain_parameters(learner: EmbeddingLearner) -> dict[str, Any]:
    """Return the parameters that are plain values; what is not is made anew or of no more use."""
    parameters = learner.get_params(deep=False)
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
        if name not in ("embedder", "checkpoint")
        and isinstance(value, bool | int | float | str | np.generic)
    }


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
    found = card.get("format_version")
    if not isinstance(found, int) or found > FORMAT_VERSION:
        raise ValueError(
            f"{place} has format version {found}, newer than version {FORMAT_VERSION}, the newest "
            "this Twofold reads: update Twofold."
        )
    missing = _NEEDED - card.keys()
    if missing:
        raise ValueError(f"{place / CARD} is damaged: it lacks {', '.join(sorted(missing))}.")
    if card["learner"] not in LEARNERS:
        raise ValueError(
            f"{place} holds a {card['learner']!r}, which this Twofold does not know; it knows "
            f"{', '.join(sorted(LEARNERS))}."
        )
    if card["file"] not in (WEIGHTS, REGRESSOR):
        raise ValueError(f"{place / CARD} is damaged: it names the file {card['file']!r}.")
    return card


_NEEDED = {
    "learner",
    "parameters",
    "network",
    "metric",
    "dim",
    "threshold",
    "input_shape",
    "n_features_in",
    "feature_names_in",
    "mean",
    "scale",
    "file",
    "sha256",
}


def _save_network(embedder: NetworkEmbedder, place: Path) -> Path:
    from safetensors.torch import save_file

    weights = {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in embedder.network.state_dict().items()
    }
    save_file(weights, place / WEIGHTS)
    return place / WEIGHTS


def _load_network(
    card: dict[str, Any], weights: Path, embedder: nn.Module | None, device: str
) -> NetworkEmbedder:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    name, shape = card["network"], tuple(card["input_shape"])
    if name is not None and name not in NETWORKS:
        raise ValueError(f"{weights.parent} needs the network {name!r}, which is not known here.")
    try:
        state = load_file(weights)
    except SafetensorError as error:
        raise ValueError(f"{weights} cannot be read: {error}.") from error
    if name is None and embedder is None and not is_map(state):
        raise ValueError(
            f"{weights.parent} was made with a network of your own, whose code is not in the "
            "folder: pass it, as load(folder, embedder=MyNetwork())."
        )
    body: Any = embedder if name is None else name
    network = build_scaled_network(body, shape, card["dim"], state)
    return NetworkEmbedder(network.to(torch.device(device)).eval(), shape, device, name)


def _save_regressor(embedder: RegressorEmbedder, place: Path) -> Path:
    from skops import io

    io.dump([embedder.regressor, embedder.path], place / REGRESSOR)
    return place / REGRESSOR


def _load_regressor(path: Path, trusted: Sequence[str]) -> list[Any]:
    """Return a regressor, and the linear path that it stands beside, or None."""
    from skops import io

    try:
        trusted = [*trusted, OWN_TYPE]
        unknown = set(io.get_untrusted_types(file=path)) - set(trusted)
        if unknown:
            raise ValueError(
                f"{path} holds types that are not trusted by themselves: "
                f"{', '.join(sorted(unknown))}. If they are yours, pass trusted=[...] with them."
            )
        found = io.load(path, trusted=trusted)
        return found if isinstance(found, list) else [found, None]  # as the first version wrote it
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
