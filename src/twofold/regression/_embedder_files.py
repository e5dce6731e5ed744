"""Embedders on disk: networks and maps as safetensors, scikit-learn regressors as skops.

Reading one runs nothing from the file. A description names the file with its digest, so that
damage is found before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from twofold.regression._network_embedder import NetworkEmbedder, OutputScale
from twofold.regression._networks import NETWORKS
from twofold.regression._preparation import network_kind, rebuild_network
from twofold.regression._regressor import RegressorEmbedder

WEIGHTS, REGRESSOR = "weights.safetensors", "embedder.skops"
Embedder = NetworkEmbedder | RegressorEmbedder


def save_embedder(embedder: Embedder, folder: Path) -> dict[str, Any]:
    """Write an embedder into a folder; return its description, as JSON takes it."""
    if isinstance(embedder, NetworkEmbedder):
        file = folder / WEIGHTS
        _save_weights(embedder.network, file)
        kind, name = str(network_kind(embedder.network)), embedder.name
        shape = list(embedder.input_shape)
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
    if description["file"] not in (WEIGHTS, REGRESSOR):
        raise ValueError(f"{folder} is damaged: it names the file {description['file']!r}.")
    file = folder / description["file"]
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no {file.name}: the model is not whole.")
    if _digest(file) != description["sha256"]:
        raise ValueError(f"{file} is damaged or was changed: its digest is not the one noted.")
    scale = None
    if description["mean"] is not None:
        mean = np.asarray(description["mean"], dtype=np.float32)
        scale = OutputScale(mean, float(description["scale"]))
    if file.name == REGRESSOR:
        return RegressorEmbedder(_load_regressor(file, trusted), scale)
    return _load_network(description, file, dim, architecture, device, scale)


def _load_network(
    description: dict[str, Any],
    file: Path,
    dim: int,
    architecture: nn.Module | None,
    device: str,
    scale: OutputScale | None,
) -> NetworkEmbedder:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    name, kind = description["network"], description["kind"]
    shape = tuple(description["input_shape"])
    if name is not None and name not in NETWORKS:
        raise ValueError(f"{file.parent} needs the network {name!r}, which is not known here.")
    try:
        state = load_file(file)
    except SafetensorError as error:
        raise ValueError(f"{file} cannot be read: {error}.") from error
    if name is None and architecture is None and kind in ("network", "feature skip"):
        raise ValueError(
            f"{file.parent} was made with a network of your own, whose code is not in the folder: "
            "pass it, as load(folder, embedder=MyNetwork())."
        )
    network = rebuild_network(kind, name or architecture, shape, dim, state)
    return NetworkEmbedder(network.to(torch.device(device)).eval(), shape, device, name, scale)


def _load_regressor(file: Path, trusted: Sequence[str]) -> Any:
    from skops import io

    try:
        unknown = set(io.get_untrusted_types(file=file)) - set(trusted)
        if unknown:
            raise ValueError(
                f"{file} holds types that are not trusted by themselves: "
                f"{', '.join(sorted(unknown))}. If they are yours, pass trusted=[...] with them."
            )
        return io.load(file, trusted=list(trusted))
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} cannot be read: {error}.") from error


def _save_weights(network: nn.Module, file: Path) -> None:
    from safetensors.torch import save_file

    weights = {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in network.state_dict().items()
    }
    file.touch()  # safetensors would make it for its owner alone
    mode = file.stat().st_mode
    save_file(weights, file)
    file.chmod(mode)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
