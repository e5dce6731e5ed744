"""Ridge maps, against the slow formulas they are: normal equations and kernels in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge

from twofold.regression import (
    RIDGE,
    NetworkEmbedder,
    RidgeBasis,
    fit_projection,
    open_features,
    predict_points,
    ridge_basis,
)
from twofold.regression import _ridge_map as ridge_map_module
from twofold.regression._ridge_map import JITTER, KERNEL_WIDTH, rbf_kernel

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 5)) * [3, 2, 1, 1, 0.5] + [4, 0, -1, 0, 2]).astype(np.float32)
UNSEEN = (RNG.normal(size=(25, 5)) * 2).astype(np.float32)
OUTPUTS = RNG.normal(size=(60, 5)).astype(np.float32)


def a_basis(features=X, seed: int = 0, n_directions: int | None = None) -> RidgeBasis:
    opened = open_features(features, "cpu")
    projection = fit_projection(opened, n_directions, clipped=True)
    points = projection.points(opened, np.arange(opened.n_items))
    return ridge_basis(projection, points, "cpu", np.random.default_rng(seed))


def some_weights(basis: RidgeBasis, n_outputs: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return 0.3 * torch.randn(basis.values.shape[1], n_outputs, generator=generator)


def start_points(basis: RidgeBasis, features) -> np.ndarray:
    opened = open_features(features, "cpu")
    return basis.projection.points(opened, np.arange(opened.n_items))


def slow_kernel(points, landmarks, width: float) -> np.ndarray:
    points, landmarks = np.asarray(points, dtype=float), np.asarray(landmarks, dtype=float)
    return np.array(
        [
            [np.exp(-np.sum((point - landmark) ** 2) / (2 * width**2)) for landmark in landmarks]
            for point in points
        ]
    )


def slow_weights(basis: RidgeBasis, outputs, ridge: float = RIDGE, rows=slice(None)) -> np.ndarray:
    """Solve the normal equations (FᵀF + ρI) W = FᵀY in float64."""
    functions = basis.values.double().numpy()[rows]
    gram = functions.T @ functions + ridge * np.eye(functions.shape[1])
    return np.linalg.solve(gram, functions.T @ np.asarray(outputs, dtype=float))


# ---- the kernel ----


@pytest.mark.parametrize("width", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("n_points", [1, 3, 60])
def test_the_kernel_is_one_at_a_landmark_and_falls_with_the_squared_distance(width, n_points):
    points = torch.from_numpy(X[:n_points] / 4)
    landmarks = torch.from_numpy(X[:40] / 4)
    kernel = rbf_kernel(points, landmarks, width)
    np.testing.assert_allclose(kernel, slow_kernel(points, landmarks, width), atol=1e-6)
    np.testing.assert_allclose(kernel.diagonal(), 1, atol=1e-6)


def test_the_kernel_tells_points_apart_beside_one_that_is_far_away():
    points = torch.from_numpy(np.vstack([X[:5], np.full((1, 5), 1e4, np.float32)]))
    kernel = rbf_kernel(points, points, 1.0)
    np.testing.assert_allclose(kernel, slow_kernel(points, points, 1.0), atol=1e-5)


def test_the_kernel_changes_neither_points_nor_landmarks():
    points, landmarks = torch.from_numpy(UNSEEN.copy()), torch.from_numpy(X.copy())
    rbf_kernel(points, landmarks, 0.5)
    np.testing.assert_array_equal(points, UNSEEN)
    np.testing.assert_array_equal(landmarks, X)


# ---- the basis ----


def test_landmarks_are_items_and_the_kernel_is_half_their_median_distance_wide():
    basis = a_basis()
    points = start_points(basis, X)
    order = np.lexsort(points.T), np.lexsort(basis.landmarks.numpy().T)
    np.testing.assert_allclose(basis.landmarks.numpy()[order[1]], points[order[0]], rtol=1e-5)
    gaps = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(60, 1)]
    assert basis.width == pytest.approx(KERNEL_WIDTH * np.median(gaps), rel=0.01)


def test_a_basis_is_points_and_functions_whose_inner_products_are_the_kernel():
    basis = a_basis()
    points = start_points(basis, X)
    np.testing.assert_allclose(basis.values[:, :5], points, rtol=1e-5, atol=1e-6)
    assert basis.values.shape == (60, 65)
    functions = basis.values[:, 5:].double().numpy()
    # K (K + εI)⁻¹ K is K but for ε; every item is a landmark here.
    expected = slow_kernel(points, points, basis.width)
    np.testing.assert_allclose(functions @ functions.T, expected, atol=2 * JITTER)


def test_a_basis_is_the_same_in_blocks(monkeypatch):
    whole = a_basis().values
    monkeypatch.setattr(ridge_map_module, "BLOCK", 7)
    torch.testing.assert_close(a_basis().values, whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("n_each", "expected"), [(12, 12), (1000, 60), (0, 1)])
@pytest.mark.parametrize(("bound", "n_numbers"), [("LARGEST_BASIS", 60), ("LARGEST_MAP", 5)])
def test_with_many_items_or_directions_there_are_fewer_landmarks(
    bound, n_numbers, n_each, expected, monkeypatch
):
    monkeypatch.setattr(ridge_map_module, bound, n_each * n_numbers)
    basis = a_basis()
    assert basis.landmarks.shape == (expected, 5)
    assert basis.values.shape == (60, 5 + expected)


def test_no_more_landmarks_than_a_number_are_drawn_and_none_twice(monkeypatch):
    monkeypatch.setattr(ridge_map_module, "N_LANDMARKS", 40)
    landmarks = a_basis().landmarks.numpy()
    assert len(np.unique(landmarks, axis=0)) == len(landmarks) == 40


def test_the_same_seed_draws_the_same_landmarks_and_another_does_not(monkeypatch):
    monkeypatch.setattr(ridge_map_module, "N_LANDMARKS", 10)
    first, again, other = (a_basis(seed=seed) for seed in (3, 3, 4))
    torch.testing.assert_close(first.landmarks, again.landmarks)
    assert not np.allclose(first.landmarks, other.landmarks)


# ---- regression ----


@pytest.mark.parametrize("n_landmarks", [2000, 9])
@pytest.mark.parametrize("ridge", [0.3, RIDGE, 900.0])
@pytest.mark.parametrize("rows", [None, np.arange(0, 60, 2), np.array([7, 3])])
def test_weights_solve_the_normal_equations(n_landmarks, ridge, rows, monkeypatch):
    monkeypatch.setattr(ridge_map_module, "N_LANDMARKS", n_landmarks)
    basis = a_basis()
    outputs = OUTPUTS if rows is None else OUTPUTS[rows]
    regression = basis.regression(ridge, rows)
    expected = slow_weights(basis, outputs, ridge, slice(None) if rows is None else rows)
    weights = regression.weights(torch.from_numpy(outputs))
    np.testing.assert_allclose(weights, expected, atol=2e-4)
    predicted = regression.predict(torch.from_numpy(outputs))
    np.testing.assert_allclose(predicted, basis.values.double().numpy() @ expected, atol=2e-4)


@pytest.mark.parametrize("rows", [None, np.arange(10, 50)])
def test_the_hat_matrix_predicts_what_the_weights_predict(rows, monkeypatch):
    basis = a_basis()
    outputs = torch.from_numpy(OUTPUTS if rows is None else OUTPUTS[rows])
    by_hat = basis.regression(RIDGE, rows)
    monkeypatch.setattr(ridge_map_module, "LARGEST_HAT", 0)
    by_weights = basis.regression(RIDGE, rows)
    assert by_hat.hat is not None
    assert by_weights.hat is None
    torch.testing.assert_close(
        by_hat.predict(outputs), by_weights.predict(outputs), atol=1e-5, rtol=1e-4
    )


def test_weights_are_the_minimum_of_squared_errors_and_ridge():
    basis = a_basis()
    outputs = torch.from_numpy(OUTPUTS)
    weights = basis.regression(RIDGE).weights(outputs).double().requires_grad_()
    errors = basis.values.double() @ weights - outputs.double()
    loss = errors.square().sum() + RIDGE * weights.square().sum()
    (gradient,) = torch.autograd.grad(loss, weights)
    assert gradient.abs().max() < 1e-3 * RIDGE


def test_it_is_kernel_ridge_regression_with_a_linear_and_an_rbf_kernel():
    basis = a_basis()
    points, unseen = (start_points(basis, features).astype(float) for features in (X, UNSEEN))

    def kernel(some):  # every item is a landmark
        return some @ points.T + slow_kernel(some, points, basis.width)

    model = KernelRidge(alpha=RIDGE, kernel="precomputed")
    model.fit(kernel(points), OUTPUTS.astype(float))
    weights = basis.regression(RIDGE).weights(torch.from_numpy(OUTPUTS))
    with torch.no_grad():
        change = basis.as_map(weights)(torch.from_numpy(UNSEEN)).numpy() - unseen
    np.testing.assert_allclose(change, model.predict(kernel(unseen)), atol=1e-3)


def test_a_larger_ridge_keeps_the_map_nearer_to_its_start():
    basis, outputs = a_basis(), torch.from_numpy(OUTPUTS)
    sizes = [float(basis.regression(ridge).predict(outputs).norm()) for ridge in (0.1, 30, 900)]
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2] > 0


def test_the_kernel_learns_what_no_linear_map_does():
    rng = np.random.default_rng(0)
    corners = rng.choice([-1, 1], size=(300, 2))
    features = (corners + 0.1 * rng.normal(size=(300, 2))).astype(np.float32)
    product = torch.from_numpy(corners[:, :1] * corners[:, 1:]).float()
    basis = a_basis(features)
    error = basis.regression(RIDGE).predict(product) - product
    assert error.square().mean() < 0.2
    linear = basis.values[:, :2].double().numpy()
    fitted = linear @ np.linalg.lstsq(linear, product.double().numpy())[0]
    assert np.mean((fitted - product.numpy()) ** 2) > 0.9


# ---- as a map ----


def test_a_map_is_the_points_and_the_functions_sum():
    basis = a_basis()
    weights = some_weights(basis)
    mapped = predict_points(basis.as_map(weights), open_features(X, "cpu"), (5,))
    expected = start_points(basis, X) + (basis.values @ weights).numpy()
    np.testing.assert_allclose(mapped, expected, atol=5e-4)


def test_a_map_of_unseen_items_is_a_kernel_expansion_by_definition():
    basis = a_basis()
    map_ = basis.as_map(some_weights(basis))
    points = start_points(basis, UNSEEN).astype(float)
    kernel = slow_kernel(points, map_.landmarks, float(map_.width))
    expected = points @ map_.linear_weights.double().numpy()
    expected += kernel @ map_.dual_coef.double().numpy()
    np.testing.assert_allclose(map_(torch.from_numpy(UNSEEN)), expected, atol=5e-3)


def test_no_weights_leave_the_points_where_they_start():
    basis = a_basis()
    map_ = basis.as_map(torch.zeros(basis.values.shape[1], 5))
    np.testing.assert_allclose(
        map_(torch.from_numpy(UNSEEN)), start_points(basis, UNSEEN), atol=1e-6
    )


def test_a_map_has_nothing_to_train():
    basis = a_basis()
    assert not list(basis.as_map(some_weights(basis)).parameters())


def test_a_map_takes_images_of_bytes_as_the_numbers_they_are():
    images = RNG.integers(0, 256, size=(20, 1, 3, 2), dtype=np.uint8)
    flat = images.reshape(20, 6).astype(np.float32)
    from_images, from_flat = a_basis(images), a_basis(flat)
    weights = 0.1 * torch.ones(26, 6)
    torch.testing.assert_close(
        from_images.as_map(weights)(torch.from_numpy(images)),
        from_flat.as_map(weights)(torch.from_numpy(flat)),
        atol=1e-4,
        rtol=0,
    )


def test_sparse_features_give_what_dense_ones_give():
    few = np.where(X > 1, X, 0).astype(np.float32)
    dense, compressed = a_basis(few), a_basis(sparse.csr_array(few))
    torch.testing.assert_close(compressed.values, dense.values, atol=1e-5, rtol=0)
    embedder = NetworkEmbedder(dense.as_map(some_weights(dense)), (5,), "cpu")
    np.testing.assert_allclose(
        embedder.predict(sparse.csr_array(few)), embedder.predict(few), rtol=1e-5, atol=1e-5
    )


# ---- edges ----


@pytest.mark.parametrize("n_items", [1, 2, 30])
def test_items_that_are_all_one_point_stay_finite(n_items):
    features = np.full((n_items, 5), 3, dtype=np.float32)
    basis = a_basis(features)
    assert basis.width == 1
    weights = basis.regression(RIDGE).weights(torch.from_numpy(OUTPUTS[:n_items]))
    mapped = basis.as_map(weights)(torch.from_numpy(features))
    assert torch.isfinite(mapped).all()
    torch.testing.assert_close(mapped, basis.values @ weights, atol=1e-4, rtol=0)


def test_more_directions_than_features_are_regressed_too():
    basis = a_basis(n_directions=8)
    outputs = np.column_stack([OUTPUTS, OUTPUTS[:, :3]])
    assert basis.values.shape == (60, 68)
    weights = basis.regression(RIDGE).weights(torch.from_numpy(outputs))
    np.testing.assert_allclose(weights, slow_weights(basis, outputs), atol=2e-4)


def test_items_that_are_given_twice_do_no_harm():
    twice = np.repeat(X[:30], 2, axis=0)
    basis = a_basis(twice)
    weights = basis.regression(RIDGE).weights(torch.from_numpy(OUTPUTS))
    mapped = basis.as_map(weights)(torch.from_numpy(twice)).numpy()
    expected = start_points(basis, twice) + (basis.values @ weights).numpy()
    np.testing.assert_allclose(mapped, expected, atol=1e-3)
    np.testing.assert_allclose(mapped[::2], mapped[1::2], atol=1e-5)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_one_item_far_from_all_others_is_no_error(size):
    features = X.copy()
    features[7] *= size
    basis = a_basis(features)
    assert torch.isfinite(basis.values).all()
    assert torch.isfinite(basis.regression(RIDGE).predict(torch.from_numpy(OUTPUTS))).all()
