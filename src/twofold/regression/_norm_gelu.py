"""Batch norm and the GELU behind it: one layer on a GPU in training, torch's own two elsewhere."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import torch
from torch import Tensor, nn

MOST_NUMBERS = 2**30
"""That a kernel can count, with those of the tiles that reach beyond the end."""
TYPES = (torch.float32, torch.bfloat16, torch.float16)


class Chain(nn.Sequential):
    """Layers one after another, of which kernels may take a batch norm and its GELU at once.

    The layers stay those of torch: the names of weights, and what hooks see, are the same.
    """

    def forward(self, values: Tensor) -> Tensor:
        """Return what the last layer gives."""
        layers, place = list(self), 0
        while place < len(layers):
            pair = layers[place : place + 2]
            kernels = _fused_norm() if _is_for_kernel(pair, values) else None
            if kernels is None:
                values = layers[place](values)
                place += 1
            else:
                values = _apply(kernels, pair[0], values)
                place += 2
        return values


def _is_for_kernel(layers: list[nn.Module], values: Any) -> bool:
    """Whether layers are a batch norm and a GELU, and learn from images with channels together."""
    if len(layers) < 2 or not isinstance(values, Tensor):
        return False
    norm, gelu = layers
    return (
        values.is_cuda
        and values.requires_grad
        and values.ndim == 4
        and values.is_contiguous(memory_format=torch.channels_last)
        and values.dtype in TYPES
        and values.shape[1] < values.numel() < MOST_NUMBERS
        and type(norm) is nn.BatchNorm2d  # not one that shares its statistics with others
        and norm.training
        and norm.track_running_stats
        and norm.momentum is not None
        and norm.num_features == values.shape[1]
        and type(gelu) is nn.GELU
        and gelu.approximate == "none"
        and not any(map(_has_hooks, layers))
    )


def _has_hooks(layer: nn.Module) -> bool:
    return bool(
        layer._forward_hooks
        or layer._forward_pre_hooks
        or layer._backward_hooks
        or layer._backward_pre_hooks
    )


def _apply(kernels: Any, norm: Any, values: Tensor) -> Tensor:
    running = (norm.running_mean, norm.running_var, norm.num_batches_tracked)
    outputs: Tensor = kernels.FusedNormGelu.apply(
        values, norm.weight, norm.bias, *running, norm.momentum, norm.eps
    )
    return outputs


@functools.cache
def _fused_norm() -> Any:
    """Return the kernels, or None where there is no Triton."""
    if importlib.util.find_spec("triton") is None:
        return None
    from twofold.regression import _fused_norm

    return _fused_norm
