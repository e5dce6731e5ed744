"""The networks that are quick on a GPU: their forms, what they begin as, and their files."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from torch import nn

from twofold import MetricLearner, Network, load
from twofold.regression import (
    TrainingConfig,
    build_network,
    fit_embedder,
    load_embedder,
    open_features,
    prepare_network,
    save_embedder,
)
from twofold.regression._fast_networks import (
    FAST_NETWORKS,
    PATCH,
    WHITENING_SHARE,
    WIDE_SIDE,
    FastNetwork,
    Residual,
    suits_fast_network,
    whiten_patches,
)
from twofold.regression._pooling import MaxPool

RNG = np.random.default_rng
NAMES = pytest.mark.parametrize("name", FAST_NETWORKS)


@pytest.fixture
def narrow(monkeypatch):
    """The same networks with few channels, since a CPU takes long for many."""
    for name, plan in list(FAST_NETWORKS.items()):
        monkeypatch.setitem(FAST_NETWORKS, name, FastNetwork((12, 16, 20), plan.depth))


def waves(n_items: int, n_channels: int = 1, height: int = 16, width: int = 16) -> np.ndarray:
    """Images of bytes whose neighbouring pixels are alike, as those of photographs are."""
    noise = RNG(0).normal(size=(n_items, n_channels, height + 3, width + 3))
    smooth = sum(
        noise[:, :, down : down + height, right : right + width]
        for down in range(4)
        for right in range(4)
    )
    return np.clip(128 + 20 * smooth, 0, 255).astype(np.uint8)


def prepared(name: str, images: np.ndarray, dim: int = 3) -> nn.Sequential:
    return prepare_network(name, open_features(images, "cpu"), images.shape[1:], dim, "cpu", RNG(0))


# ---- their form ----


@NAMES
@pytest.mark.parametrize("n_channels", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("height", "width"), [(16, 16), (16, 96), (23, 17), (32, 32), (47, 50), (48, 48), (96, 96)]
)
def test_images_of_every_size_that_they_are_for_fit(name, n_channels, height, width):
    form = build_network(name, (n_channels, height, width), 5).eval()
    with torch.no_grad():
        outputs = form(torch.zeros(3, n_channels, height, width, device="meta"))
    assert outputs.shape == (3, 5)
    assert form[0].weight.shape[:2] == (2 * PATCH**2 * n_channels, n_channels)
    assert form[0].stride[0] == (PATCH if min(height, width) >= WIDE_SIDE else 1)


@NAMES
@pytest.mark.parametrize("shape", [(1, 2, 2), (6, 8, 8), (1, 3, 40)])
def test_other_images_fit_as_well_when_they_are_asked_for(name, shape):
    with torch.no_grad():
        outputs = build_network(name, shape, 2).eval()(torch.zeros(2, *shape, device="meta"))
    assert outputs.shape == (2, 2)


@NAMES
@pytest.mark.parametrize("shape", [(1, 1, 9), (3, 1, 1)])
def test_images_of_one_row_are_too_small(name, shape):
    with pytest.raises(ValueError, match=rf"shape .*{shape[2]}\) are too small for .* '{name}'"):
        build_network(name, shape, 2)


@NAMES
@pytest.mark.parametrize("shape", [(20,), (4, 5), (1, 2, 3, 4)])
def test_what_is_no_image_is_refused_with_its_shape(name, shape):
    shown = ", ".join(map(str, shape))
    with pytest.raises(ValueError, match=rf"network '{name}' takes images.*got \(n, {shown}\)"):
        build_network(name, shape, 4)


@NAMES
def test_stages_have_their_widths_and_depth(name):
    form, plan = build_network(name, (3, 32, 32), 7), FAST_NETWORKS[name]
    convolutions = [layer for layer in form.modules() if isinstance(layer, nn.Conv2d)][1:]
    expected = list(itertools.chain.from_iterable([width] * plan.depth for width in plan.widths))
    assert [layer.out_channels for layer in convolutions] == expected
    assert all(layer.bias is None for layer in convolutions)
    n_residual = sum(isinstance(layer, Residual) for layer in form.modules())
    assert n_residual == (len(plan.widths) if plan.depth == 3 else 0)
    assert sum(isinstance(layer, MaxPool) for layer in form.modules()) == 3  # 31, 15, 7, 3
    assert (form[-1].in_features, form[-1].out_features) == (plan.widths[-1], 7)
    assert form[-1].bias is None


def test_small_images_are_not_halved_away():
    form = build_network("fast-conv", (1, 16, 16), 7)
    assert sum(isinstance(layer, MaxPool) for layer in form.modules()) == 2  # 15, 7, 3


@pytest.mark.parametrize(
    ("shape", "suits"),
    [
        ((3, 32, 32), True), ((1, 16, 16), True), ((4, 96, 96), True), ((2, 16, 96), True),
        ((3, 15, 32), False), ((3, 32, 97), False), ((5, 32, 32), False), ((0, 32, 32), False),
        ((32, 32), False), ((3072,), False), ((), False), ((1, 3, 32, 32), False),
    ],
)  # fmt: skip
def test_they_suit_images_of_16_to_96_pixels_of_one_to_four_channels(shape, suits):
    assert suits_fast_network(shape) is suits


# ---- what they begin as ----


@NAMES
@pytest.mark.usefixtures("narrow")
def test_convolutions_begin_by_handing_their_input_on(name):
    network = build_network(name, (1, 16, 16), 5, generator=torch.Generator().manual_seed(0))
    images = torch.from_numpy(RNG(0).normal(size=(2, 30, 6, 6))).float()
    for layer in [layer for layer in network.modules() if isinstance(layer, nn.Conv2d)][1:]:
        given = images[:, : layer.in_channels]
        n_handed_on = min(layer.in_channels, layer.out_channels)
        with torch.no_grad():
            found = layer(given)[:, :n_handed_on]
        np.testing.assert_allclose(found, given[:, :n_handed_on], atol=1e-6)
        assert layer.weight[n_handed_on:].any() or n_handed_on == layer.out_channels


@NAMES
@pytest.mark.usefixtures("narrow")
def test_weights_are_drawn_by_the_generator_alone(name):
    before = torch.get_rng_state()
    one, same, other = (
        build_network(name, (1, 16, 16), 5, generator=torch.Generator().manual_seed(seed))
        for seed in (0, 0, 1)
    )
    assert torch.get_rng_state().equal(before)
    assert one[-1].weight.equal(same[-1].weight)
    assert not one[-1].weight.equal(other[-1].weight)
    assert all(torch.isfinite(weights).all() for weights in one.state_dict().values())


def test_a_residual_adds_what_its_inner_layers_make():
    inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    values = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    assert Residual(inner)(values).equal(values + inner(values))


# ---- the whitening layer ----


def patches_of(images: torch.Tensor) -> np.ndarray:
    """Cut images into patches that do not overlap, a patch a row."""
    n_items, _, height, width = images.shape
    cut = [
        images[:, :, row : row + PATCH, column : column + PATCH].reshape(n_items, -1)
        for row in range(0, height - PATCH + 1, PATCH)
        for column in range(0, width - PATCH + 1, PATCH)
    ]
    return torch.cat(cut).double().numpy()


@pytest.mark.parametrize(
    ("n_channels", "height", "width"), [(1, 16, 16), (3, 18, 22), (2, WIDE_SIDE, WIDE_SIDE + 4)]
)
@pytest.mark.usefixtures("narrow")
def test_patches_come_out_uncorrelated_and_of_variance_one(n_channels, height, width):
    images = waves(40, n_channels, height, width)
    scaling, body = prepared("fast-conv", images)
    with torch.no_grad():
        scaled = scaling(torch.from_numpy(images))
        found = body[0](scaled)
    step = PATCH // body[0].stride[0]
    found = found[:, :, ::step, ::step]
    outputs = found.permute(0, 2, 3, 1).reshape(-1, body[0].out_channels).double().numpy()
    half = outputs.shape[1] // 2
    np.testing.assert_allclose(outputs[:, half:], -outputs[:, :half], atol=1e-4)
    covariance = np.cov(outputs[:, :half].T, bias=True)
    variance = np.linalg.eigvalsh(np.cov(patches_of(scaled).T, bias=True))
    expected = np.diag(variance / (variance + WHITENING_SHARE))
    np.testing.assert_allclose(covariance, expected, atol=2e-3)
    assert np.diag(covariance).max() == pytest.approx(1, abs=2e-3)


def test_what_all_patches_have_in_common_is_no_variance():
    images = torch.from_numpy(waves(40)).float() / 50 + 100
    network = nn.Sequential(nn.Conv2d(1, 2 * PATCH**2, PATCH, PATCH))
    whiten_patches(network, images)
    with torch.no_grad():
        outputs = network(images).transpose(0, 1).flatten(1).double().numpy()
    covariance = np.cov(outputs[: PATCH**2], bias=True)
    np.testing.assert_allclose(covariance, np.eye(PATCH**2), atol=0.02)


def test_a_direction_without_variance_is_not_blown_up():
    network = nn.Sequential(nn.Conv2d(1, 2 * PATCH**2, PATCH))
    whiten_patches(network, torch.zeros(5, 1, 8, 8))
    assert torch.isfinite(network[0].weight).all()
    assert float(network[0].weight.detach().abs().max()) < 1.01 / np.sqrt(WHITENING_SHARE)


@NAMES
@pytest.mark.parametrize("optimiser", ["muon", "adamw", "sgd"])
@pytest.mark.usefixtures("narrow")
def test_what_whitens_is_frozen_and_all_else_is_trained(name, optimiser):
    images = waves(24)
    before = prepared(name, images).state_dict()
    config = TrainingConfig(name, 1, 8, 0.02, optimiser=optimiser)
    targets = RNG(1).normal(size=(24, 3)).astype(np.float32)
    network = fit_embedder(config, images, targets, RNG(0)).embedder.network
    frozen = ["1.0.weight"] + [
        f"{place}.weight"
        for place, layer in network.named_modules()
        if isinstance(layer, nn.BatchNorm2d)
    ]
    for place, weights in network.named_parameters():
        is_frozen = place in frozen  # batch norms have no scales
        assert weights.equal(before[place]) == is_frozen, place
        assert weights.requires_grad != is_frozen


# ---- trained ----


@NAMES
@pytest.mark.usefixtures("narrow")
def test_they_learn_and_a_fit_is_the_same_again(name):
    images, classes = waves(60), np.arange(60) % 3
    images = images // 2 + (classes * 60).astype(np.uint8)[:, None, None, None]
    network = Network(name, max_epochs=6, batch_size=20, learning_rate=0.1)
    learners = [
        MetricLearner(3, embedder=network, metric="seen", random_state=0).fit(images, classes)
        for _ in range(2)
    ]
    losses = learners[0].history_["regression"]
    assert losses[-1] < 0.7 * losses[0]
    assert learners[0].score(images, classes) > 0.9
    points = [learner.transform(images) for learner in learners]
    assert points[0].tobytes() == points[1].tobytes()


@NAMES
@pytest.mark.usefixtures("narrow")
def test_an_embedder_comes_back_with_the_same_points_and_what_is_frozen(name, tmp_path):
    images = waves(24, 2, 16, 20)
    config = TrainingConfig(name, 1, 8, 0.05, optimiser="muon", views=2)
    targets = RNG(1).normal(size=(24, 3)).astype(np.float32)
    embedder = fit_embedder(config, images, targets, RNG(0)).embedder
    description = json.loads(json.dumps(save_embedder(embedder, tmp_path)))
    again = load_embedder(description, tmp_path, dim=3, architecture=None, device="cpu", trusted=[])
    assert (again.name, again.n_views) == (name, 2)
    np.testing.assert_allclose(again.predict(images), embedder.predict(images), atol=1e-5)
    for one, other in zip(embedder.network.parameters(), again.network.parameters(), strict=True):
        assert one.requires_grad == other.requires_grad


@NAMES
@pytest.mark.usefixtures("narrow")
def test_a_learner_with_a_metric_step_comes_back(name, tmp_path):
    images, classes = waves(60), np.arange(60) % 10
    network = Network(name, max_epochs=1, batch_size=20)
    learner = MetricLearner(4, embedder=network, metric="unseen", random_state=0)
    learner.fit(images, classes)
    assert len(learner.metric_step_.layer_names) > 1
    again = load(learner.save(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(again.transform(images), learner.transform(images), atol=1e-4)
