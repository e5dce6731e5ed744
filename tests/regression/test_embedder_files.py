"""Embedders on disk: each kind comes back as it was, and nothing damaged is used."""

from __future__ import annotations

import copy
import json
import os

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import Ridge
from torch import nn

from twofold.regression import (
    FeaturesAsGiven,
    NetworkEmbedder,
    OutputScale,
    RegressorEmbedder,
    TrainingConfig,
    fit_embedder,
    fit_projection,
    load_embedder,
    network_kind,
    open_features,
    prepare_network,
    ridge_basis,
    save_embedder,
    with_feature_skip,
)

RNG = np.random.default_rng
X = (RNG(0).normal(size=(40, 6)) * [5, 3, 2, 1, 0.5, 0.1] + 1).astype(np.float32)
TARGETS = RNG(1).normal(size=(4, 3)).astype(np.float32)[np.arange(40) % 4]
SCALE = OutputScale(np.array([1, -2, 3], np.float32), 2.5)


class OwnNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, items):
        return self.layers(items)


def fitted(architecture, regression="squared") -> NetworkEmbedder:
    config = TrainingConfig(architecture, max_epochs=1, batch_size=20, learning_rate=1e-2)
    fit = fit_embedder(config, X, TARGETS, RNG(0), output_scale=SCALE, regression=regression)
    return fit.embedder


def feature_skip(architecture) -> NetworkEmbedder:
    opened = open_features(X, "cpu")
    network = prepare_network(architecture, opened, (6,), 3, "cpu", RNG(0))
    is_own = isinstance(architecture, nn.Module)
    network = with_feature_skip(network, fit_projection(opened, 3, clipped=True), is_own)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return NetworkEmbedder(network.eval(), (6,), "cpu", None if is_own else architecture)


def ridge_map(clipped: bool, unit: bool) -> NetworkEmbedder:
    opened = open_features(X, "cpu")
    projection = fit_projection(opened, 3, clipped=clipped, unit=unit)
    basis = ridge_basis(projection, projection.points(opened, np.arange(40)), "cpu", RNG(0))
    weights = 0.3 * torch.randn(43, 3, generator=torch.Generator().manual_seed(0))
    return NetworkEmbedder(basis.as_map(weights).eval(), (6,), "cpu")


KINDS = {
    "network": lambda: fitted("mlp"),
    "own module": lambda: fitted(OwnNetwork()),
    "expected target": lambda: fitted("mlp", "likelihood"),
    "own module, expected target": lambda: fitted(OwnNetwork(), "likelihood"),
    "feature skip": lambda: feature_skip("mlp"),
    "own module, feature skip": lambda: feature_skip(OwnNetwork()),
    "ridge map": lambda: ridge_map(clipped=True, unit=False),
    "ridge map, unit rows": lambda: ridge_map(clipped=True, unit=True),
    "ridge map, no limits": lambda: ridge_map(clipped=False, unit=False),
    "features as given": lambda: NetworkEmbedder(FeaturesAsGiven(), (6,), "cpu"),
    "regressor": lambda: fit_embedder(Ridge(), X, TARGETS, RNG(0), output_scale=SCALE).embedder,
}


def load(description, folder, kind="network", **rest):
    given = {"dim": 3, "architecture": None, "device": "cpu", "trusted": []}
    if kind.startswith("own"):
        given["architecture"] = OwnNetwork()
    return load_embedder(description, folder, **given | rest)


def there_and_back(embedder, folder, kind):
    # What JSON keeps of the description has to be enough.
    return load(json.loads(json.dumps(save_embedder(embedder, folder))), folder, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back_with_the_same_points(kind, tmp_path):
    embedder = KINDS[kind]()
    again = there_and_back(embedder, tmp_path, kind)
    expected = embedder.predict(X)
    assert type(again) is type(embedder)
    assert again.predict(X).dtype == np.float32
    np.testing.assert_allclose(again.predict(X), expected, rtol=1e-5, atol=1e-5)
    if isinstance(embedder, NetworkEmbedder):
        assert (again.name, again.input_shape) == (embedder.name, (6,))
        assert network_kind(again.network) == network_kind(embedder.network)
        assert not again.network.training


def misaligned(array: np.ndarray) -> np.ndarray:
    """Return a copy whose numbers begin at an odd address."""
    buffer = bytearray(array.nbytes + 1)
    buffer[1:] = array.tobytes()
    copied = np.frombuffer(buffer, array.dtype, offset=1).reshape(array.shape)
    assert not copied.flags.aligned
    return copied


def strided(array: np.ndarray) -> np.ndarray:
    """Return a copy that lies between other numbers."""
    wide = np.full((2 * len(array), 3 * array.shape[1]), np.nan, array.dtype)
    wide[::2, ::3] = array
    return wide[::2, ::3]


@pytest.mark.parametrize("kind", KINDS)
def test_how_numbers_lie_in_memory_changes_points_by_rounding_at_most(kind, tmp_path):
    embedder = KINDS[kind]()
    again = there_and_back(embedder, tmp_path, kind)
    expected = embedder.predict(X)
    for form in (misaligned, strided, np.asfortranarray, lambda array: array[::-1].copy()[::-1]):
        np.testing.assert_allclose(again.predict(form(X)), expected, rtol=1e-5, atol=1e-5)
    if not isinstance(embedder, RegressorEmbedder):
        points = again.predict(sparse.csr_array(X))
        np.testing.assert_allclose(points, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o027])
