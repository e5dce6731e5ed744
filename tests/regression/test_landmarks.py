"""Maps that are solved for, linear and around landmarks, against the slow formulas they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from twofold.regression import (
    LandmarkMap,
    LinearPath,
    MapBasis,
    build_scaled_network,
    fit_raw_map,
    is_map,
    landmark_basis,
    linear_basis,
    map_as_regressor,
    open_features,
    predict_points,
)
from twofold.regression import _landmarks as landmarks_module
from twofold.regression import _regressor as regressor_module
from twofold.regression._landmarks import JITTER, RIDGE, WIDTH, closeness

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 5)) * [3, 2, 1, 1, 0.5] + [4, 0, -1, 0, 2]).astype(np.float32)
UNSEEN = (RNG.normal(size=(25, 5)) * 2).astype(np.float32)
CHANGE = RNG.normal(size=(60, 5)).astype(np.float32)


def a_basis(kind: str = "landmarks", features=X, seed: int = 0) -> MapBasis:
    """Return the basis of one kind of map of some features."""
    opened = open_features(features, "cpu")
    raw = fit_raw_map(opened, clipped=True)
    points = raw.points(opened, np.arange(len(features)))
    if kind == "linear":
        return linear_basis(raw, points, "cpu")
    return landmark_basis(raw, points, "cpu", np.random.default_rng(seed))


def some_weights(basis: MapBasis) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return 0.3 * torch.randn(basis.values.shape[1], 5, generator=generator)


def raw_points(basis: MapBasis, features) -> np.ndarray:
    opened = open_features(features, "cpu")
    return basis.raw.points(opened, np.arange(len(features)))


def slow_closeness(points, landmarks, width: float) -> np.ndarray:
    points, landmarks = np.asarray(points, dtype=float), np.asarray(landmarks, dtype=float)
    return np.array(
        [
            [np.exp(-np.sum((point - landmark) ** 2) / (2 * width**2)) for landmark in landmarks]
            for point in points
        ]
    )


# ---- closeness ----


@pytest.mark.parametrize("width", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("n_points", [1, 3, 60])
def test_closeness_is_one_at_a_landmark_and_falls_with_the_squared_distance(width, n_points):
    points = torch.from_numpy(X[:n_points] / 4)
    landmarks = torch.from_numpy(X[:40] / 4)
    found = closeness(points, landmarks, width)
    np.testing.assert_allclose(found, slow_closeness(points, landmarks, width), atol=2e-5)
    np.testing.assert_allclose(found.diagonal(), 1, atol=2e-5)


def test_a_points_closeness_does_not_depend_on_how_many_are_asked_about():
    points, landmarks = torch.from_numpy(UNSEEN / 4), torch.from_numpy(X / 4)
    whole = closeness(points, landmarks, 0.5)
    one_by_one = torch.cat([closeness(point[None], landmarks, 0.5) for point in points])
    torch.testing.assert_close(one_by_one, whole, atol=2e-6, rtol=0)


def test_closeness_changes_neither_points_nor_landmarks():
    points, landmarks = torch.from_numpy(UNSEEN.copy()), torch.from_numpy(X.copy())
    closeness(points, landmarks, 0.5)
    np.testing.assert_array_equal(points, UNSEEN)
    np.testing.assert_array_equal(landmarks, X)


# ---- the basis ----


def test_landmarks_are_items_and_half_the_median_distance_wide():
    basis = a_basis()
    points = raw_points(basis, X)
    landmarks = basis.landmarks.points.numpy()
    assert {tuple(row) for row in landmarks} == {tuple(row) for row in points}
    gaps = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(60, 1)]
    assert basis.landmarks.width == pytest.approx(WIDTH * np.median(gaps), rel=0.01)


def test_a_basis_is_raw_points_and_closeness_whose_inner_products_are_closeness_again():
    basis = a_basis()
    points = raw_points(basis, X)
    np.testing.assert_array_equal(basis.values[:, :5], points)
    assert basis.values.shape == (60, 65)
    around = basis.values[:, 5:].double().numpy()
    expected = slow_closeness(points, points, basis.landmarks.width)
    # K (K + ε)⁻¹ K is K but for ε; every item is a landmark here.
    np.testing.assert_allclose(around @ around.T, expected, atol=2 * JITTER)


def test_a_linear_basis_is_the_raw_points():
    basis = a_basis("linear")
    np.testing.assert_array_equal(basis.values, raw_points(basis, X))
    assert basis.landmarks is None


def test_a_basis_is_the_same_in_blocks(monkeypatch):
    whole = a_basis().values
    monkeypatch.setattr(landmarks_module, "BLOCK", 7)
    torch.testing.assert_close(a_basis().values, whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("largest", "expected"), [(60 * 12, 12), (60 * 1000, 60), (1, 1)])
def test_with_many_items_there_are_fewer_landmarks(largest, expected, monkeypatch):
    monkeypatch.setattr(landmarks_module, "LARGEST_BASIS", largest)
    basis = a_basis()
    assert basis.landmarks.points.shape == (expected, 5)
    assert basis.values.shape == (60, 5 + expected)


def test_no_more_landmarks_than_a_number_are_drawn_and_none_twice(monkeypatch):
    monkeypatch.setattr(landmarks_module, "N_LANDMARKS", 40)
    landmarks = a_basis().landmarks.points.numpy()
    assert len(np.unique(landmarks, axis=0)) == len(landmarks) == 40


def test_the_same_seed_draws_the_same_landmarks_and_another_does_not(monkeypatch):
    monkeypatch.setattr(landmarks_module, "N_LANDMARKS", 10)
    first, again, other = (a_basis(seed=seed) for seed in (3, 3, 4))
    assert first.values.numpy().tobytes() == again.values.numpy().tobytes()
    assert not first.landmarks.points.equal(other.landmarks.points)


# ---- regression ----


def kernel_of(basis: MapBasis, points, others) -> np.ndarray:
    """Return the kernel of a basis whose landmarks are all items, in float64: ZZᵀ + K."""
    points, others = np.asarray(points, dtype=float), np.asarray(others, dtype=float)
    return points @ others.T + slow_closeness(points, others, basis.landmarks.width)


def test_around_landmarks_it_is_kernel_ridge_regression():
    basis = a_basis()
    points, unseen = raw_points(basis, X), raw_points(basis, UNSEEN)
    weights = basis.ready().weights(torch.from_numpy(CHANGE))
    expected = KernelRidge(alpha=RIDGE, kernel="precomputed")
    expected.fit(kernel_of(basis, points, points), CHANGE.astype(float))
    np.testing.assert_allclose(
        basis.sum(weights), expected.predict(kernel_of(basis, points, points)), atol=1e-3
    )
    with torch.no_grad():
        found = basis.as_map(weights)(torch.from_numpy(UNSEEN)).numpy() - unseen
    np.testing.assert_allclose(found, expected.predict(kernel_of(basis, unseen, points)), atol=1e-3)


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
@pytest.mark.parametrize("n_landmarks", [2000, 9])
def test_weights_are_those_of_a_ridge_regression_on_the_functions(kind, n_landmarks, monkeypatch):
    monkeypatch.setattr(landmarks_module, "N_LANDMARKS", n_landmarks)
    basis = a_basis(kind)
    functions = basis.values.double().numpy()
    ridge = Ridge(alpha=basis.ridge, fit_intercept=False).fit(functions, CHANGE.astype(float))
    found = basis.ready().weights(torch.from_numpy(CHANGE))
    np.testing.assert_allclose(found, ridge.coef_.T, atol=1e-4)
    np.testing.assert_allclose(basis.sum(found), ridge.predict(functions), atol=1e-4)


def test_weights_are_the_minimum_of_squared_errors_and_ridge():
    basis = a_basis()
    change = torch.from_numpy(CHANGE).double()
    weights = basis.ready().weights(torch.from_numpy(CHANGE)).double().requires_grad_()
    values = basis.values.double()
    loss = (values @ weights - change).square().sum() + basis.ridge * weights.square().sum()
    (gradient,) = torch.autograd.grad(loss, weights)
    assert gradient.abs().max() < 1e-3 * basis.ridge


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_items_that_are_left_out_are_not_regressed_on(kind):
    basis = a_basis(kind)
    rows = np.arange(0, 60, 2)
    found = basis.ready(rows).weights(torch.from_numpy(CHANGE[rows]))
    functions = basis.values.double().numpy()[rows]
    ridge = Ridge(alpha=basis.ridge, fit_intercept=False).fit(functions, CHANGE[rows].astype(float))
    np.testing.assert_allclose(found, ridge.coef_.T, atol=1e-4)


def test_landmarks_bend_where_a_linear_map_does_not():
    rng = np.random.default_rng(0)
    corners = rng.choice([-1, 1], size=(400, 2))
    features = (corners + 0.1 * rng.normal(size=(400, 2))).astype(np.float32)
    change = np.repeat(corners[:, :1] * corners[:, 1:], 2, axis=1).astype(np.float32)
    for kind, least, most in (("linear", 0.9, 1.1), ("landmarks", 0, 0.1)):
        basis = a_basis(kind, features)
        left = change - basis.sum(basis.ready().weights(torch.from_numpy(change))).numpy()
        assert least <= np.mean(left**2) <= most


# ---- as a map ----


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_a_map_is_the_raw_points_and_the_basis_sum(kind):
    basis = a_basis(kind)
    weights = some_weights(basis)
    map_ = basis.as_map(weights)
    assert isinstance(map_, LinearPath if kind == "linear" else LandmarkMap)
    found = predict_points(map_, open_features(X, "cpu"), (5,), np.arange(60))
    expected = raw_points(basis, X) + basis.sum(weights).numpy()
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_a_map_of_unseen_items_is_turned_points_and_heights_by_definition():
    basis = a_basis()
    map_ = basis.as_map(some_weights(basis))
    points = raw_points(basis, UNSEEN).astype(float)
    near = slow_closeness(points, map_.landmarks, float(map_.width))
    expected = points @ map_.turn.double().numpy() + near @ map_.heights.double().numpy()
    found = map_(torch.from_numpy(UNSEEN)).numpy()
    np.testing.assert_allclose(found, expected, atol=5e-3)  # heights are in the tens


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_unseen_items_get_what_their_functions_sum_to(kind, monkeypatch):
    """A basis over more items with the same landmarks has the same functions."""
    monkeypatch.setattr(landmarks_module, "N_LANDMARKS", 20)
    basis = a_basis(kind)
    weights = some_weights(basis)
    points = torch.from_numpy(raw_points(basis, UNSEEN))
    values = points
    if basis.landmarks is not None:
        values = torch.cat([points, basis.landmarks.whitened(points)], dim=1)
    found = basis.as_map(weights)(torch.from_numpy(UNSEEN)).detach()
    torch.testing.assert_close(found, points + values @ weights, atol=5e-4, rtol=0)


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_no_weights_are_the_features_as_they_are(kind):
    basis = a_basis(kind)
    map_ = basis.as_map(torch.zeros(basis.values.shape[1], 5))
    found = map_(torch.from_numpy(UNSEEN)).detach().numpy()
    np.testing.assert_allclose(found, raw_points(basis, UNSEEN), atol=1e-6)


def test_a_map_takes_images_of_bytes():
    images = RNG.integers(0, 256, size=(20, 1, 3, 2), dtype=np.uint8)
    basis = a_basis(features=images)
    map_ = basis.as_map(0.1 * torch.ones(basis.values.shape[1], 6))
    flat = a_basis(features=images.reshape(20, 6).astype(np.float32))
    expected = flat.as_map(0.1 * torch.ones(flat.values.shape[1], 6))
    found = map_(torch.from_numpy(images))
    torch.testing.assert_close(
        found, expected(torch.from_numpy(images).flatten(1).float()), atol=1e-4, rtol=0
    )


def test_a_map_around_landmarks_is_built_again_from_its_weights():
    basis = a_basis()
    map_ = basis.as_map(some_weights(basis))
    state = {name: tensor.clone() for name, tensor in map_.state_dict().items()}
    assert is_map(state)
    again = build_scaled_network("mlp", (5,), 5, state)
    assert isinstance(again, LandmarkMap)
    items = torch.from_numpy(UNSEEN)
    assert again.eval()(items).equal(map_.eval()(items))
    assert not list(map_.parameters())


# ---- as a regressor ----


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, pd.DataFrame]
)
def test_a_map_as_a_regressor_gives_the_same_points(kind, form):
    basis = a_basis(kind)
    map_ = basis.as_map(some_weights(basis))
    found = map_as_regressor(map_).predict(form(UNSEEN))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, map_(torch.from_numpy(UNSEEN)).detach(), atol=1e-4)


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_a_map_as_a_regressor_knows_the_columns_by_name(kind):
    frame = pd.DataFrame(UNSEEN, columns=list("abcde"))
    basis = a_basis(kind)
    map_ = basis.as_map(some_weights(basis))
    found = map_as_regressor(map_, frame).predict(frame)  # a warning would be an error here
    np.testing.assert_allclose(found, map_(torch.from_numpy(UNSEEN)).detach(), atol=1e-4)
    with pytest.raises(ValueError, match="feature names"):
        map_as_regressor(map_, frame).predict(frame.rename(columns={"b": "z"}))


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array, pd.DataFrame])
def test_points_are_predicted_in_parts(kind, form, monkeypatch):
    basis = a_basis(kind)
    embedder = map_as_regressor(basis.as_map(some_weights(basis)))
    whole = embedder.predict(form(UNSEEN))
    monkeypatch.setattr(regressor_module, "PREDICTED_AT_ONCE", 4)
    np.testing.assert_allclose(embedder.predict(form(UNSEEN)), whole, atol=1e-5)


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
def test_no_items_at_all_are_refused_in_words(kind):
    basis = a_basis(kind)
    embedder = map_as_regressor(basis.as_map(some_weights(basis)))
    with pytest.raises(ValueError, match="0 sample"):
        embedder.predict(UNSEEN[:0])


# ---- edges ----


@pytest.mark.parametrize("kind", ["linear", "landmarks"])
@pytest.mark.parametrize("n_items", [1, 2, 30])
def test_items_that_are_all_one_point_stay_finite(kind, n_items):
    features = np.full((n_items, 5), 3, dtype=np.float32)
    basis = a_basis(kind, features)
    weights = basis.ready().weights(torch.from_numpy(CHANGE[:n_items]))
    assert torch.isfinite(weights).all()
    found = basis.as_map(weights)(torch.from_numpy(features)).detach()
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found, basis.sum(weights), atol=1e-4, rtol=0)
    if kind == "landmarks":
        assert basis.landmarks.width == 1


def test_items_that_are_stated_twice_do_no_harm():
    twice = np.repeat(X[:30], 2, axis=0)
    basis = a_basis(features=twice)
    weights = basis.ready().weights(torch.from_numpy(CHANGE))
    found = basis.as_map(weights)(torch.from_numpy(twice)).numpy()
    np.testing.assert_allclose(
        found, raw_points(basis, twice) + basis.sum(weights).numpy(), atol=1e-3
    )
    np.testing.assert_allclose(found[::2], found[1::2], atol=1e-5)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_one_item_far_from_all_others_is_no_error(size):
    features = X.copy()
    features[7] *= size
    basis = a_basis(features=features)
    weights = basis.ready().weights(torch.from_numpy(CHANGE))
    assert torch.isfinite(weights).all()
    assert torch.isfinite(basis.values).all()
