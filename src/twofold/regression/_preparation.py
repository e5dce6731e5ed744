"""A network made ready to train: built or copied, scaled to its input, tried out once."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from twofold.regression._bit_layer import BitLayer
from twofold.regression._draws import torch_generator
from twofold.regression._expected_target import ExpectedTarget
from twofold.regression._fast_networks import FAST_NETWORKS, whiten_patches
from twofold.regression._feature_skip import FeatureSkip
from twofold.regression._features import Features, spread_evenly
from twofold.regression._joint_signs import JointSigns
from twofold.regression._networks import DROPOUT, build_network
from twofold.regression._projection import FeaturesAsGiven, Projection
from twofold.regression._ridge_map import RidgeMap
from twofold.regression._scaling import (
    InputScaling,
    identity_scaling,
    pixel_scaling,
    standardised_scaling,
)
from twofold.regression._target_direction import TargetDirection

N_WHITENED = 5000
"""Images whose patches say how a fast network whitens."""
SCALING_NUMBERS = 2**25
"""Numbers that a scaling is estimated on, of items spread evenly over all."""


def prepare_network(
    architecture: str | nn.Module,
    features: Features,
    input_shape: tuple[int, ...],
    dim: int,
    device: str,
    rng: np.random.Generator,
    dropout: float = DROPOUT,
) -> nn.Sequential:
    """Return scaling and network as one, on `device`, known to give `dim` outputs per item.

    A network by name is fresh, with its weights drawn from `rng`, and its input is standardised. A
    user's own is copied with the weights it has, and sees features as they are, bytes brought to
    0 .. 1.
    """
    if isinstance(architecture, nn.Module):
        body = copy.deepcopy(architecture)
        is_bytes = features.rows(spread_evenly(features, 1)).dtype == torch.uint8
        scaling = pixel_scaling() if is_bytes else identity_scaling()
    else:
        generator = torch_generator(rng, "cpu")
        body = build_network(architecture, input_shape, dim, dropout, generator=generator)
        n_items = max(2, SCALING_NUMBERS // max(1, math.prod(input_shape)))
        sample = features.rows(spread_evenly(features, n_items))
        _refuse_not_finite(sample)
        scaling = standardised_scaling(sample)
        if architecture in FAST_NETWORKS:
            scaled = scaling.to(sample.device)(sample[:: max(1, len(sample) // N_WHITENED)])
            whiten_patches(body, scaled)
            scaling = scaling.cpu()
    network = nn.Sequential(scaling, body).to(device)
    if torch.device(device).type == "cuda":
        # The order of numbers that tensor cores take: convolutions need not turn images first.
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    _try_out(network, features, dim)
    return network


NetworkKind = Literal["network", "feature skip", "ridge map", "features as given"]
"""What a `NetworkEmbedder` may hold."""
_KINDS: dict[type[nn.Module], NetworkKind] = {
    FeatureSkip: "feature skip",
    RidgeMap: "ridge map",
    FeaturesAsGiven: "features as given",
}


def network_kind(network: nn.Module) -> NetworkKind:
    """Return what a prepared network or map is, so that it can be built again."""
    return _KINDS.get(type(network), "network")


def rebuild_network(
    kind: NetworkKind,
    architecture: str | nn.Module | None,
    input_shape: tuple[int, ...],
    dim: int,
    state: Mapping[str, Tensor],
) -> nn.Module:
    """Return a prepared network or map of some kind with the weights `state`.

    Parameters
    ----------
    kind : {"network", "feature skip", "ridge map", "features as given"}
        See `network_kind`.
    architecture : str or nn.Module, optional
        Of the network; of no use for the last two kinds.
    input_shape : tuple of int
        Of one item.
    dim : int
        Outputs.
    state : mapping of str to Tensor
        As `state_dict` gave it.
    """
    is_by_name = not isinstance(architecture, nn.Module)
    try:
        network = _build(kind, architecture, input_shape, dim, state)
        # A network by name is a form without memory, which takes the tensors themselves.
        network.load_state_dict(state, assign=is_by_name)
    except (RuntimeError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"The weights are not those of this {kind}: {reason}") from error
    for name, tensor in state.items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32 and is_by_name:
            raise ValueError(f"The weights {name} are {tensor.dtype}, not float32.")
    return network


def _build(
    kind: NetworkKind,
    architecture: str | nn.Module | None,
    input_shape: tuple[int, ...],
    dim: int,
    state: Mapping[str, Tensor],
) -> nn.Module:
    if kind == "features as given":
        return FeaturesAsGiven()
    if kind == "ridge map":
        return RidgeMap(
            _projection(state),
            state["linear_weights"],
            state["landmarks"],
            float(state["width"]),
            state["dual_coef"],
        )
    assert architecture is not None
    if kind == "feature skip":
        body = _build_scaled(architecture, input_shape, dim, state, "body.")
        return FeatureSkip(_projection(state), body, gain="gain" in state)
    network = _build_scaled(architecture, input_shape, dim, state)
    if "2.targets" in state:
        network.append(ExpectedTarget(state["2.targets"]))
    elif "2.length" in state:
        network.append(TargetDirection(state["2.length"]))
    last = f"{len(network)}.weight"
    if last in state:
        network.append(BitLayer(*state[last].shape[::-1]))
    agreement = state.get(f"{len(network)}.agreement")
    if agreement is not None:
        network.append(JointSigns(agreement))
    return network


def _build_scaled(
    architecture: str | nn.Module,
    input_shape: tuple[int, ...],
    dim: int,
    state: Mapping[str, Tensor],
    prefix: str = "",
) -> nn.Sequential:
    if isinstance(architecture, nn.Module):
        body = architecture
    else:
        body = build_network(architecture, input_shape, dim)
    scaling = InputScaling(state[f"{prefix}0.shift"], state[f"{prefix}0.scale"])
    return nn.Sequential(scaling, body)


def _projection(state: Mapping[str, Tensor]) -> Projection:
    limits = state.get("projection.limits")
    return Projection(
        state["projection.shift"].numpy(),
        state["projection.matrix"].numpy(),
        None if limits is None else limits.numpy(),
        bool(state["projection.unit"]),
    )


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
            f"The network must give an output of shape (n_items, n_components) = ({len(items)}, "
            f"{dim}) for {len(items)} items, got {found}. Set n_components to the width of its "
            "last layer, or change that layer."
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
