"""Networks from features to targets: for vectors, for small images, and the paper's four."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn

from twofold._core.checks import check_choice
from twofold.regression._draws import Dropout
from twofold.regression._fast_networks import FAST_NETWORKS, fast_form, start_identity
from twofold.regression._pooling import MaxPool

NetworkName = Literal[
    "mlp", "conv", "fast-conv", "deep-conv", "mnist", "cifar10", "pubfig83", "nuswide"
]
NETWORKS: tuple[NetworkName, ...] = get_args(NetworkName)
META = "meta"
"""A device without memory, where layers have a form and draw no weights."""
HIDDEN = (512, 512)
DROPOUT = 0.5
CONV_CHANNELS, CONV_HIDDEN = 64, 256
CONV_SIDE = 6
"""Images are halved while their shorter side has at least as many pixels."""
CONV_STRIDE_SIDE = 48
"""From this side on the first convolution skips every other pixel: most time is spent there."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Convolutions of one kernel size, then (`pool` > 0) a max-pool with stride 2."""

    channels: tuple[int, ...]
    kernel: int
    padding: int
    pool: int


@dataclass(frozen=True, slots=True)
class PaperNetwork:
    """One of the paper's architectures.

    Dropout stands before each dense hidden layer, but not on the pixels themselves: read to the
    letter, MNIST's network would lose half of its input, and after 4 epochs 5-NN accuracy is .957
    with that and .974 without.
    """

    stages: tuple[Stage, ...]
    hidden: tuple[int, ...]


PAPER_NETWORKS = {
    "mnist": PaperNetwork((), (500, 500)),
    "cifar10": PaperNetwork((Stage((64, 64), 3, 1, 3), Stage((96, 96), 3, 1, 3)), (128, 128)),
    "pubfig83": PaperNetwork(
        (Stage((64,), 9, 0, 2), Stage((96,), 7, 0, 2), Stage((128,), 7, 0, 0)), (1024, 1024)
    ),
    "nuswide": PaperNetwork(
        (
            Stage((64, 64, 64), 3, 1, 2),
            Stage((96, 96, 96), 3, 1, 2),
            Stage((128, 128, 128), 3, 1, 2),
        ),
        (4096, 4096),
    ),
}


def build_network(
    name: str,
    input_shape: Sequence[int],
    dim: int,
    dropout: float = DROPOUT,
    *,
    generator: torch.Generator | None = None,
) -> nn.Module:
    """Return a fresh network by name: "mlp", one for images, or the paper's for one of its sets.

    Parameters
    ----------
    name : one of `NETWORKS`
        "mlp" and "mnist" take items of any shape, made flat; the others take images.
    input_shape : sequence of int
        Shape of one item: (n_features,), or (channels, height, width).
    dim : int
        Number of outputs.
    dropout : float
        Of "mlp"; the paper's networks have their own, one half.
    generator : torch.Generator, optional
        Draws the weights; without one the network is a form to be filled, on the device "meta".
    """
    check_choice("name", name, NETWORKS)
    if name == "mlp":
        form = mlp(input_shape, dim, dropout=dropout, device=META)
    elif name == "conv":
        form = _small_images(input_shape, dim)
    elif name in FAST_NETWORKS:
        _refuse_non_images(name, input_shape)
        form = fast_form(name, input_shape, dim)
    else:
        form = _paper(name, input_shape, dim)
    if generator is None:
        return form
    if name in FAST_NETWORKS:
        return fill_form(form, generator, start_identity)
    return fill_form(form, generator, _start_glorot if name in PAPER_NETWORKS else _start_torch)


def fill_form(
    form: nn.Module,
    generator: torch.Generator,
    start: Callable[[nn.Linear | nn.Conv2d, torch.Generator], None] | None = None,
) -> nn.Module:
    """Draw the weights of all linear layers and convolutions of a form, by default as torch does.

    Elsewhere than on "meta" they would draw first weights from torch's global generator.
    """
    for layer in form.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            _give_memory(layer)
            (start or _start_torch)(layer, generator)
        elif isinstance(layer, nn.BatchNorm2d):
            _give_memory(layer)
            layer.reset_parameters()  # draws nothing
    return form


