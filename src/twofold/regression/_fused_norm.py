"""Batch norm and the GELU behind it as one, in Triton, for images whose channels lie together.

Eight passes over memory a step where torch's kernels, two layers, make thirteen: the input is read
twice on the way there, the output written once; going back, input and gradient are read twice.

Images are a matrix here, a row for each pixel, a column for each channel. Columns are summed in two
stages: first chunks of consecutive rows, each in a program of its own, then what chunks gave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

TILE = 4096
"""Numbers that a program takes at once, all matrices together: 64 bytes a thread of bfloat16."""
WIDTH = 64
"""Channels that a program takes at most: with bfloat16 the 128 bytes that memory moves at once."""
N_PROGRAMS = 512
"""As many at most, four for a multiprocessor of an H200: all are at work from the start."""
N_WARPS = 4
FEW = 8
"""Channels of a program that adds up what chunks gave."""


class FusedNormGelu(torch.autograd.Function):
    """GELU of images whose channels have mean 0 and variance 1 over a batch, scaled and shifted.

    The running statistics are updated in place, as `torch.nn.BatchNorm2d` does.
    """

    @staticmethod
    def forward(
        ctx: Any,
        images: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        n_batches: Tensor,
        momentum: float,
        eps: float,
    ) -> Tensor:
        """Return what comes out, of the type of `images`, whose channels are last in memory."""
        plan = _plan_of(images, TILE)
        chunk_means, chunk_squares = _per_channel(images, 2, plan.n_chunks)
        mean, inverse_std = _per_channel(images, 2)
        outputs = torch.empty_like(images, memory_format=torch.channels_last)
        with torch.cuda.device_of(images):  # type: ignore[no-untyped-call]
            _measure_chunks[plan.grid](
                images, chunk_means, chunk_squares, *plan.rows, **plan.constants
            )
            running = (running_mean, running_var, n_batches)
            _measure_batch[plan.few_grid](
                *(chunk_means, chunk_squares, mean, inverse_std, *running),
                *(*plan.rows, plan.n_chunks, momentum, eps),
                **plan.few_constants,
            )
            _normalise[plan.grid](
                *(images, mean, inverse_std, weight, bias, outputs), *plan.rows, **plan.constants
            )
        ctx.save_for_backward(images, mean, inverse_std, weight, bias)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of images, weight and bias."""
        images, mean, inverse_std, weight, bias = ctx.saved_tensors
        outer = gradients[0].contiguous(memory_format=torch.channels_last)
        plan = _plan_of(images, TILE // 2)  # of which two are read
        chunk_sums = _per_channel(images, 2, plan.n_chunks)
        sums = _per_channel(images, 2)
        statistics = (mean, inverse_std, weight, bias)
        inner = None
        with torch.cuda.device_of(images):  # type: ignore[no-untyped-call]
            _sum_chunks[plan.grid](
                images, outer, *statistics, *chunk_sums, *plan.rows, **plan.constants
            )
            _sum_batch[plan.few_grid](*chunk_sums, *sums, plan.n_chunks, **plan.few_constants)
            if ctx.needs_input_grad[0]:
                inner = torch.empty_like(images, memory_format=torch.channels_last)
                _hand_back[plan.grid](
                    *(images, outer, *statistics, *sums, inner), *plan.rows, **plan.constants
                )
        of_bias, of_weight = sums
        return (
            inner,
            of_weight.to(weight.dtype) if ctx.needs_input_grad[1] else None,
            of_bias.to(bias.dtype) if ctx.needs_input_grad[2] else None,
            *[None] * 5,
        )


class _Plan(NamedTuple):
    """How the work is shared out.

    Attributes
    ----------
    rows : tuple of int
        Of the matrix, and of each chunk; the last may have fewer.
    n_chunks : int
        At least one row is in each.
    """

    rows: tuple[int, int]
    n_chunks: int
    grid: tuple[int, int]
    few_grid: tuple[int]
    constants: dict[str, int]
    few_constants: dict[str, int]


def _plan_of(images: Tensor, tile: int) -> _Plan:
    n_channels = images.shape[1]
    n_rows = images.numel() // n_channels
    width = min(WIDTH, triton.next_power_of_2(n_channels))
    n_blocks = triton.cdiv(n_channels, width)
    tile_rows = tile // width
    n_tiles = triton.cdiv(n_rows, tile_rows)
    chunk_rows = tile_rows * triton.cdiv(n_tiles, max(1, N_PROGRAMS // n_blocks))
    n_chunks = triton.cdiv(n_rows, chunk_rows)
    constants = {"N_CHANNELS": n_channels, "num_warps": N_WARPS}
    return _Plan(
        (n_rows, chunk_rows),
        n_chunks,
        (n_blocks, n_chunks),
        (triton.cdiv(n_channels, FEW),),
        {**constants, "ROWS": tile_rows, "CHANNELS": width},
        {**constants, "CHUNKS": triton.next_power_of_2(n_chunks), "CHANNELS": FEW},
    )


def _per_channel(images: Tensor, *shape: int) -> Tensor:
    return torch.empty((*shape, images.shape[1]), dtype=torch.float32, device=images.device)


# Triton reads annotations as code: only its own may stand here. Numbers of rows are not compiled
# in: a step that is recorded must not meet a kernel that is not compiled yet.
@triton.jit(do_not_specialize=["n_rows", "chunk_rows"])
def _measure_chunks(
    images,
    chunk_means,
    chunk_squares,
    n_rows,
    chunk_rows,
    N_CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    chunk = tl.program_id(1)
    first = chunk * chunk_rows
    last = tl.minimum(first + chunk_rows, n_rows)
    row = first + tl.arange(0, ROWS)
    place, inside = _tile(row, last, channel, N_CHANNELS)
    # Squares are summed about the mean of the first rows: about 0 little of a small variance would
    # be left beside a large mean.
    values = tl.load(images + place, mask=inside, other=0.0).to(tl.float32)
    shift = tl.sum(values, 0) / tl.minimum(last - first, ROWS).to(tl.float32)
    sums = tl.zeros([ROWS, CHANNELS], tl.float32)
    squares = tl.zeros([ROWS, CHANNELS], tl.float32)
    for start in range(first, last, ROWS):
        row = start + tl.arange(0, ROWS)
        place, inside = _tile(row, last, channel, N_CHANNELS)
        values = tl.load(images + place, mask=inside, other=0.0).to(tl.float32)
        shifted = tl.where(inside, values - shift[None, :], 0.0)
        sums += shifted
        squares += shifted * shifted
    n_here = (last - first).to(tl.float32)
    mean = tl.sum(sums, 0) / n_here
    there = chunk * N_CHANNELS + channel
    tl.store(chunk_means + there, shift + mean, mask=channel < N_CHANNELS)
    about_mean = tl.sum(squares, 0) - n_here * mean * mean
    tl.store(chunk_squares + there, about_mean, mask=channel < N_CHANNELS)


@triton.jit(do_not_specialize=["n_rows", "chunk_rows", "n_chunks"])
def _measure_batch(
    chunk_means,
    chunk_squares,
    mean,
    inverse_std,
    running_mean,
    running_var,
    n_batches,
    n_rows,
    chunk_rows,
    n_chunks,
    momentum,
    eps,
    N_CHANNELS: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    is_channel = channel < N_CHANNELS
    chunk = tl.arange(0, CHUNKS)
    inside = (chunk < n_chunks)[:, None] & is_channel[None, :]
    there = chunk[:, None] * N_CHANNELS + channel[None, :]
    means = tl.load(chunk_means + there, mask=inside, other=0.0)
    squares = tl.load(chunk_squares + there, mask=inside, other=0.0)
    n_here = tl.minimum(chunk_rows, n_rows - chunk * chunk_rows).to(tl.float32)[:, None]
    n_all = n_rows.to(tl.float32)
    shift = tl.load(chunk_means + channel, mask=is_channel, other=0.0)
    shifted = tl.where(inside, n_here * (means - shift[None, :]), 0.0)
    batch_mean = shift + tl.sum(shifted, 0) / n_all
    between = means - batch_mean[None, :]
    squares = tl.where(inside, squares + n_here * between * between, 0.0)
    variance = tl.sum(squares, 0) / n_all
    tl.store(mean + channel, batch_mean, mask=is_channel)
    tl.store(inverse_std + channel, 1 / tl.sqrt(variance + eps), mask=is_channel)
    before = tl.load(running_mean + channel, mask=is_channel, other=0.0).to(tl.float32)
    after = before + momentum * (batch_mean - before)
    tl.store(running_mean + channel, after, mask=is_channel)
    unbiased = variance * (n_all / (n_all - 1))
    before = tl.load(running_var + channel, mask=is_channel, other=0.0).to(tl.float32)
    after = before + momentum * (unbiased - before)
    tl.store(running_var + channel, after, mask=is_channel)
    if tl.program_id(0) == 0:
        tl.store(n_batches, tl.load(n_batches) + 1)


@triton.jit(do_not_specialize=["n_rows", "chunk_rows"])
def _normalise(
    images,
    mean,
    inverse_std,
    weight,
    bias,
    outputs,
    n_rows,
    chunk_rows,
    N_CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    first = tl.program_id(1) * chunk_rows
    centre, _rate, scale, shift = _norm_of(mean, inverse_std, weight, bias, channel, N_CHANNELS)
    # From the end: what was read last is still in the cache.
    for start in range(0, chunk_rows, ROWS):
        row = first + chunk_rows - ROWS - start + tl.arange(0, ROWS)
        place, inside = _tile(row, n_rows, channel, N_CHANNELS)
        values = tl.load(images + place, mask=inside, other=0.0).to(tl.float32)
        normal = (values - centre) * scale + shift
        share, _ = _gaussian(normal)
        tl.store(outputs + place, normal * share, mask=inside)


@triton.jit(do_not_specialize=["n_rows", "chunk_rows"])
def _sum_chunks(
    images,
    outer,
    mean,
    inverse_std,
    weight,
    bias,
    chunk_sums,
    chunk_products,
    n_rows,
    chunk_rows,
    N_CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    chunk = tl.program_id(1)
    first = chunk * chunk_rows
    last = tl.minimum(first + chunk_rows, n_rows)
    centre, rate, scale, shift = _norm_of(mean, inverse_std, weight, bias, channel, N_CHANNELS)
    sums = tl.zeros([ROWS, CHANNELS], tl.float32)
    products = tl.zeros([ROWS, CHANNELS], tl.float32)
    for start in range(first, last, ROWS):
        row = start + tl.arange(0, ROWS)
        place, inside = _tile(row, last, channel, N_CHANNELS)
        values = tl.load(images + place, mask=inside, other=0.0).to(tl.float32)
        passed = tl.load(outer + place, mask=inside, other=0.0).to(tl.float32)
        centred = values - centre
        passed *= _slope(centred * scale + shift)
        sums += passed
        products += passed * centred
    there = chunk * N_CHANNELS + channel
    tl.store(chunk_sums + there, tl.sum(sums, 0), mask=channel < N_CHANNELS)
    tl.store(chunk_products + there, tl.sum(products * rate, 0), mask=channel < N_CHANNELS)


@triton.jit(do_not_specialize=["n_chunks"])
def _sum_batch(
    chunk_sums,
    chunk_products,
    sums,
    products,
    n_chunks,
    N_CHANNELS: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    chunk = tl.arange(0, CHUNKS)
    inside = (chunk < n_chunks)[:, None] & (channel < N_CHANNELS)[None, :]
    there = chunk[:, None] * N_CHANNELS + channel[None, :]
    parts = tl.load(chunk_sums + there, mask=inside, other=0.0)
    tl.store(sums + channel, tl.sum(parts, 0), mask=channel < N_CHANNELS)
    parts = tl.load(chunk_products + there, mask=inside, other=0.0)
    tl.store(products + channel, tl.sum(parts, 0), mask=channel < N_CHANNELS)


@triton.jit(do_not_specialize=["n_rows", "chunk_rows"])
def _hand_back(
    images,
    outer,
    mean,
    inverse_std,
    weight,
    bias,
    sums,
    products,
    inner,
    n_rows,
    chunk_rows,
    N_CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    channel = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    first = tl.program_id(1) * chunk_rows
    centre, rate, scale, shift = _norm_of(mean, inverse_std, weight, bias, channel, N_CHANNELS)
    n_all = n_rows.to(tl.float32)
    level = _of_channels(sums, channel, N_CHANNELS, 0.0) / n_all * scale
    tilt = _of_channels(products, channel, N_CHANNELS, 0.0) / n_all * scale * rate
    for start in range(0, chunk_rows, ROWS):
        row = first + chunk_rows - ROWS - start + tl.arange(0, ROWS)
        place, inside = _tile(row, n_rows, channel, N_CHANNELS)
        values = tl.load(images + place, mask=inside, other=0.0).to(tl.float32)
        passed = tl.load(outer + place, mask=inside, other=0.0).to(tl.float32)
        centred = values - centre
        passed *= _slope(centred * scale + shift)
        tl.store(inner + place, passed * scale - (centred * tilt + level), mask=inside)


@triton.jit
def _tile(row, end, channel, N_CHANNELS: tl.constexpr):
    # Where rows of channels lie, and which are there.
    inside = (row < end)[:, None] & (channel < N_CHANNELS)[None, :]
    return row[:, None] * N_CHANNELS + channel[None, :], inside


@triton.jit
def _norm_of(mean, inverse_std, weight, bias, channel, N_CHANNELS: tl.constexpr):
    # What (x - centre) * scale + shift is made of; scale is weight * rate.
    rate = _of_channels(inverse_std, channel, N_CHANNELS, 1.0)
    scale = rate * _of_channels(weight, channel, N_CHANNELS, 1.0)
    centre = _of_channels(mean, channel, N_CHANNELS, 0.0)
    return centre, rate, scale, _of_channels(bias, channel, N_CHANNELS, 0.0)


@triton.jit
def _of_channels(values, channel, N_CHANNELS: tl.constexpr, DEFAULT: tl.constexpr):
    # A value a channel, as a row; where there is no weight or bias, the one that changes nothing.
    if values is None:
        found = tl.full(channel.shape, DEFAULT, tl.float32)
    else:
        found = tl.load(values + channel, mask=channel < N_CHANNELS, other=DEFAULT).to(tl.float32)
    return found[None, :]


@triton.jit
def _slope(values):
    # The derivative of x Φ(x).
    share, density = _gaussian(values)
    return share + values * density


@triton.jit
def _gaussian(values):
    # Φ and its density. The tail is Hastings's formula (Abramowitz and Stegun 26.2.17), whose error
    # of 7.5e-8 is about that of 1 + erf in float32. It needs the density anyway, and erf beside it
    # would take longer to compute than memory takes to deliver the numbers.
    density = tl.exp2(values * values * -0.7213475204444817 - 1.3257480647361592)
    near = 1 / (1 + 0.2316419 * tl.abs(values))
    tail = 1.781477937 + near * (-1.821255978 + near * 1.330274429)
    tail = density * near * (0.319381530 + near * (-0.356563782 + near * tail))
    return tl.where(values < 0, tail, 1 - tail), density
