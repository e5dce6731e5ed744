"""Input scaling: what a network sees of its features."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from twofold.regression import open_features, prepare_network
from twofold.regression._scaling import standardised_scaling

RNG = np.random.default_rng


def scaled(features: np.ndarray, embedder="mlp", dim: int = 2) -> np.ndarray:
    """Return what the first layer of a prepared network makes of features."""
    opened = open_features(features, "cpu")
    network = prepare_network(embedder, opened, features.shape[1:], dim, "cpu", RNG(0))
    return network[0](torch.from_numpy(features)).numpy()


class Flat(nn.Module):
    """A user's network for items of any shape."""

    def __init__(self, n_numbers: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(n_numbers, 2))

    def forward(self, items):
        return self.layers(items)


def test_each_column_of_vectors_gets_mean_0_and_deviation_1():
    features = RNG(0).uniform(-1, 1, size=(200, 3)).astype(np.float32) * [1, 10, 100] + [0, 5, -900]
    inputs = scaled(features.astype(np.float32))
    np.testing.assert_allclose(inputs.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(inputs.std(axis=0), 1, atol=1e-4)


def test_images_are_scaled_by_channel():
    images = RNG(0).uniform(size=(50, 2, 3, 3)).astype(np.float32)
    images[:, 1] = images[:, 1] * 20 + 7
    inputs = scaled(images)
    np.testing.assert_allclose(inputs.mean(axis=(0, 2, 3)), 0, atol=1e-4)
    np.testing.assert_allclose(inputs.std(axis=(0, 2, 3)), 1, atol=1e-4)
    one = (images[:, 1] - images[:, 1].mean()) / images[:, 1].std()
    np.testing.assert_allclose(inputs[:, 1], one, atol=1e-3)


def test_bytes_are_scaled_as_the_numbers_they_are():
    images = RNG(0).integers(0, 256, size=(40, 3, 4, 4), dtype=np.uint8)
    np.testing.assert_allclose(scaled(images), scaled(images.astype(np.float32)), atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e4, 1e7])
def test_a_constant_column_becomes_zero(value):
    features = RNG(0).uniform(size=(50, 2)).astype(np.float32)
    features[:, 1] = value
    np.testing.assert_allclose(scaled(features)[:, 1], 0, atol=1e-3)


def test_a_column_that_is_constant_but_for_rounding_is_not_blown_up():
    features = np.full((50, 1), 1e6, dtype=np.float32)
    features[7] = np.nextafter(features[7], np.float32(2e6))
    assert np.abs(scaled(features)).max() < 1


def test_what_lies_far_out_is_cut_at_three_deviations():
    features = np.zeros((200, 1), dtype=np.float32)
    features[:3] = 1  # hardly ever set: eight deviations away
    inputs = scaled(features)
    assert inputs.max() == 3
    assert inputs.min() > -0.2
    scaling = standardised_scaling(torch.tensor([[-1.0], [1.0]]))
    inputs = torch.tensor([[-9.0], [-2.0], [2.0], [9.0]])
    assert scaling(inputs).flatten().tolist() == [-3, -2, 2, 3]


def test_a_users_network_sees_floats_as_they_are():
    features = (RNG(0).normal(size=(20, 3)) * 1e4 + 5).astype(np.float32)
    np.testing.assert_array_equal(scaled(features, Flat(3)), features)


def test_a_users_network_sees_bytes_from_0_to_1():
    images = np.array([0, 51, 255], dtype=np.uint8).repeat(4).reshape(3, 1, 2, 2)
    inputs = scaled(images, Flat(4))
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(inputs[:, 0, 0, 0], [0, 0.2, 1], atol=1e-7)


def test_the_scaling_is_estimated_on_items_spread_over_all(monkeypatch):
    monkeypatch.setattr("twofold.regression._preparation.SCALING_NUMBERS", 3)
    features = np.arange(101, dtype=np.float32)[:, None]
    opened = open_features(features, "cpu")
    network = prepare_network("mlp", opened, (1,), 2, "cpu", RNG(0))
    assert float(network[0].shift) == 50
    assert float(network[0].scale) == pytest.approx(np.std([0, 50, 100]))


def test_named_networks_refuse_what_is_not_finite():
    features = np.zeros((5, 2), dtype=np.float32)
    features[2, 1] = np.nan
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        scaled(features)


def test_the_scaling_is_part_of_the_saved_weights():
    features = RNG(0).normal(size=(20, 3)).astype(np.float32)
    network = prepare_network("mlp", open_features(features, "cpu"), (3,), 2, "cpu", RNG(0))
    assert {"0.shift", "0.scale", "0.limit"} <= set(network.state_dict())