def _give_memory(layer: nn.Module) -> None:
    """Put a layer's tensors into memory; `to_empty` imports two seconds' worth of torch for it."""
    for name, weights in list(layer._parameters.items()):
        if weights is not None:
            empty = torch.empty(weights.shape, dtype=weights.dtype)
            layer._parameters[name] = nn.Parameter(empty, requires_grad=weights.requires_grad)
    for name, values in list(layer._buffers.items()):
        if values is not None:
            layer._buffers[name] = torch.empty(values.shape, dtype=values.dtype)


def _paper(name: str, input_shape: Sequence[int], dim: int) -> nn.Sequential:
    paper = PAPER_NETWORKS[name]
    if paper.stages:
        _refuse_non_images(name, input_shape)
    network = nn.Sequential(*_convolutions(paper.stages, input_shape[0]), nn.Flatten())
    n_flat = _n_outputs(name, network, input_shape)
    for number, size in enumerate(paper.hidden):
        if number or paper.stages:
            network.append(Dropout(DROPOUT))
        network.extend([nn.Linear(n_flat, size, device=META), nn.ReLU()])
        n_flat = size
    return network.append(nn.Linear(n_flat, dim, device=META))


def _small_images(input_shape: Sequence[int], dim: int) -> nn.Sequential:
    """Return convolutions of 64 channels with batch norm, each halving the image, and one layer."""
    _refuse_non_images("conv", input_shape)
    n_channels, side = input_shape[0], min(input_shape[1:])
    network = nn.Sequential()
    stride = 2 if side >= CONV_STRIDE_SIDE else 1
    while side >= CONV_SIDE:
        conv = nn.Conv2d(n_channels, CONV_CHANNELS, 3, stride, padding=1, device=META)
        norm = nn.BatchNorm2d(CONV_CHANNELS, device=META)
        network.extend([conv, norm, nn.ReLU(), MaxPool(2)])
        n_channels, side, stride = CONV_CHANNELS, side // (2 * stride), 1
    network.append(nn.Flatten())
    hidden = nn.Linear(_n_outputs("conv", network, input_shape), CONV_HIDDEN, device=META)
    return network.extend([hidden, nn.ReLU(), nn.Linear(CONV_HIDDEN, dim, device=META)])


def mlp(
    input_shape: Sequence[int],
    dim: int,
    hidden: Sequence[int] = HIDDEN,
    dropout: float = DROPOUT,
    device: str = "cpu",
) -> nn.Sequential:
    """Return a dense network: linear, ReLU and dropout a hidden layer, then a linear output."""
    network = nn.Sequential(nn.Flatten())
    n_inputs = torch.Size(input_shape).numel()
    for size in hidden:
        network.extend([nn.Linear(n_inputs, size, device=device), nn.ReLU(), Dropout(dropout)])
        n_inputs = size
    return network.append(nn.Linear(n_inputs, dim, device=device))


def _convolutions(stages: Sequence[Stage], n_channels: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for stage in stages:
        for size in stage.channels:
            layers += [
                nn.Conv2d(n_channels, size, stage.kernel, padding=stage.padding, device=META),
                nn.ReLU(),
            ]
            n_channels = size
        if stage.pool:
            layers.append(MaxPool(stage.pool, stride=2))
    return layers


def _refuse_non_images(name: str, input_shape: Sequence[int]) -> None:
    if len(input_shape) != 3:
        raise ValueError(
            f"The network {name!r} takes images, so X must have shape (n, channels, height, "
            f"width), got (n, {', '.join(map(str, input_shape))}). For vectors use 'mlp'."
        )


def _n_outputs(name: str, layers: nn.Module, input_shape: Sequence[int]) -> int:
    """Count the outputs of `layers` for one item, on a trial of zeros."""
    try:
        with torch.no_grad():
            return int(layers(torch.zeros(2, *input_shape, device=META)).shape[1])
    except RuntimeError:
        raise ValueError(
            f"Images of shape {tuple(input_shape)} are too small for the network {name!r}."
        ) from None


def _start_torch(layer: nn.Linear | nn.Conv2d, generator: torch.Generator) -> None:
    """Draw weights and biases as torch does: uniform, within ± 1 / √(inputs of an output)."""
    bound = 1 / math.sqrt(layer.weight[0].numel())
    with torch.no_grad():
        for weights in layer.parameters():
            weights.uniform_(-bound, bound, generator=generator)


def _start_glorot(layer: nn.Linear | nn.Conv2d, generator: torch.Generator) -> None:
    nn.init.xavier_uniform_(layer.weight, generator=generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
