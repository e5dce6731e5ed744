"""Batch norm by the statistics of a whole batch, of which each process has a part.

On GPUs it is torch's SyncBatchNorm, which there is for GPUs alone; on a CPU the same sums here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

Sum = Callable[[Tensor], Tensor]
"""Over all processes."""


class _SumOfAll(torch.autograd.Function):
    """Σ over processes, whose gradient is the sum of theirs."""

    @staticmethod
    def forward(context: Any, values: Tensor, total: Sum) -> Tensor:
        context.total = total
        return total(values.clone())

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return context.total(gradient.clone()), None


class SharedBatchNorm(nn.Module):
    """A batch norm's weights and statistics, with the mean and variance of all processes' rows.

    Parameters
    ----------
    layer : BatchNorm1d, 2d or 3d
        Whose tensors are used, and updated.
    total : callable (Tensor) -> Tensor
        The sum over all processes.
    """

    def __init__(self, layer: _BatchNorm, total: Sum) -> None:
        super().__init__()
        self._parameters, self._buffers = layer._parameters, layer._buffers
        self._layer = [layer]  # in a list: its tensors must not be listed twice
        self._total = total
        self.training = layer.training

    def forward(self, values: Tensor) -> Tensor:
        """Return values with the batch's mean 0 and variance 1, scaled and shifted."""
        (layer,) = self._layer
        if not self.training:
            return layer.eval()(values)  # type: ignore[no-any-return]
        axes = [axis for axis in range(values.ndim) if axis != 1]
        form = [1, -1] + [1] * (values.ndim - 2)
        n_numbers = values.numel() // values.shape[1]
        count = self._total(values.new_tensor(float(n_numbers)))
        mean = self._summed(values.sum(axes)) / count
        centred = values - mean.view(form)
        variance = self._summed(centred.square().sum(axes)) / count
        self._follow(layer, mean.detach(), variance.detach() * count / (count - 1).clamp(min=1))
        normalised: Tensor = centred * (variance + layer.eps).rsqrt().view(form)
        if layer.weight is None:
            return normalised
        return normalised * layer.weight.view(form) + layer.bias.view(form)

    def _summed(self, values: Tensor) -> Tensor:
        total: Tensor = _SumOfAll.apply(values, self._total)  # type: ignore[no-untyped-call]
        return total

    def _follow(self, layer: _BatchNorm, mean: Tensor, variance: Tensor) -> None:
        """Update the running statistics as torch does."""
        if layer.running_mean is None or layer.running_var is None:
            return
        assert layer.num_batches_tracked is not None
        layer.num_batches_tracked.add_(1)
        share = layer.momentum
        if share is None:  # a plain mean over all batches
            share = 1 / float(layer.num_batches_tracked)
        layer.running_mean.lerp_(mean, share)
        layer.running_var.lerp_(variance, share)


@contextmanager
def batch_norm_of_all(network: nn.Module, total: Sum) -> Iterator[None]:
    """Have a network's batch norms take all processes' rows inside."""
    replaced = [
        (parent, name, layer)
        for parent in network.modules()
        for name, layer in parent.named_children()
        if isinstance(layer, _BatchNorm) and not isinstance(layer, nn.SyncBatchNorm)
    ]
    for parent, name, layer in replaced:
        setattr(parent, name, _shared(layer, total))
    try:
        yield
    finally:
        for parent, name, layer in replaced:
            layer.train(parent.training)
            setattr(parent, name, layer)


def _shared(layer: _BatchNorm, total: Sum) -> nn.Module:
    is_on_gpu = any(tensor.is_cuda for tensor in layer.state_dict().values())
    if not is_on_gpu:
        return SharedBatchNorm(layer, total)
    synced = nn.SyncBatchNorm(
        layer.num_features,
        layer.eps,
        layer.momentum,
        affine=False,
        track_running_stats=layer.track_running_stats,
    )
    synced.affine = layer.affine
    synced._parameters, synced._buffers = layer._parameters, layer._buffers
    return synced.train(layer.training)
