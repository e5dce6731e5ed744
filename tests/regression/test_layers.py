"""Which layers of an embedder give a vector, and what they give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from twofold import MetricLearner, Network
from twofold.regression import layer_batches, layer_names, read_layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 6)).astype(np.float32)
IMAGES = RNG.integers(0, 256, size=(60, 1, 8, 8), dtype=np.uint8)
Y = np.arange(60) % 3


def embedder(network, features=X, **parameters):
    learner = MetricLearner(
        4, embedder=network, metric="seen", device="cpu", random_state=0, **parameters
    )
    return learner.fit(features, Y).embedder_


class Branches(nn.Module):
    """Two ways through, joined; one layer is used twice, one gives a map."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.left = nn.Linear(72, 5)
        self.right = nn.Linear(72, 5)
        self.shared = nn.ReLU()
        self.head = nn.Linear(10, 4)

    def forward(self, images):
        flat = self.conv(images).flatten(1)
        return self.head(
            torch.cat([self.shared(self.left(flat)), self.shared(self.right(flat))], 1)
        )


def test_a_named_network_has_its_hidden_layers():
    fitted = embedder(Network("mlp", max_epochs=1))
    names = layer_names(fitted, X)
    # Linear, ReLU, linear, ReLU, and the head before the expected target; not flattening, dropout.
    assert names.hidden == ("features", "1", "2", "4", "5")
    assert names.outputs == ("7", "output")
    layers = read_layers(fitted, X, names.every)
    widths = {name: tuple(values.shape) for name, values in layers.items()}
    assert widths == dict.fromkeys(["1", "2", "4", "5"], (60, 512)) | {
        "features": (60, 6),
        "7": (60, 4),
        "output": (60, 4),
    }


def test_the_head_is_the_output_where_targets_are_regressed_to():
    fitted = embedder(Network("mlp", max_epochs=1, loss="squared"))
    assert layer_names(fitted, X).every == ("features", "1", "2", "4", "5", "output")


def test_layers_are_what_the_network_computes():
    body = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
    fitted = embedder(Network(body, max_epochs=1))
    layers = read_layers(fitted, X, ["features", "0", "1", "2", "output"])
    trained = fitted.network[1]
    with torch.no_grad():
        first = trained[0](torch.from_numpy(X))
        head = trained[2](first.relu())
    np.testing.assert_allclose(layers["0"], first.numpy(), atol=1e-6)
    np.testing.assert_allclose(layers["1"], first.relu().numpy(), atol=1e-6)
    np.testing.assert_allclose(layers["2"], head.numpy(), atol=1e-6)
    np.testing.assert_array_equal(layers["features"], X)
    np.testing.assert_allclose(layers["output"], fitted.predict(X), atol=1e-6)


def test_a_module_of_ones_own_is_read_by_its_names_and_left_as_it_was():
    fitted = embedder(Network(Branches(), max_epochs=1), IMAGES)
    of_map = ("conv, mean", "conv, 2 × 2 means")
    assert layer_names(fitted, IMAGES).every[1:-1] == (*of_map, "left", "shared", "right", "head")
    layers = read_layers(fitted, IMAGES, ["features", "left", "output"])
    assert layers["left"].shape == (60, 5)
    assert layers["features"].shape == (60, 64)
    assert not any(module._forward_hooks for module in fitted.network.modules())


class Maps(nn.Sequential):
    """Maps of two shapes, the first of them twice, then one place, then a vector."""

    def __init__(self) -> None:
        nonlinearity = nn.ReLU()
        super().__init__(
            nn.Conv2d(1, 3, 3), nonlinearity, nn.MaxPool2d(2), nn.Conv2d(3, 5, 2), nonlinearity,
            nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(5, 4),
        )  # fmt: skip


def test_of_the_maps_of_one_shape_the_last_is_read_by_its_means():
    fitted = embedder(Network(Maps(), max_epochs=1), IMAGES)
    names = layer_names(fitted, IMAGES)
    # The nonlinearity stands in two places: what it gives last counts, and the first convolution
    # is the only one left of its shape.
    maps = [f"{module}, {means}" for module in "021" for means in ("mean", "2 × 2 means")]
    assert sorted(names.hidden) == sorted(["features", *maps, "6"])
    layers = read_layers(fitted, IMAGES, names.every)
    body = fitted.network[1].eval()
    with torch.no_grad():
        first = body[0](torch.from_numpy(IMAGES) / 255)
        last = nn.Sequential(*list(body)[1:5])(first)
    np.testing.assert_allclose(layers["0, mean"], first.mean(dim=(2, 3)), atol=1e-6)
    quarters = [
        first[:, :, rows, columns].mean(dim=(2, 3))
        for rows in (slice(3), slice(3, 6))
        for columns in (slice(3), slice(3, 6))
    ]
    np.testing.assert_allclose(
        layers["0, 2 × 2 means"], torch.stack(quarters, dim=2).flatten(1), atol=1e-6
    )
    np.testing.assert_allclose(layers["1, mean"], last.mean(dim=(2, 3)), atol=1e-6)


def test_a_map_is_named_by_its_module():
    fitted = embedder(Network(Maps(), max_epochs=1), IMAGES)
    only = layer_names(fitted, IMAGES, ["2"]).every
    assert only == ("features", "2, mean", "2, 2 × 2 means", "output")


def test_a_map_that_is_too_narrow_for_quarters_has_its_mean_alone():
    body = nn.Sequential(nn.Conv2d(1, 2, (8, 1)), nn.Flatten(), nn.Linear(16, 4))
    fitted = embedder(Network(body, max_epochs=1), IMAGES)
    assert layer_names(fitted, IMAGES).hidden == ("features", "0, mean", "1")


def test_a_network_without_inner_vectors_has_features_and_output():
    fitted = embedder(Network(nn.Linear(6, 4), max_epochs=1, loss="squared"))
    assert layer_names(fitted, X).every == ("features", "output")


def test_of_a_regressor_nobody_knows_the_inside():
    fitted = embedder(Ridge())
    assert layer_names(fitted, X).every == ("features", "output")
    layers = read_layers(fitted, X, ["features", "output"])
    np.testing.assert_allclose(layers["output"], fitted.predict(X))


def test_some_layers_can_be_named_and_others_are_refused():
    fitted = embedder(Network("mlp", max_epochs=1))
    assert layer_names(fitted, X, ["4"]).every == ("features", "4", "output")
    with pytest.raises(
        ValueError, match=r"contains 'neck', which is not an inner layer .* '1', '2'"
    ):
        layer_names(fitted, X, ["4", "neck"])


def test_layers_that_are_not_read_to_the_end_leave_gradients_on():
    fitted = embedder(Network(nn.Linear(6, 4), max_epochs=1, loss="squared"))
    batches = layer_batches(fitted, X, ["output"])
    next(batches)
    assert not torch.is_inference_mode_enabled()
