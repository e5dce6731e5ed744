"""The networks for vectors and small images and the paper's four, layer by layer.

Those for a GPU are in `test_fast_networks.py`.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from twofold.regression import NETWORKS, build_network, mlp
from twofold.regression._networks import PAPER_NETWORKS

SHAPES = {
    "mlp": (20,),
    "conv": (1, 28, 28),
    "mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "pubfig83": (3, 60, 60),
    "nuswide": (3, 100, 100),
}
DENSE = {
    # flat size after the convolutions by hand, hidden layers, dimensions in the paper
    "mlp": (20, (512, 512), 16),
    "conv": (64 * 3 * 3, (256,), 16),  # 28 -> 14 -> 7 -> 3
    "mnist": (784, (500, 500), 16),
    "cifar10": (96 * 7 * 7, (128, 128), 16),  # 32 -> 15 -> 7 by pools of 3, stride 2
    "pubfig83": (128 * 4 * 4, (1024, 1024), 64),  # 60 -> 52 -> 26 -> 20 -> 10 -> 4
    "nuswide": (128 * 12 * 12, (4096, 4096), 32),  # 100 -> 50 -> 25 -> 12
}
CONVOLUTIONS = {
    # outputs, kernel, padding; "pool" with kernel and stride
    "mlp": [],
    "conv": [(64, 3, 1), ("pool", 2, 2)] * 3,
    "mnist": [],
    "cifar10": [(64, 3, 1), (64, 3, 1), ("pool", 3, 2), (96, 3, 1), (96, 3, 1), ("pool", 3, 2)],
    "pubfig83": [(64, 9, 0), ("pool", 2, 2), (96, 7, 0), ("pool", 2, 2), (128, 7, 0)],
    "nuswide": [
        *[(64, 3, 1)] * 3,
        ("pool", 2, 2),
        *[(96, 3, 1)] * 3,
        ("pool", 2, 2),
        *[(128, 3, 1)] * 3,
        ("pool", 2, 2),
    ],
}
PAPER = tuple(PAPER_NETWORKS)


@pytest.fixture(scope="module")
def networks() -> dict[str, nn.Module]:
    return {name: fresh(name, SHAPES[name], DENSE[name][2]) for name in SHAPES}


def fresh(name, shape, dim) -> nn.Module:
    return build_network(name, shape, dim, generator=torch.Generator().manual_seed(0))


def of_kind(network: nn.Module, *kinds) -> list[nn.Module]:
    return [layer for layer in network if isinstance(layer, kinds)]


@pytest.mark.parametrize("name", SHAPES)
def test_dense_layers_are_those_of_the_paper(networks, name):
    n_flat, hidden, dim = DENSE[name]
    layers = [
        (layer.in_features, layer.out_features) for layer in of_kind(networks[name], nn.Linear)
    ]
    sizes = [n_flat, *hidden, dim]
    assert layers == list(pairwise(sizes))


@pytest.mark.parametrize("name", SHAPES)
def test_convolutions_are_those_of_the_paper(networks, name):
    layers = [
        (layer.out_channels, layer.kernel_size[0], layer.padding[0])
        if isinstance(layer, nn.Conv2d)
        else ("pool", layer.kernel_size, layer.stride)
        for layer in of_kind(networks[name], nn.Conv2d, nn.MaxPool2d)
    ]
    assert layers == CONVOLUTIONS[name]


@pytest.mark.parametrize("name", PAPER)
def test_dropout_stands_before_each_dense_hidden_layer_but_not_on_pixels(networks, name):
    layers = list(networks[name])
    dense = [place for place, layer in enumerate(layers) if isinstance(layer, nn.Linear)]
    dropped = dense[1:-1] if name == "mnist" else dense[:-1]
    for place in dropped:
        assert isinstance(layers[place - 1], nn.Dropout)
        assert layers[place - 1].p == 0.5
    for place in dense[:-1]:
        assert isinstance(layers[place + 1], nn.ReLU)
    assert len(of_kind(networks[name], nn.Dropout)) == len(dropped)
    assert dense[-1] == len(layers) - 1  # the output is linear
    assert not isinstance(layers[dense[-1] - 1], nn.Dropout)


@pytest.mark.parametrize("name", PAPER)
def test_a_rectifier_follows_every_convolution(networks, name):
    layers = list(networks[name])
    for place, layer in enumerate(layers):
        if isinstance(layer, nn.Conv2d):
            assert isinstance(layers[place + 1], nn.ReLU)


@pytest.mark.parametrize("name", PAPER)
def test_weights_of_the_papers_networks_are_glorots(networks, name):
    for layer in of_kind(networks[name], nn.Linear, nn.Conv2d):
        field = math.prod(layer.weight.shape[2:])
        fan_in, fan_out = layer.weight.shape[1] * field, layer.weight.shape[0] * field
        bound = math.sqrt(6 / (fan_in + fan_out))
        assert not layer.bias.any()
        assert float(layer.weight.detach().abs().max()) <= bound * (1 + 1e-6)
        assert float(layer.weight.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)


def test_weights_of_the_default_network_are_torchs_own(networks):
    for layer in of_kind(networks["mlp"], nn.Linear):
        bound = 1 / math.sqrt(layer.in_features)
        for weights in (layer.weight.detach(), layer.bias.detach()):
            assert float(weights.abs().max()) <= bound
            assert float(weights.std()) == pytest.approx(bound / math.sqrt(3), rel=0.25)


@pytest.mark.parametrize("name", ["mlp", "conv", "mnist", "cifar10"])
def test_weights_are_drawn_by_the_generator_alone(networks, name):
    before = torch.get_rng_state()
    again = fresh(name, SHAPES[name], DENSE[name][2])
    assert torch.get_rng_state().equal(before)
    for one, other in zip(networks[name].parameters(), again.parameters(), strict=True):
        assert one.equal(other)


@pytest.mark.parametrize("name", NETWORKS)
def test_without_a_generator_a_network_is_a_form_without_memory(name):
    before = torch.get_rng_state()
    form = build_network(name, SHAPES.get(name, (1, 16, 16)), 5)
    assert {weights.device.type for weights in form.parameters()} == {"meta"}
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize("name", ["mlp", "conv", "mnist", "cifar10"])
def test_a_network_gives_dim_outputs_an_item(networks, name):
    with torch.no_grad():
        assert networks[name](torch.zeros(2, *SHAPES[name])).shape == (2, DENSE[name][2])


def test_images_of_other_sizes_fit_the_convolutions():
    network = fresh("cifar10", (1, 12, 20), 5)
    with torch.no_grad():
        assert network(torch.zeros(3, 1, 12, 20)).shape == (3, 5)


def test_the_default_network_takes_images_as_vectors():
    with torch.no_grad():
        assert fresh("mlp", (3, 4, 5), 7)(torch.zeros(2, 3, 4, 5)).shape == (2, 7)


def test_the_default_network_drops_out_after_each_hidden_layer():
    kinds = [type(layer).__name__ for layer in build_network("mlp", (20,), 4)]
    assert kinds == ["Flatten", *["Linear", "ReLU", "Dropout"] * 2, "Linear"]


def test_hidden_layers_may_be_chosen():
    network = mlp((6,), 2, hidden=(3,), dropout=0.25)
    assert [layer.out_features for layer in of_kind(network, nn.Linear)] == [3, 2]
    assert of_kind(network, nn.Dropout)[0].p == 0.25


@pytest.mark.parametrize("name", ["cifar10", "pubfig83", "nuswide"])
@pytest.mark.parametrize("shape", [(20,), (4, 5), (1, 2, 3, 4)])
def test_what_is_no_image_is_refused_with_its_shape(name, shape):
    shown = ", ".join(map(str, shape))
    with pytest.raises(ValueError, match=rf"network '{name}' takes images.*got \(n, {shown}\)"):
        build_network(name, shape, 4)


@pytest.mark.parametrize(("name", "size"), [("cifar10", 4), ("pubfig83", 45), ("nuswide", 6)])
def test_images_that_are_too_small_are_refused(name, size):
    with pytest.raises(ValueError, match=rf"\(3, {size}, {size}\) are too small for .* '{name}'"):
        build_network(name, (3, size, size), 4)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of 'mlp', .* got 'resnet'"):
        build_network("resnet", (4,), 4)


@pytest.mark.parametrize(
    ("side", "n_blocks", "flat_side"), [(6, 1, 3), (16, 2, 4), (32, 3, 4), (64, 3, 4), (96, 4, 3)]
)
def test_small_images_are_halved_to_a_few_pixels(side, n_blocks, flat_side):
    network = fresh("conv", (3, side, side), 5)
    assert len(of_kind(network, nn.Conv2d)) == len(of_kind(network, nn.BatchNorm2d)) == n_blocks
    assert of_kind(network, nn.Linear)[0].in_features == 64 * flat_side**2
    assert of_kind(network, nn.Conv2d)[0].stride[0] == (2 if side >= 48 else 1)
    assert network(torch.zeros(2, 3, side, side)).shape == (2, 5)
