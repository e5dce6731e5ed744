"""The features as points: distances kept, outliers cut, rows of one length where asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cosine, pdist
from sklearn.decomposition import PCA

from twofold.regression import (
    FeaturesAsGiven,
    Projection,
    fit_projection,
    open_features,
    predict_points,
)
from twofold.regression import _projection as projection_module
from twofold.regression._projection import ProjectionLayer

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(40, 6)) * [5, 3, 2, 1, 0.5, 0.1] + [9, -4, 0, 1, 2, 3]).astype(np.float32)
IMAGES = RNG.integers(0, 256, size=(20, 1, 3, 4), dtype=np.uint8)


def project(features, n_directions: int | None = None, **options) -> Projection:
    return fit_projection(open_features(features, "cpu"), n_directions, **options)


def points_of(features, n_directions: int | None = None, **options) -> np.ndarray:
    """Return the points of all items, by the projection that is fitted to them."""
    opened = open_features(features, "cpu")
    projection = fit_projection(opened, n_directions, **options)
    return projection.points(opened, np.arange(opened.n_items))


# ---- distances and directions ----


@pytest.mark.parametrize("n_directions", [None, 6, 7, 12])
def test_distances_are_those_of_the_features_over_one_number(n_directions):
    ratio = pdist(points_of(X, n_directions)) / pdist(X)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


@pytest.mark.parametrize("n_directions", [1, 3, 6, 9])
def test_points_are_centred_and_of_length_one_in_the_mean(n_directions):
    points = points_of(X, n_directions)
    assert points.dtype == np.float32
    assert points.shape == (40, n_directions)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-5)
    assert np.mean((points**2).sum(axis=1)) == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("n_directions", [1, 2, 5])
def test_fewer_directions_than_features_are_the_principal_ones(n_directions):
    expected = PCA(n_directions).fit_transform(X.astype(float))
    expected /= np.sqrt((expected**2).sum(axis=1).mean())
    points = points_of(X, n_directions)
    np.testing.assert_allclose(pdist(points), pdist(expected), rtol=1e-3, atol=1e-5)


def test_directions_have_equal_length_and_a_sign_that_the_order_of_items_does_not_change():
    matrix = project(X, 5).matrix
    gram = matrix @ matrix.T
    np.testing.assert_allclose(gram, np.eye(5) * gram[0, 0], atol=1e-6)
    np.testing.assert_allclose(project(X[::-1].copy(), 5).matrix, matrix, atol=1e-5)
    largest = np.abs(matrix).argmax(axis=1)[:, None]
    assert (np.take_along_axis(matrix, largest, 1) > 0).all()


def test_more_directions_than_features_are_zero_beyond_them():
    points = points_of(X, 9)
    assert not points[:, 6:].any()
    np.testing.assert_allclose(points[:, :6], points_of(X, 6), rtol=1e-5, atol=1e-6)


def test_all_features_are_kept_by_default():
    features = np.random.default_rng(1).normal(size=(50, 80)).astype(np.float32)
    features *= np.geomspace(1, 1e-3, 80).astype(np.float32)  # a quiet one may tell most
    matrix = project(features).matrix.astype(float)
    np.testing.assert_allclose(matrix.T @ matrix / (matrix[0] @ matrix[0]), np.eye(80), atol=1e-5)


@pytest.mark.parametrize("n_items", [300, 12])
def test_randomised_directions_span_the_leading_space(n_items, monkeypatch):
    rng = np.random.default_rng(0)
    loud = rng.normal(size=(n_items, 8)) @ rng.normal(size=(8, 60))
    features = (loud + rng.normal(size=(n_items, 60))).astype(np.float32)
    exact = project(features, 8)
    monkeypatch.setattr(projection_module, "LARGEST_EXACT", 10)
    randomised = project(features, 8)
    assert np.rad2deg(subspace_angles(exact.matrix.T, randomised.matrix.T)).max() < 3
    assert randomised.matrix[0] @ randomised.matrix[0] == pytest.approx(
        exact.matrix[0] @ exact.matrix[0], rel=0.01
    )


def test_randomised_directions_that_the_items_do_not_have_are_zero(monkeypatch):
    monkeypatch.setattr(projection_module, "LARGEST_EXACT", 3)
    matrix = project(X[:4, :6], 5).matrix
    assert matrix.shape == (5, 6)
    assert matrix[:3].any(axis=1).all()
    assert not matrix[4].any()
    assert np.isfinite(matrix).all()


# ---- outliers ----

OUTLYING = X.copy()
OUTLYING[3, 0] = 1000
OUTLYING[5, 4] = -1000
OUTLYING[::2, 5] = 0  # the others are about 3


def within_limits(features: np.ndarray) -> np.ndarray:
    """Return features within two deviations of what is not 0, and 0 where it is, one by one."""
    kept = features.astype(np.float64)
    for column in kept.T:
        present = column[column != 0]
        low, high = present.mean() - 2 * present.std(), present.mean() + 2 * present.std()
        if len(present) < len(column):
            low, high = min(low, 0), max(high, 0)
        column[:] = np.clip(column, low, high)
    return kept


@pytest.mark.parametrize("n_directions", [None, 3, 8])
def test_points_are_those_of_features_within_limits(n_directions):
    kept = within_limits(OUTLYING)
    assert np.abs(kept).max() < np.abs(OUTLYING).max() / 2
    points = points_of(OUTLYING, n_directions, clipped=True)
    np.testing.assert_allclose(pdist(points), pdist(points_of(kept, n_directions)), atol=1e-4)


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_what_items_have_or_have_not_is_no_outlier(share):
    has = (np.random.default_rng(0).random((200, 5)) < share).astype(np.float32)
    has[0], has[1] = 1, 0
    np.testing.assert_allclose(points_of(has, clipped=True), points_of(has), atol=1e-6)


def test_a_feature_that_never_changes_has_nothing_to_add():
    projection = project(np.ones((10, 3), np.float32), clipped=True)
    np.testing.assert_array_equal(projection.limits, np.ones((2, 3)))
    points = ProjectionLayer(projection)(torch.tensor([[5.0, 1.0, -3.0]]))
    np.testing.assert_array_equal(points, np.zeros((1, 3)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_limits_do_not_hide_what_is_no_number(wrong):
    items = torch.tensor(X[:2])
    items[1, 2] = wrong
    points = ProjectionLayer(project(OUTLYING, 4, clipped=True))(items).numpy()
    assert np.isfinite(points[0]).all()
    assert np.isnan(points[1]).all()


# ---- rows of one length ----


def test_distances_of_unit_rows_are_cosines():
    ratio = pdist(points_of(X, unit=True)) ** 2 / pdist(X, cosine)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)


def test_unit_rows_do_not_know_how_long_they_were():
    lengths = np.random.default_rng(1).uniform(0.1, 50, size=(40, 1)).astype(np.float32)
    longer = points_of(X * lengths, 4, clipped=True, unit=True)
    np.testing.assert_allclose(longer, points_of(X, 4, clipped=True, unit=True), atol=1e-4)


def test_a_row_of_zeros_has_no_direction_and_is_no_error():
    features = X.copy()
    features[7] = 0
    assert np.isfinite(points_of(features, 4, clipped=True, unit=True)).all()


# ---- edges ----


@pytest.mark.parametrize("n_directions", [None, 4, 6])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(n_directions, wrong):
    features = np.ones((10, 6), np.float32)
    features[3, 2] = wrong
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        project(features, n_directions)


@pytest.mark.parametrize("n_directions", [None, 2, 6, 8])
@pytest.mark.parametrize("n_items", [1, 10])
def test_items_that_are_all_equal_are_one_point_at_zero(n_directions, n_items):
    points = points_of(np.full((n_items, 6), 3, np.float32), n_directions)
    np.testing.assert_array_equal(points, np.zeros((n_items, n_directions or 6)))


def test_fewer_items_than_directions_are_told_apart_as_before():
    ratio = pdist(points_of(X[:3], 4)) / pdist(X[:3])
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)


@pytest.mark.parametrize("n_directions", [3, 6, 8])
def test_constant_features_add_nothing(n_directions):
    beside = np.column_stack([X, np.full(40, 7.0, dtype=np.float32)])
    np.testing.assert_allclose(
        pdist(points_of(beside, n_directions)),
        pdist(points_of(X, n_directions)),
        rtol=1e-3,
        atol=1e-6,
    )


@pytest.mark.parametrize("n_directions", [5, 12, 15])
def test_images_of_bytes_are_flattened_and_give_what_floats_give(n_directions):
    flat = IMAGES.reshape(20, 12).astype(np.float32)
    points = points_of(IMAGES, n_directions)
    np.testing.assert_allclose(points, points_of(flat, n_directions), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_directions", [4, 6])
@pytest.mark.parametrize("options", [{}, {"clipped": True}, {"unit": True}])
def test_features_that_are_sparse_or_in_a_file_give_what_held_ones_give(
    n_directions, options, tmp_path
):
    some = np.where(X > 0, X, 0)
    expected = points_of(some, n_directions, **options)
    np.save(tmp_path / "X.npy", some)
    for form in (np.load(tmp_path / "X.npy", mmap_mode="r"), sparse.csr_array(some)):
        points = points_of(form, n_directions, **options)
        np.testing.assert_allclose(points, expected, rtol=1e-5, atol=1e-6)


def test_a_projection_is_estimated_on_items_spread_over_all(monkeypatch):
    monkeypatch.setattr(projection_module, "SAMPLED_NUMBERS", 6 * 10)
    monkeypatch.setattr(projection_module, "FEWEST_SAMPLED", 2)
    spread = X[np.linspace(0, 39, 10).astype(int)]
    np.testing.assert_allclose(project(X, 6).shift, spread.mean(axis=0), atol=1e-5)


def test_some_items_have_the_points_they_have_among_all():
    opened = open_features(X, "cpu")
    some = np.array([7, 3, 31])
    points = fit_projection(opened, 4).points(opened, some)
    np.testing.assert_allclose(points, points_of(X, 4)[some], atol=1e-6)


# ---- the features as given ----


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_features_as_given_are_all_columns_untouched(form):
    points = predict_points(FeaturesAsGiven(), open_features(form(X), "cpu"), (6,))
    np.testing.assert_array_equal(points, X)


def test_images_as_given_are_flat_and_bytes_are_the_numbers_they_are():
    points = predict_points(FeaturesAsGiven(), open_features(IMAGES, "cpu"), (1, 3, 4))
    assert points.dtype == np.float32
    np.testing.assert_array_equal(points, IMAGES.reshape(20, 12))
