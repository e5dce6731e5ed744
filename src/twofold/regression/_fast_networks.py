"""Convolutional networks of our own for small images, made to be trained in seconds on a GPU.

What makes them quick is known from the records on CIFAR-10 (K. Jordan's airbench, 2024): a first
layer that whitens patches, known before training and frozen; few, wide layers; batch norm without
scales; convolutions that begin by handing their input on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from twofold.regression._norm_gelu import Chain
from twofold.regression._pooling import MaxPool

META = "meta"
PATCH = 2
"""Side of the patches that the first layer whitens."""
WHITENING_SHARE = 5e-4
"""Added to the variance of each direction of a patch, of images of unit variance: there is noise in
the weakest."""
WIDE_SIDE = 48
"""From this side on patches do not overlap: most time is spent on them."""
LEAST_SIDE = 3
"""Stages halve an image down to this side."""
NORM_MOMENTUM = 0.4
"""Of the batch norms' running statistics: a short training has few steps to settle."""
SMALLEST, LARGEST, MOST_CHANNELS = 16, 96, 4
"""Sides and channels of the images that these networks are for."""


@dataclass(frozen=True, slots=True)
class FastNetwork:
    """Channels of each stage, and convolutions a stage: of three the last two go beside a skip."""

    widths: tuple[int, ...]
    depth: int


FAST_NETWORKS = {
    "fast-conv": FastNetwork((64, 256, 256), 2),
    "deep-conv": FastNetwork((128, 384, 512), 3),
}


class Residual(nn.Module):
    """x + f(x)."""

    def __init__(self, inner: nn.Sequential) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, values: Tensor) -> Tensor:
        """Return values and what the inner layers make of them, added."""
        added: Tensor = values + self.inner(values)
        return added


def suits_fast_network(item_shape: Sequence[int]) -> bool:
    """Whether items are images of 16 to 96 pixels with one to four channels."""
    if len(item_shape) != 3 or not 1 <= item_shape[0] <= MOST_CHANNELS:
        return False
    return all(SMALLEST <= side <= LARGEST for side in item_shape[1:])


def fast_form(name: str, input_shape: Sequence[int], dim: int) -> Chain:
    """Return one of `FAST_NETWORKS` as a form, on the device "meta".

    A whitening layer; stages, each a convolution, a max-pool that halves the image, and further
    convolutions, all with batch norm and GELU; the largest value of each channel; a linear output.
    """
    plan = FAST_NETWORKS[name]
    n_channels, *sides = input_shape
    if min(sides) < PATCH:
        raise ValueError(
            f"Images of shape {tuple(input_shape)} are too small for the network {name!r}."
        )
    stride = PATCH if min(sides) >= WIDE_SIDE else 1
    sides = [(side - PATCH) // stride + 1 for side in sides]
    whitening = nn.Conv2d(n_channels, 2 * PATCH**2 * n_channels, PATCH, stride, device=META)
    whitening.weight.requires_grad = False
    network = Chain(whitening, nn.GELU())
    n_channels = whitening.out_channels
    for width in plan.widths:
        halves = min(sides) // 2 >= LEAST_SIDE
        network.extend(_stage(n_channels, width, plan.depth, halves))
        sides = [side // 2 for side in sides] if halves else sides
        n_channels = width
    network.extend([nn.MaxPool2d(tuple(sides)), nn.Flatten()])
    network.append(nn.Linear(n_channels, dim, bias=False, device=META))
    return network


def _stage(n_inputs: int, width: int, depth: int, halves: bool) -> list[nn.Module]:
    first = [_convolution(n_inputs, width), *([MaxPool(2)] if halves else [])]
    first += [_norm(width), nn.GELU()]
    if depth == 2:
        return [*first, _convolution(width, width), _norm(width), nn.GELU()]
    inner = [_convolution(width, width), _norm(width), nn.GELU()]
    return [
        *first,
        Residual(Chain(*inner, _convolution(width, width), _norm(width))),
        nn.GELU(),
    ]


def _convolution(n_inputs: int, n_outputs: int) -> nn.Conv2d:
    return nn.Conv2d(n_inputs, n_outputs, 3, padding=1, bias=False, device=META)


def _norm(n_channels: int) -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(n_channels, momentum=NORM_MOMENTUM, device=META)
    norm.weight.requires_grad = False
    return norm


def whiten_patches(network: nn.Module, images: Tensor) -> None:
    """Set the first layer of a fast network so that patches come out uncorrelated, of variance 1.

    Each direction stands there twice, with both signs, since what comes next cuts off one of them.

    Parameters
    ----------
    network : nn.Module
        Of `fast_form`, its weights drawn.
    images : Tensor of float, shape (n, channels, height, width)
        Scaled as they will be.
    """
    assert isinstance(network, nn.Sequential)
    whitening = network[0]
    assert isinstance(whitening, nn.Conv2d)
    # Not `functional.unfold`, which launches a kernel an image.
    windows = images.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH)
    patches = windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(0, 2).double()
    patches -= patches.mean(dim=0)
    variance, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = directions.T / (variance + WHITENING_SHARE).sqrt()[:, None]
    with torch.no_grad():
        both = torch.cat([filters, -filters])
        whitening.weight.copy_(both.reshape(whitening.weight.shape))
        whitening.bias.zero_()  # type: ignore[union-attr]


def start_identity(layer: nn.Linear | nn.Conv2d, generator: torch.Generator) -> None:
    """Draw weights; the first outputs of a convolution begin as its inputs."""
    nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    if isinstance(layer, nn.Conv2d) and layer.kernel_size == (3, 3):
        nn.init.dirac_(layer.weight[: layer.in_channels])
