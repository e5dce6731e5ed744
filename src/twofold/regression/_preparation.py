"""A network made ready to train: built or copied, scaled to its input, tried out once."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from twofold.regression._expected_target import ExpectedTarget
from twofold.regression._features import Features, spread_evenly
from twofold.regression._landmarks import LandmarkMap
from twofold.regression._linear_path import LinearPath, RawMap
from twofold.regression._networks import DROPOUT, NETWORKS, NetworkName, build_network
from twofold.regression._scaling import (
    InputScaling,
    identity_scaling,
    pixel_scaling,
    standardised_scaling,
)
from twofold.regression._training import torch_seed

SCALING_NUMBERS = 2**25
"""Numbers that a scaling is estimated on, of items spread evenly over all."""


def prepare_network(
    embedder: NetworkName | nn.Module,
    features: Features,
    input_shape: tuple[int, ...],
    dim: int,
    device: str,
    rng: np.random.Generator,
    dropout: float = DROPOUT,
) -> nn.Sequential:
    """Return scaling and network as one, on `device`, known to give `dim` outputs an item.

    A network by name is fresh, with its weights drawn from `rng`, and its input is standardised. A
    user's own is copied with the weights it has, and sees features as they are, bytes brought to
    0 .. 1.
    """
    if isinstance(embedder, nn.Module):
        body = copy.deepcopy(embedder)
        is_bytes = features.rows(spread_evenly(features, 1)).dtype == torch.uint8
        scaling = pixel_scaling() if is_bytes else identity_scaling()
    else:
        with torch_seed(rng, "cpu"):
            body = build_network(embedder, input_shape, dim, dropout)
        n_items = max(2, SCALING_NUMBERS // max(1, math.prod(input_shape)))
        sample = features.rows(spread_evenly(features, n_items))
        _refuse_not_finite(sample)
        scaling = standardised_scaling(sample)
    network = nn.Sequential(scaling, body).to(device)
    if torch.device(device).type == "cuda":
        # The order of numbers that tensor cores take: convolutions need not turn images first.
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    _try_out(network, features, dim)
    return network


def build_scaled_network(
    embedder: NetworkName | nn.Module,
    input_shape: tuple[int, ...],
    dim: int,
    state: Mapping[str, Tensor],
) -> nn.Module:
    """Return scaling and network as one with the weights `state`, as they were once prepared."""
    network: nn.Module
    if "projection" in state:
        network = _build_beside_features(embedder, input_shape, dim, state)
    else:
        network = _build_scaled(embedder, input_shape, dim, state)
        if "2.targets" in state:
            network.append(ExpectedTarget(state["2.targets"]))
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"The weights are not those of this network: {error}") from error
    return network


def _build_scaled(
    embedder: NetworkName | nn.Module,
    input_shape: tuple[int, ...],
    dim: int,
    state: Mapping[str, Tensor],
    prefix: str = "",
) -> nn.Sequential:
    if isinstance(embedder, nn.Module):
        body = embedder
    else:
        body = build_network(embedder, input_shape, dim)
    scaling = InputScaling(state[f"{prefix}0.shift"], state[f"{prefix}0.scale"])
    return nn.Sequential(scaling, body)


def _build_beside_features(
    embedder: NetworkName | nn.Module,
    input_shape: tuple[int, ...],
    dim: int,
    state: Mapping[str, Tensor],
) -> LinearPath | LandmarkMap:
    limits = state["limits"].numpy() if "limits" in state else None
    raw = RawMap(state["shift"].numpy(), state["projection"].numpy(), limits)
    if "landmarks" in state:
        return LandmarkMap(
            raw, state["turn"], state["landmarks"], float(state["width"]), state["heights"]
        )
    if is_map(state):
        return LinearPath(raw)
    body = _build_scaled(embedder, input_shape, dim, state, "body.")
    return LinearPath(raw, body, gain="gain" in state)


def is_map(state: Mapping[str, Tensor]) -> bool:
    """Whether weights are of a linear map or one around landmarks alone, without a network."""
    return "projection" in state and "body.0.shift" not in state


def is_network(embedder: Any) -> bool:
    """Whether an embedder is trained by the loop of this package."""
    return isinstance(embedder, nn.Module) or (isinstance(embedder, str) and embedder in NETWORKS)


def _refuse_not_finite(sample: Tensor) -> None:
    if not torch.isfinite(sample).all():
        raise ValueError("X holds NaN or infinity. Replace or drop these values first.")


def _try_out(network: nn.Module, features: Features, dim: int) -> None:
    """Run the network on two items, before any training, to see the shape of its output."""
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("The network has no parameters to train.")
    items = features.rows(spread_evenly(features, 2))
    network.eval()
    try:
        with torch.no_grad():
            found = tuple(network(items).shape)
    except torch.cuda.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise ValueError(
            f"The network does not take items of shape {tuple(items.shape[1:])}: {error}"
        ) from error
    if found != (len(items), dim):
        raise ValueError(
            f"The network must give an output of shape (n_items, dim) = ({len(items)}, {dim}) "
            f"for {len(items)} items, got {found}. Set dim to the width of its last layer, or the "
            "other way round."
        )


@contextmanager
def out_of_memory_sentence(batch_size: int) -> Iterator[None]:
    """Turn a GPU's lack of memory into the batch size to try."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        smaller = max(1, batch_size // 4)
        raise MemoryError(
            f"The GPU ran out of memory with batch_size={batch_size}. Try "
            f"batch_size={smaller}, or device='cpu'."
        ) from error
