"""The features as points, and what learns to change them: it starts as they are, to the bit."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from torch import nn

from twofold.regression import (
    LinearPath,
    RawMap,
    RegressorEmbedder,
    as_regressor,
    beside_features,
    build_scaled_network,
    fit_raw_map,
    fit_regressor,
    open_features,
    predict_points,
    prepare_network,
)
from twofold.regression import _linear_path as linear_path_module

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(40, 6)) * [5, 3, 2, 1, 0.5, 0.1] + [9, -4, 0, 1, 2, 3]).astype(np.float32)
IMAGES = RNG.integers(0, 256, size=(20, 1, 3, 4), dtype=np.uint8)
EVERY = np.arange(40)


def raw_points(features, dim: int | None) -> np.ndarray:
    """Return the points of all items, by the map that is fitted to them."""
    opened = open_features(features, "cpu")
    return fit_raw_map(opened, dim).points(opened, np.arange(len(features)))


def own_network(n_features: int = 6, dim: int = 4) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(n_features, 8), nn.Tanh(), nn.Linear(8, dim))


def a_path(embedder, features=X, dim: int = 4) -> tuple[LinearPath, RawMap]:
    """Return a network beside the features, and their map."""
    opened = open_features(features, "cpu")
    raw = fit_raw_map(opened, dim)
    rng = np.random.default_rng(0)
    network = prepare_network(embedder, opened, features.shape[1:], dim, "cpu", rng)
    return beside_features(network, raw, is_own=isinstance(embedder, nn.Module)), raw


# ---- the features as points ----


@pytest.mark.parametrize("dim", [6, 7, 12])
def test_distances_are_those_of_the_features_over_one_number(dim):
    ratio = pdist(raw_points(X, dim)) / pdist(X)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


@pytest.mark.parametrize("dim", [1, 3, 6, 9])
def test_points_are_centred_and_of_length_one_in_the_mean(dim):
    points = raw_points(X, dim)
    assert points.dtype == np.float32
    assert points.shape == (40, dim)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-5)
    assert np.mean((points**2).sum(axis=1)) == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_fewer_components_than_features_are_the_principal_ones(dim):
    expected = PCA(dim).fit_transform(X.astype(float))
    expected /= np.sqrt((expected**2).sum(axis=1).mean())
    np.testing.assert_allclose(pdist(raw_points(X, dim)), pdist(expected), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dim", [2, 5])
def test_every_principal_direction_has_one_sign_and_the_length_of_the_others(dim):
    projection = fit_raw_map(open_features(X, "cpu"), dim).projection
    gram = projection @ projection.T
    np.testing.assert_allclose(gram, np.eye(dim) * gram[0, 0], atol=1e-6)
    turned_over = fit_raw_map(open_features(X[::-1].copy(), "cpu"), dim).projection
    np.testing.assert_allclose(turned_over, projection, atol=1e-5)
    assert (np.take_along_axis(projection, np.abs(projection).argmax(axis=1)[:, None], 1) > 0).all()


def test_more_components_than_features_are_zero_beyond_them():
    points = raw_points(X, 9)
    assert not points[:, 6:].any()
    np.testing.assert_array_equal(points[:, :6], raw_points(X, 6))


# ---- as many components as the features are worth ----


@pytest.mark.parametrize("n_features", [1, 6, 256])
def test_up_to_256_features_are_all_kept_as_they_are(n_features):
    features = np.random.default_rng(1).normal(size=(50, n_features)).astype(np.float32)
    features *= np.geomspace(1, 1e-3, n_features)  # a quiet one may tell most
    projection = fit_raw_map(open_features(features.astype(np.float32), "cpu")).projection
    np.testing.assert_array_equal(projection, np.eye(n_features) * projection[0, 0])


def test_of_more_features_the_256_leading_directions_are_kept():
    opened = open_features(np.random.default_rng(1).random((300, 260), dtype=np.float32), "cpu")
    found, expected = fit_raw_map(opened).projection, fit_raw_map(opened, 256).projection
    assert found.shape == (256, 260)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_features", [6, 100])
def test_items_that_are_all_equal_are_one_point_by_default_too(n_features):
    features = np.full((10, n_features), 3, np.float32)
    points = raw_points(features, None)
    np.testing.assert_array_equal(points, np.zeros((10, n_features)))


@pytest.mark.parametrize("dim", [None, 4, 6])
@pytest.mark.parametrize("n_features", [6, 100])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(dim, n_features, wrong):
    features = np.ones((10, n_features), np.float32)
    features[3, 2] = wrong
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        fit_raw_map(open_features(features, "cpu"), dim)


# ---- outliers ----

OUTLYING = X.copy()
OUTLYING[3, 0] = 1000
OUTLYING[5, 4] = -1000
OUTLYING[::2, 5] = 0  # of the others, the usual is about 3


def within(features: np.ndarray) -> np.ndarray:
    """Return features within two deviations of what is not 0, and 0 where it is, one by one."""
    kept = features.astype(np.float64)
    for column in kept.T:
        there = column[column != 0]
        low, high = there.mean() - 2 * there.std(), there.mean() + 2 * there.std()
        if len(there) < len(column):
            low, high = min(low, 0), max(high, 0)
        column[:] = np.clip(column, low, high)
    return kept


def clipped_map(features: np.ndarray = OUTLYING, dim: int | None = None) -> RawMap:
    return fit_raw_map(open_features(features, "cpu"), dim, clipped=True)


@pytest.mark.parametrize("dim", [None, 3, 8])
def test_points_are_those_of_features_within_limits(dim):
    found = clipped_map(dim=dim).points(open_features(OUTLYING, "cpu"), EVERY)
    kept = within(OUTLYING)
    assert np.abs(kept).max() < np.abs(OUTLYING).max() / 2
    np.testing.assert_allclose(pdist(found), pdist(raw_points(kept, dim)), atol=1e-4)


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_what_items_have_or_have_not_is_no_outlier(share):
    has = (np.random.default_rng(0).random((200, 5)) < share).astype(np.float32)
    has[0], has[1] = 1, 0
    found = clipped_map(has).points(open_features(has, "cpu"), np.arange(200))
    np.testing.assert_array_equal(found, raw_points(has, None))


def test_a_feature_that_never_changes_has_nothing_to_add():
    raw = clipped_map(np.ones((10, 3), np.float32))
    np.testing.assert_array_equal(raw.limits, np.ones((2, 3)))
    changed = LinearPath(raw)(torch.tensor([[5.0, 1.0, -3.0]]))
    np.testing.assert_array_equal(changed.detach(), np.zeros((1, 3)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_limits_do_not_hide_what_is_no_number(wrong):
    items = torch.tensor(X[:2])
    items[1, 2] = wrong
    found = LinearPath(clipped_map(dim=4))(items).detach().numpy()
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


# ---- edges ----


def test_fewer_items_than_components_are_told_apart_as_before():
    few = X[:3]
    ratio = pdist(raw_points(few, 4)) / pdist(few)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)


@pytest.mark.parametrize("dim", [3, 6, 8])
def test_constant_features_add_nothing(dim):
    beside = np.column_stack([X, np.full(40, 7.0, dtype=np.float32)])
    np.testing.assert_allclose(
        pdist(raw_points(beside, dim)), pdist(raw_points(X, dim)), rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("dim", [2, 6, 8])
def test_items_that_are_all_equal_are_one_point_at_zero(dim):
    np.testing.assert_array_equal(raw_points(np.full((10, 6), 3, np.float32), dim), 0)


@pytest.mark.parametrize("dim", [5, 12, 15])
def test_images_of_bytes_are_flattened_and_give_what_floats_give(dim):
    points = raw_points(IMAGES, dim)
    flat = IMAGES.reshape(20, 12).astype(np.float32)
    np.testing.assert_array_equal(points, raw_points(IMAGES.astype(np.float32), dim))
    np.testing.assert_allclose(points, raw_points(flat, dim), atol=1e-6)


@pytest.mark.parametrize("dim", [4, 6])
def test_features_that_are_read_give_what_held_ones_give(dim, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(raw_points(mapped, dim), raw_points(X, dim))
    np.testing.assert_array_equal(
        fit_raw_map(open_features(sparse.csr_array(X), "cpu"), dim).projection,
        fit_raw_map(open_features(X, "cpu"), dim).projection,
    )


def test_the_map_is_estimated_on_items_spread_over_all(monkeypatch):
    monkeypatch.setattr(linear_path_module, "SAMPLED_NUMBERS", 6 * 10)
    monkeypatch.setattr(linear_path_module, "FEWEST_SAMPLED", 2)
    found = fit_raw_map(open_features(X, "cpu"), 6)
    spread = X[np.linspace(0, 39, 10).astype(int)]
    np.testing.assert_allclose(found.shift, spread.mean(axis=0), atol=1e-5)


def test_some_items_have_the_points_they_have_among_all():
    opened = open_features(X, "cpu")
    raw = fit_raw_map(opened, 4)
    some = np.array([7, 3, 31])
    np.testing.assert_allclose(raw.points(opened, some), raw.points(opened, EVERY)[some], atol=1e-6)


def test_a_turned_map_gives_the_points_times_the_turn():
    opened = open_features(X, "cpu")
    raw = fit_raw_map(opened, 4)
    turn = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
    found = raw.turned(turn).points(opened, EVERY)
    np.testing.assert_allclose(found, raw.points(opened, EVERY) @ turn, atol=1e-4)
    np.testing.assert_array_equal(
        raw.turned(np.eye(4, dtype=np.float32)).projection, raw.projection
    )


# ---- a network beside them ----


@pytest.mark.parametrize("features", [X, IMAGES], ids=["floats", "bytes"])
@pytest.mark.parametrize("kind", ["mlp", "mnist", "own"])
@pytest.mark.parametrize("dim", [4, 14])
def test_a_path_starts_as_the_features_to_the_bit(features, kind, dim):
    n_features = int(np.prod(features.shape[1:]))
    network, raw = a_path(own_network(n_features, dim) if kind == "own" else kind, features, dim)
    opened = open_features(features, "cpu")
    every = np.arange(len(features))
    expected = raw.points(opened, every)
    found = predict_points(network, opened, features.shape[1:], every)
    np.testing.assert_array_equal(found, expected)
    network.train()  # dropout or not
    found = network(torch.from_numpy(features)).detach().numpy()
    np.testing.assert_array_equal(found, expected)


def test_a_users_network_keeps_its_weights_and_is_brought_in_by_a_number():
    own = own_network()
    before = copy.deepcopy(own.state_dict())
    network, _ = a_path(own)
    for name, tensor in network.body[1].state_dict().items():
        assert tensor.equal(before[name])
    with torch.no_grad():
        items = torch.from_numpy(X)
        start = network(items)
        network.gain.fill_(2)
        torch.testing.assert_close(network(items), start + 2 * own(items))


@pytest.mark.parametrize("kind", ["mlp", "own"])
def test_the_gradient_reaches_every_parameter_after_a_step(kind):
    network, _ = a_path(own_network() if kind == "own" else kind)
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


def test_a_step_moves_the_linear_path_by_a_tenth_of_what_it_moves_a_network():
    network = LinearPath(fit_raw_map(open_features(X, "cpu"), 4))
    items = torch.from_numpy(X)
    with torch.no_grad():
        start = network(items)
        network.change.fill_(1)
        moved = network(items) - start
    expected = 0.1 * (X - X.mean(axis=0)).sum(axis=1)
    np.testing.assert_allclose(moved.numpy(), np.tile(expected[:, None], 4), atol=1e-4)


def test_the_features_of_the_start_are_not_trained():
    network, _ = a_path("mlp")
    trained = {name for name, _ in network.named_parameters()}
    assert "change" in trained
    assert not trained & {"shift", "projection"}
    assert {"shift", "projection"} <= network.state_dict().keys()


# ---- as a regressor ----


@pytest.mark.parametrize("dim", [3, 6, 8])
def test_a_linear_map_as_a_regressor_gives_the_same_points(dim):
    opened = open_features(X, "cpu")
    raw = fit_raw_map(opened, dim)
    found = as_regressor(raw)
    assert isinstance(found, LinearRegression)
    expected = raw.points(opened, EVERY)
    np.testing.assert_allclose(found.predict(X), expected, atol=1e-5)
    np.testing.assert_allclose(found.predict(sparse.csr_array(X)), expected, atol=1e-5)
    np.testing.assert_allclose(RegressorEmbedder(found).predict(X), expected, atol=1e-5)


@pytest.mark.parametrize("offset", [0, 50])  # with 50, 0 is outside of most limits
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array, sparse.csc_matrix])
def test_limits_are_kept_by_a_regressor_too(form, offset):
    features = OUTLYING + np.float32(offset)
    raw = clipped_map(features, 4)
    found = as_regressor(raw)
    expected = raw.points(open_features(features, "cpu"), EVERY)
    given = form(features)
    np.testing.assert_allclose(found.predict(given), expected, atol=1e-5)
    np.testing.assert_array_equal(  # which is left as it was
        given.toarray() if sparse.issparse(given) else np.asarray(given), features
    )


def test_a_regressor_with_limits_knows_its_columns():
    frame = pd.DataFrame(OUTLYING, columns=list("abcdef"))
    path = as_regressor(clipped_map(), frame)
    np.testing.assert_array_equal(path.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        path.predict(frame[list("fedcba")])
    with pytest.raises(ValueError, match="5 features, but"):
        as_regressor(clipped_map()).predict(OUTLYING[:, :5])


@pytest.mark.parametrize("dim", [1, 4])
def test_a_regressor_beside_a_path_adds_to_it(dim):
    opened = open_features(X, "cpu")
    raw = fit_raw_map(opened, dim)
    change = np.random.default_rng(2).normal(size=(40, dim)).astype(np.float32)
    rng = np.random.default_rng(0)
    fitted = fit_regressor(KNeighborsRegressor(1), X, change, EVERY, rng)
    np.testing.assert_allclose(fitted.predict(X), change, atol=1e-6)
    beside = RegressorEmbedder(fitted.regressor, as_regressor(raw))
    found = beside.predict(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, change + raw.points(opened, EVERY), atol=1e-5)


# ---- built again from its weights ----


@pytest.mark.parametrize("kind", ["alone", "limited", "mlp", "mnist", "own"])
def test_a_path_is_built_again_from_its_weights(kind):
    if kind in ("alone", "limited"):
        network = LinearPath(fit_raw_map(open_features(X, "cpu"), 4, clipped=kind == "limited"))
    else:
        network, _ = a_path(own_network() if kind == "own" else kind)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    fresh = nn.Sequential(nn.Flatten(), nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    again = build_scaled_network(
        fresh if kind == "own" else "mlp" if "l" in kind else kind, (6,), 4, state
    )
    items = torch.from_numpy(X)
    with torch.no_grad():
        assert again.eval()(items).equal(network.eval()(items))


def test_weights_of_another_network_beside_features_are_refused():
    network, _ = a_path("mlp")
    with pytest.raises(ValueError, match="The weights are not those of this network"):
        build_scaled_network("mnist", (6,), 4, network.state_dict())
