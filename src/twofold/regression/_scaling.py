"""Input scaling: the first layer of every network, learnt from the training items."""

from __future__ import annotations

import torch
from torch import Tensor, nn

CLIP = 3.0
"""Standardised features are cut at this many deviations: a pixel that is hardly ever set, or a
column with a long tail, would otherwise outweigh all others."""


class InputScaling(nn.Module):
    """(x − shift) / scale, cut at ± limit, for items of any stored type.

    It stands inside the network, so that it is saved, moved and exported with it.

    Parameters
    ----------
    shift, scale : Tensor of float32
        Broadcast against a batch: shape (1,) for all alike, (n_features,) for vectors,
        (channels, 1, 1) for images.
    limit : float
        Largest magnitude that is let through.
    """

    shift: Tensor
    scale: Tensor
    limit: Tensor

    def __init__(self, shift: Tensor, scale: Tensor, limit: float = torch.inf) -> None:
        super().__init__()
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)
        self.register_buffer("limit", torch.tensor(limit))

    def forward(self, items: Tensor) -> Tensor:
        """Scale a batch."""
        scaled = (items.to(self.shift.dtype) - self.shift) / self.scale
        return scaled.clamp(-self.limit, self.limit)


def identity_scaling() -> InputScaling:
    """Leave float features as they are."""
    return InputScaling(torch.zeros(1), torch.ones(1))


def pixel_scaling() -> InputScaling:
    """Bring 0 .. 255 to 0 .. 1."""
    return InputScaling(torch.zeros(1), torch.full((1,), 255.0))


def standardised_scaling(sample: Tensor) -> InputScaling:
    """Bring a sample to mean 0 and deviation 1: each feature, or each channel of images."""
    over = (0,) if sample.ndim == 2 else (0, *range(2, sample.ndim))
    deviation, mean = torch.std_mean(sample.double(), dim=over, correction=0, keepdim=True)
    # What is constant but for rounding carries nothing; divided by its deviation it would be noise.
    constant = deviation <= 1e-6 * mean.abs()
    deviation[constant] = 1
    return InputScaling(mean[0].float().cpu(), deviation[0].float().cpu(), CLIP)
