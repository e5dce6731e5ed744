"""A network with a skip connection from the features: it starts as the features are."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from twofold.regression import (
    Projection,
    fit_projection,
    open_features,
    predict_points,
    prepare_network,
    with_feature_skip,
)
from twofold.regression._feature_skip import SKIP_RATE, FeatureSkip

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(40, 6)) * [5, 3, 2, 1, 0.5, 0.1] + [9, -4, 0, 1, 2, 3]).astype(np.float32)
IMAGES = RNG.integers(0, 256, size=(20, 1, 3, 4), dtype=np.uint8)


def own_network(n_features: int = 6, dim: int = 4) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(n_features, 8), nn.Tanh(), nn.Linear(8, dim))


def skipping(architecture, features=X, dim: int = 4) -> tuple[FeatureSkip, Projection]:
    """Return a network with a skip connection, and the projection that it starts from."""
    opened = open_features(features, "cpu")
    projection = fit_projection(opened, dim)
    rng = np.random.default_rng(0)
    network = prepare_network(architecture, opened, features.shape[1:], dim, "cpu", rng)
    is_own = isinstance(architecture, nn.Module)
    return with_feature_skip(network, projection, is_own), projection


@pytest.mark.parametrize("features", [X, IMAGES], ids=["floats", "bytes"])
@pytest.mark.parametrize("kind", ["mlp", "mnist", "own"])
@pytest.mark.parametrize("dim", [4, 14])
def test_it_starts_as_the_projected_features(features, kind, dim):
    n_features = int(np.prod(features.shape[1:]))
    architecture = own_network(n_features, dim) if kind == "own" else kind
    network, projection = skipping(architecture, features, dim)
    opened = open_features(features, "cpu")
    expected = projection.points(opened, np.arange(len(features)))
    points = predict_points(network, opened, features.shape[1:])
    np.testing.assert_allclose(points, expected, rtol=1e-5, atol=1e-6)
    network.train()  # dropout or not
    points = network(torch.from_numpy(features)).detach().numpy()
    np.testing.assert_allclose(points, expected, rtol=1e-5, atol=1e-6)


def test_a_users_network_keeps_its_weights_and_is_brought_in_by_a_number():
    own = own_network()
    before = copy.deepcopy(own.state_dict())
    network, _ = skipping(own)
    for name, tensor in network.body[1].state_dict().items():
        assert tensor.equal(before[name])
    items = torch.from_numpy(X)
    with torch.no_grad():
        start = network(items)
        network.gain.fill_(2)
        torch.testing.assert_close(network(items), start + 2 * own(items))


@pytest.mark.parametrize("kind", ["mlp", "own"])
def test_the_gradient_reaches_every_parameter_after_a_step(kind):
    network, _ = skipping(own_network() if kind == "own" else kind)
    network.eval()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    items = torch.from_numpy(X)
    targets = torch.from_numpy(np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32))
    for _ in range(2):  # what starts at 0 hides what lies before it from the first step
        optimiser.zero_grad()
        (network(items) - targets).square().mean().backward()
        optimiser.step()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_a_change_of_the_skip_connection_counts_for_a_share_of_itself():
    network, _ = skipping("mlp")
    items = torch.from_numpy(X)
    network.eval()
    with torch.no_grad():
        start = network(items)
        network.change.fill_(1)
        moved = network(items) - start
    expected = SKIP_RATE * (X - X.mean(axis=0)).sum(axis=1)
    np.testing.assert_allclose(moved.numpy(), np.tile(expected[:, None], 4), atol=1e-4)


def test_the_projection_that_it_starts_from_is_kept_but_not_trained():
    network, _ = skipping("mlp")
    trained = {name for name, _ in network.named_parameters()}
    assert "change" in trained
    kept = {"projection.shift", "projection.matrix"}
    assert not trained & kept
    assert kept <= network.state_dict().keys()
