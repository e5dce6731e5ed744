"""Max-pooling as networks by name do it: fused on a GPU in training, torch's own elsewhere."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

MOST_VALUES = 2**30
"""That a kernel can number, with those of the last block that lie beyond the end."""


class MaxPool(nn.MaxPool2d):
    """Max-pooling of square windows without padding."""

    def forward(self, images: Tensor) -> Tensor:
        """Return the largest value of each window."""
        size, stride = self.kernel_size, self.stride
        if isinstance(size, int) and isinstance(stride, int) and _is_for_kernel(images):
            fused = _fused_pooling()
            if fused is not None:
                pooled: Tensor = fused.FusedMaxPool.apply(images, size, stride)
                return pooled
        return functional.max_pool2d(images, size, stride)


def _is_for_kernel(images: Tensor) -> bool:
    """Whether images are learnt from, on a GPU, with their channels together."""
    return (
        images.is_cuda
        and images.requires_grad
        and images.numel() < MOST_VALUES
        and images.is_contiguous(memory_format=torch.channels_last)
    )


@functools.cache
def _fused_pooling() -> Any:
    """Return the kernels, or None where there is no Triton."""
    if importlib.util.find_spec("triton") is None:
        return None
    from twofold.regression import _fused_pooling

    return _fused_pooling