@pytest.mark.parametrize("kind", ["network", "regressor"])
def test_a_file_has_the_mode_of_any_other(kind, umask, tmp_path):
    embedder = KINDS[kind]()
    before = os.umask(umask)
    try:
        file = tmp_path / save_embedder(embedder, tmp_path)["file"]
        (tmp_path / "plain").write_bytes(b"")
    finally:
        os.umask(before)
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_saving_leaves_an_embedder_as_it_was(tmp_path):
    embedder = KINDS["network"]()
    before = copy.deepcopy(embedder.network.state_dict())
    save_embedder(embedder, tmp_path)
    after = embedder.network.state_dict()
    assert all(after[name].equal(tensor) for name, tensor in before.items())


def test_an_image_network_comes_back_with_its_shape(tmp_path):
    images = RNG(0).integers(0, 256, size=(20, 1, 6, 6), dtype=np.uint8)
    config = TrainingConfig("mnist", max_epochs=1, batch_size=10, learning_rate=1e-3)
    embedder = fit_embedder(config, images, TARGETS[:20], RNG(0)).embedder
    again = there_and_back(embedder, tmp_path, "network")
    assert again.input_shape == (1, 6, 6)
    np.testing.assert_allclose(
        again.predict(images), embedder.predict(images), rtol=1e-5, atol=1e-6
    )


# ---- what is refused ----


@pytest.fixture(params=["network", "regressor"])
def saved(request, tmp_path):
    return save_embedder(KINDS[request.param](), tmp_path), tmp_path


def test_a_file_that_was_changed_is_refused(saved):
    description, folder = saved
    file = folder / description["file"]
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged or was changed"):
        load(description, folder)


def test_a_file_that_is_not_there_is_named(saved):
    description, folder = saved
    (folder / description["file"]).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no {description['file']}"):
        load(description, folder)


def test_a_description_that_lacks_something_says_what(saved):
    description, folder = saved
    del description["sha256"], description["kind"]
    with pytest.raises(ValueError, match="its embedder lacks kind, sha256"):
        load(description, folder)


@pytest.mark.parametrize("name", ["../weights.safetensors", "/etc/passwd", "other"])
def test_a_file_of_another_name_is_never_opened(saved, name):
    description, folder = saved
    with pytest.raises(ValueError, match="it names the file"):
        load(description | {"file": name}, folder)


def test_an_unknown_network_is_named(tmp_path):
    description = save_embedder(KINDS["network"](), tmp_path)
    with pytest.raises(ValueError, match="needs the network 'resnet'"):
        load(description | {"network": "resnet"}, tmp_path)


@pytest.mark.parametrize("kind", ["own module", "own module, feature skip"])
def test_a_network_of_your_own_has_to_be_passed(kind, tmp_path):
    description = save_embedder(KINDS[kind](), tmp_path)
    with pytest.raises(ValueError, match=r"pass it, as load\(folder, embedder=MyNetwork\(\)\)"):
        load(description, tmp_path)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("network", {"network": "mnist"}),
        ("network", {"input_shape": [7]}),
        ("network", {"kind": "feature skip"}),
        ("network", {"kind": "ridge map"}),
        ("ridge map", {"kind": "features as given"}),
    ],
)
def test_weights_of_something_else_are_refused(kind, change, tmp_path):
    description = save_embedder(KINDS[kind](), tmp_path)
    with pytest.raises(ValueError, match="The weights are not those of this"):
        load(description | change, tmp_path)


def test_weights_for_another_number_of_components_are_refused(tmp_path):
    description = save_embedder(KINDS["network"](), tmp_path)
    with pytest.raises(ValueError, match="The weights are not those of this network"):
        load(description, tmp_path, dim=5)


class Doubled(Ridge):
    """A regressor that skops does not know."""


def test_a_regressor_of_an_unknown_type_has_to_be_trusted(tmp_path):
    embedder = fit_embedder(Doubled(), X, TARGETS, RNG(0)).embedder
    description = save_embedder(embedder, tmp_path)
    with pytest.raises(ValueError, match=r"not trusted by default: .*Doubled.*trusted=\[...\]"):
        load(description, tmp_path)
    again = load(description, tmp_path, trusted=[f"{Doubled.__module__}.Doubled"])
    np.testing.assert_allclose(again.predict(X), embedder.predict(X), rtol=1e-5)
