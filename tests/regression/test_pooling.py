"""Max-pooling gives what torch's gives, wherever and however it is worked out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from twofold.regression._pooling import MaxPool

NEEDS_CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
WINDOWS = pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (3, 3), (2, 3), (3, 1)])
SIDES = pytest.mark.parametrize(("height", "width"), [(8, 8), (7, 9), (15, 4), (3, 3), (31, 31)])


def images_of(kind: str, height: int, width: int) -> Tensor:
    rng = np.random.default_rng(0)
    shape = (3, 5, height, width)
    if kind == "ties":
        values = rng.integers(0, 3, size=shape).astype(np.float32)
    else:
        values = rng.normal(size=shape).astype(np.float32)
    if kind == "not numbers":
        values[rng.random(shape) < 0.1] = np.nan
        values[rng.random(shape) < 0.05] = -np.inf
    return torch.from_numpy(values)


def both_ways(pool, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return what is pooled, and the gradient that comes back for a gradient of many values."""
    images = images.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    pooled = pool(images)
    outer = torch.linspace(-1, 2, pooled.numel(), device=images.device).view(pooled.shape)
    (inner,) = torch.autograd.grad(pooled, images, outer.to(pooled.dtype))
    return pooled.detach().float().cpu(), inner.float().cpu()


def expected_of(images: Tensor, size: int, stride: int) -> tuple[Tensor, Tensor]:
    return both_ways(lambda given: functional.max_pool2d(given, size, stride), images)


@WINDOWS
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_on_a_cpu_it_is_torch_s(size, stride, layout):
    images = images_of("ties", 7, 9).contiguous(memory_format=layout)
    for found, expected in zip(
        both_ways(MaxPool(size, stride), images), expected_of(images, size, stride), strict=True
    ):
        assert found.equal(expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
@WINDOWS
@SIDES
@pytest.mark.parametrize("kind", ["numbers", "ties", "not numbers"])
def test_the_fused_kernels_give_what_torch_gives(size, stride, height, width, kind):
    pytest.importorskip("triton", reason="there is no Triton")
    from twofold.regression._fused_pooling import FusedMaxPool

    images = images_of(kind, height, width)
    on_gpu = images.cuda().contiguous(memory_format=torch.channels_last)
    found = both_ways(lambda given: FusedMaxPool.apply(given, size, stride), on_gpu)
    expected = expected_of(images, size, stride)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-6)  # sums of windows


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
@WINDOWS
def test_in_half_precision_the_same_values_are_the_largest(size, stride):
    pytest.importorskip("triton", reason="there is no Triton")
    images = images_of("ties", 7, 9).bfloat16()
    on_gpu = images.cuda().contiguous(memory_format=torch.channels_last)
    found = both_ways(MaxPool(size, stride), on_gpu)
    expected = expected_of(images.float(), size, stride)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-2, atol=5e-2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("learns", [True, False])
def test_the_layer_gives_the_same_with_and_without_the_kernels(layout, learns):
    pytest.importorskip("triton", reason="there is no Triton")
    images = images_of("numbers", 15, 15)
    on_gpu = images.cuda().contiguous(memory_format=layout).requires_grad_(learns)
    pooled = MaxPool(2)(on_gpu)
    is_fused = pooled.grad_fn is not None and "FusedMaxPool" in type(pooled.grad_fn).__name__
    assert is_fused == (learns and layout == torch.channels_last)
    assert pooled.detach().cpu().equal(functional.max_pool2d(images, 2))
