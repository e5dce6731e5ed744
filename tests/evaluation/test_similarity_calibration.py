"""How likely a pair is alike, from the similarities of pairs whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.evaluation import fit_similarity_calibration, scaled_similarity

METRICS = ("euclidean", "dot", "cosine")


def problem(metric: str = "euclidean", n_items: int = 80, n_pairs: int = 300):
    """Return what is stated of points of two classes, some of it wrong, and their similarities."""
    rng = np.random.default_rng(0)
    y = np.arange(n_items) % 2
    points = (rng.normal(size=(n_items, 3)) + 2 * (2 * y - 1)[:, None]).astype(np.float32)
    left, right = np.triu_indices(n_items, 1)
    rows = rng.permutation(left.size)[:n_pairs]
    left, right = left[rows], right[rows]
    similar = (y[left] == y[right]) ^ (rng.random(n_pairs) < 0.1)
    return similar.astype(np.float32), scaled_similarity(points, left, right, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_more_similar_is_more_likely_and_the_mean_is_the_share_of_the_alike(metric):
    similar, values = problem(metric)
    curve = fit_similarity_calibration(similar, values)
    found = curve.probability(values)
    odds = np.exp(curve.slope * values + curve.offset)
    np.testing.assert_allclose(found, odds / (1 + odds), rtol=1e-4)
    in_order = np.argsort(values)
    assert (np.diff(found[in_order]) >= 0).all()
    assert found.max() - found.min() > 0.5
    assert found.mean() == pytest.approx(similar.mean(), abs=0.01)
    middle = values > np.median(values)
    assert found[middle].mean() == pytest.approx(similar[middle].mean(), abs=0.1)


def test_similarities_that_tell_nothing_or_the_contrary_have_slope_0():
    similar, values = problem()
    for stated, similarity in ((1 - similar, values), (similar, np.ones(300))):
        curve = fit_similarity_calibration(stated, similarity)
        assert curve.slope == 0
        found = curve.probability(np.array([-5, 0, 5]))
        assert found == pytest.approx(stated.mean(), abs=1e-5)


def test_weights_and_grades_count_for_what_they_say():
    similar, values = problem()
    graded = 0.2 + 0.6 * similar
    milder = fit_similarity_calibration(graded, values)
    assert 0 < milder.slope < fit_similarity_calibration(similar, values).slope
    assert milder.probability(values).mean() == pytest.approx(graded.mean(), abs=0.01)
    weight = 1 + 9 * similar
    heavier = fit_similarity_calibration(similar, values, weight).probability(values)
    expected = np.average(similar, weights=weight)
    assert np.average(heavier, weights=weight) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("metric", METRICS)
def test_a_scaled_similarity_does_not_depend_on_how_far_the_points_spread(metric):
    points = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    left, right = np.triu_indices(20, 1)
    once, larger = (scaled_similarity(by * points, left, right, metric) for by in (1, 100))
    np.testing.assert_allclose(larger, once, rtol=1e-4)
    in_one_place = scaled_similarity(np.ones((20, 3), np.float32), left, right, metric)
    assert np.isfinite(in_one_place).all()
