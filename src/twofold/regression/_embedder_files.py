"""Embedders on disk: networks and maps as safetensors, scikit-learn regressors as skops.

Reading one runs nothing from the file. A description names the file with its digest, so that
damage is found before anything is used.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from twofold.regression._bit_classifiers import BitClassifiers
from twofold.regression._classifier_files import (
    BOOSTERS,
    CLASSIFIERS,
    load_classifiers,
    save_classifiers,
)
from twofold.regression._network_embedder import NetworkEmbedder, OutputScale
from twofold.regression._networks import NETWORKS
from twofold.regression._preparation import network_kind, rebuild_network
from twofold.regression._regressor import RegressorEmbedder
from twofold.regression._tensor_files import check_other_tensors, read_tensors, write_tensors

WEIGHTS, REGRESSOR = "weights.safetensors", "embedder.skops"
Embedder = NetworkEmbedder | RegressorEmbedder
SKOPS_ERRORS = (
    zipfile.BadZipFile, zlib.error, ValueError, TypeError, LookupError, AttributeError, ImportError,
    OSError, EOFError, RuntimeError, NotImplementedError,
)  # fmt: skip
"""What skops, and the classes it fills, say of a file that is not theirs."""


def save_embedder(embedder: Embedder, folder: Path) -> dict[str, Any]:
    """Write an embedder into a folder; return its description, as JSON takes it."""
    if isinstance(embedder, NetworkEmbedder):
        file = folder / WEIGHTS
        write_tensors(file, embedder.network.state_dict())
        kind, name = str(network_kind(embedder.network)), embedder.name
        shape = list(embedder.input_shape)
    elif isinstance(embedder, BitClassifiers):
        file = save_classifiers(embedder, folder)
        kind, name, shape = "classifiers", None, []
    else:
        from skops import io

        file = folder / REGRESSOR
        io.dump(embedder.regressor, file)
        kind, name, shape = "regressor", None, []
    scale = embedder.output_scale
    return {
        "kind": kind,
        "network": name,
        "input_shape": shape,
        "mean": None if scale is None else scale.mean.tolist(),
        "scale": None if scale is None else float(scale.scale),
        "n_views": getattr(embedder, "n_views", 1),
        "file": file.name,
        "sha256": _digest(file),
    }


def load_embedder(
    description: dict[str, Any],
    folder: Path,
    *,
    dim: int,
    architecture: nn.Module | None,
    device: str,
    trusted: Sequence[str],
) -> Embedder:
    """Read an embedder that `save_embedder` wrote.

    Parameters
    ----------
    description : dict
        What `save_embedder` returned.
    folder : Path
        Where it was written.
    dim : int
        Outputs.
    architecture : nn.Module or None
        The user's own network, if it is one.
    device : str
        Where it is to lie.
    trusted : sequence of str
        Types that a regressor may hold besides those that skops takes for harmless.
    """
    missing = {"kind", "network", "input_shape", "mean", "scale", "file", "sha256"} - {*description}
    if missing:
        raise ValueError(f"{folder} is damaged: its embedder lacks {', '.join(sorted(missing))}.")
    if description["file"] not in (WEIGHTS, REGRESSOR, CLASSIFIERS, BOOSTERS):
        raise ValueError(f"{folder} is damaged: it names the file {description['file']!r}.")
    check_other_tensors(folder, WEIGHTS)
    file = folder / description["file"]
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no {file.name}: the model is incomplete.")
    if _digest(file) != description["sha256"]:
        raise ValueError(f"{file} is damaged or was changed: its digest does not match.")
    scale = None
    if description["mean"] is not None:
        mean = np.asarray(description["mean"], dtype=np.float32)
        scale = OutputScale(mean, float(description["scale"]))
    embedder: Embedder
    if file.name == REGRESSOR:
        embedder = RegressorEmbedder(_load_regressor(file, trusted), scale)
    elif file.name in (CLASSIFIERS, BOOSTERS):
        embedder = load_classifiers(file, dim, lambda opened: _load_regressor(opened, trusted))
    else:
        embedder = _load_network(description, file, dim, architecture, device, scale)
    if scale is not None and scale.mean.shape != (dim,):
        raise ValueError(
            f"{folder} is damaged: its mean has {scale.mean.size} of {dim} components."
        )
    return embedder


def _load_network(
    description: dict[str, Any],
    file: Path,
    dim: int,
    architecture: nn.Module | None,
    device: str,
    scale: OutputScale | None,
) -> NetworkEmbedder:
    name, kind = description["network"], description["kind"]
    shape = tuple(description["input_shape"])
    if name is not None and name not in NETWORKS:
        raise ValueError(
            f"{file.parent} needs the network {name!r}, which this version does not know."
        )
    state = read_tensors(file)
    if name is None and architecture is None and kind in ("network", "feature skip"):
        raise ValueError(
            f"{file.parent} was made with a network of your own, whose code is not in the folder: "
            "pass it, as load(folder, embedder=MyNetwork())."
        )
    try:
        network = rebuild_network(kind, name or architecture, shape, dim, state)
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from error
    n_views = description.get("n_views", 1)
    network = network.to(torch.device(device)).eval()
    return NetworkEmbedder(network, shape, device, name, scale, n_views)


def check_embedding(
    embed: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    embedder: Embedder,
    n_components: int,
    folder: Path,
) -> None:
    """Embed two items by a model that was opened, to see whether its parts fit together.

    Only what networks and maps take is known; a regressor may take anything.
    """
    if not isinstance(embedder, NetworkEmbedder):
        return
    items = np.stack([np.zeros(embedder.input_shape), np.ones(embedder.input_shape)])
    try:
        shape = embed(items.astype(np.float32)).shape
    except (RuntimeError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{folder} is damaged: its parts do not fit together ({error})."
        ) from error
    if shape != (2, n_components):
        raise ValueError(
            f"{folder} is damaged: its points have {shape[1:]} components, not {n_components}."
        )


def _load_regressor(file: Path, trusted: Sequence[str]) -> Any:
    from skops import io

    try:
        unknown = set(io.get_untrusted_types(file=file)) - set(trusted)
    except SKOPS_ERRORS as error:
        raise ValueError(f"{file} cannot be read: {error}.") from error
    if unknown:
        raise ValueError(
            f"{file} contains types that are not trusted by default: "
            f"{', '.join(sorted(unknown))}. If you trust them, list them in trusted=[...]."
        )
    try:
        return io.load(file, trusted=list(trusted))
    except SKOPS_ERRORS as error:
        raise ValueError(f"{file} cannot be read: {error}.") from error


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
