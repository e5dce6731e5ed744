"""Standardised targets: centred, one scale, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.targets import standardise_targets
from twofold.targets._standardise import ROWS_AT_ONCE


def some_points(seed: int = 0, shape: tuple[int, int] = (50, 4)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(0.1, 20, shape[1])
    return (rng.normal(size=shape) * sizes + rng.normal(size=shape[1]) * 3).astype(np.float32)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), n_items=st.integers(2, 60), dim=st.integers(1, 9))
def test_targets_are_centred_with_a_mean_deviation_of_one(seed, n_items, dim):
    standardised, _, _ = standardise_targets(some_points(seed, (n_items, dim)))
    assert standardised.dtype == np.float32
    np.testing.assert_allclose(standardised.mean(axis=0, dtype=np.float64), 0, atol=1e-5)
    assert standardised.std(axis=0, dtype=np.float64).mean() == pytest.approx(1, rel=1e-4)


def test_one_scale_is_common_to_all_components():
    points = some_points()
    standardised, _, scale = standardise_targets(points)
    distances = np.linalg.norm(points[:25].astype(np.float64) - points[25:], axis=1)
    after = np.linalg.norm(standardised[:25].astype(np.float64) - standardised[25:], axis=1)
    np.testing.assert_allclose(distances / after, scale, rtol=1e-5)
    deviations = standardised.std(axis=0)
    assert deviations.max() > 10 * deviations.min()


def test_the_scale_is_the_mean_of_the_components_deviations():
    points = np.array([[0, 0], [2, 6], [0, 6], [2, 0]])
    standardised, mean, scale = standardise_targets(points)
    assert scale == pytest.approx((1 + 3) / 2)
    np.testing.assert_array_equal(mean, [1, 3])
    np.testing.assert_allclose(standardised, (points - [1, 3]) / 2)


def test_undoing_gives_the_points_back():
    points = some_points()
    standardised, mean, scale = standardise_targets(points)
    assert mean.dtype == np.float32
    assert isinstance(scale, float)
    np.testing.assert_allclose(standardised * scale + mean, points, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, 1e6])
def test_points_that_coincide_have_scale_one_and_are_zero(value):
    standardised, mean, scale = standardise_targets(np.full((7, 3), value))
    assert scale == 1
    assert not standardised.any()
    np.testing.assert_allclose(mean, value)


def test_points_far_from_the_origin_keep_their_shape():
    points = some_points() + np.float32(4096)
    standardised, _, _ = standardise_targets(points)
    assert np.abs(standardised.mean(axis=0)).max() < 1e-3


def test_the_given_points_are_not_changed():
    points = some_points()
    before = points.copy()
    standardise_targets(points)
    np.testing.assert_array_equal(points, before)


def test_lists_are_taken():
    standardised, mean, scale = standardise_targets([[0], [2]])
    np.testing.assert_array_equal(standardised, [[-1], [1]])
    assert (mean.tolist(), scale) == ([1], 1)


@pytest.mark.parametrize("shape", [(3,), (0, 4), (4, 0), (2, 3, 4), ()])
def test_a_wrong_shape_is_refused_with_it(shape):
    with pytest.raises(ValueError, match="points must have shape") as caught:
        standardise_targets(np.zeros(shape))
    assert str(shape) in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused_with_its_place(value):
    points = some_points()
    points[7, 2] = points[9, 0] = value
    with pytest.raises(ValueError, match=rf"row 7, column 2 \({value}\)"):
        standardise_targets(points)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), n_points=st.integers(1, 20))
def test_counts_stand_for_repeated_points(seed, n_points):
    points = some_points(seed, (n_points, 3))
    counts = np.random.default_rng(seed).integers(1, 6, size=n_points)
    repeated = standardise_targets(np.repeat(points, counts, axis=0))
    table, mean, scale = standardise_targets(points, counts)
    np.testing.assert_allclose(np.repeat(table, counts, axis=0), repeated[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, repeated[1], rtol=1e-5)
    assert scale == pytest.approx(repeated[2], rel=1e-5)


def test_points_that_nobody_has_do_not_count():
    points = np.array([[50.0], [0], [2]])
    standardised, mean, scale = standardise_targets(points, [0, 1, 1])
    assert (mean.tolist(), scale) == ([1], 1)
    np.testing.assert_array_equal(standardised, [[49], [-1], [1]])


def test_a_table_longer_than_a_block_is_standardised_as_a_whole():
    points = some_points(shape=(ROWS_AT_ONCE * 2 + 3, 2)).astype(np.float64)
    standardised, mean, scale = standardise_targets(points)
    np.testing.assert_allclose(mean, points.mean(axis=0), rtol=1e-5)
    assert scale == pytest.approx(points.std(axis=0).mean(), rel=1e-5)
    np.testing.assert_allclose(standardised, (points - mean) / scale, atol=1e-5)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], r"shape \(3,\), got \(2,\)"),
        ([1, -2, 1], r"first wrong at row 1 \(-2\)"),
        ([1, 1, np.nan], r"first wrong at row 2 \(nan\)"),
        ([0, 0, 0], "all 0"),
    ],
)
def test_wrong_counts_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        standardise_targets(np.eye(3), counts)
