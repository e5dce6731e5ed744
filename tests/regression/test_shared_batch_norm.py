"""Batch norm over the rows of several processes is torch's over all rows."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

from twofold.regression._shared_batch_norm import SharedBatchNorm, batch_norm_of_all

SHAPES = {nn.BatchNorm1d: (10, 3), nn.BatchNorm2d: (10, 3, 4, 5), nn.BatchNorm3d: (10, 3, 2, 2, 2)}


def rows(shape) -> torch.Tensor:
    return 5 + 2 * torch.randn(shape, generator=torch.Generator().manual_seed(0)).double()


class Threads:
    """A sum over threads, which stand for processes."""

    def __init__(self, n: int) -> None:
        self._barrier = threading.Barrier(n, timeout=60)
        self._values: list[torch.Tensor] = []

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        self._values.append(values)
        self._barrier.wait()
        total = torch.stack(self._values).sum(dim=0)
        if self._barrier.wait() == 0:
            self._values = []
        self._barrier.wait()
        return total


def in_parts(layers, parts):
    """Return outputs and gradients of parts of a batch, a thread each; the loss is Σ y³."""
    total = Threads(len(parts))
    leaves = [part.clone().requires_grad_() for part in parts]
    outputs = [None] * len(parts)

    def run(number):
        outputs[number] = SharedBatchNorm(layers[number], total)(leaves[number])
        outputs[number].pow(3).sum().backward()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return torch.cat(outputs), torch.cat([leaf.grad for leaf in leaves])


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("affine", [True, False])
def test_parts_of_a_batch_are_normalised_as_the_batch(kind, momentum, affine):
    values = rows(SHAPES[kind])
    whole = kind(3, momentum=momentum, affine=affine).double()
    layers = [kind(3, momentum=momentum, affine=affine).double() for _ in range(2)]
    wanted = values.clone().requires_grad_()
    expected = whole(wanted)
    expected.pow(3).sum().backward()
    found, gradient = in_parts(layers, (values[:3], values[3:]))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, wanted.grad)
    for layer in layers:
        for name, statistic in whole.named_buffers():
            torch.testing.assert_close(layer.get_buffer(name), statistic)
    if affine:
        summed = sum(layer.weight.grad for layer in layers)
        torch.testing.assert_close(summed, whole.weight.grad)


def test_in_evaluation_it_is_the_layer_itself():
    layer = nn.BatchNorm1d(3).double()
    layer.running_mean.fill_(2.0)
    shared = SharedBatchNorm(layer, lambda values: pytest.fail("nothing is to be summed")).eval()
    values = rows((4, 3))
    assert torch.equal(shared(values), layer.eval()(values))


def test_a_network_has_its_own_layers_again_with_what_they_learnt():
    network = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.BatchNorm1d(4), nn.ReLU()))
    layer, names = network[1][0], list(network.state_dict())
    with batch_norm_of_all(network, lambda values: values):
        assert isinstance(network[1][0], SharedBatchNorm)
        assert list(network.state_dict()) == names
        assert [id(one) for one in network.parameters()] == [
            id(one) for one in (*network[0].parameters(), *layer.parameters())
        ]
        network(rows((6, 3)).float())
        network.eval()
    assert network[1][0] is layer
    assert not layer.training
    assert int(layer.num_batches_tracked) == 1
    assert layer.running_mean.abs().sum() > 0
