"""How likely a pair is alike, from similarities of statements that were left out."""

from __future__ import annotations

import numpy as np
import pytest

from twofold import PairRelation
from twofold.asking import fit_calibration
from twofold.evaluation import pair_similarity

METRICS = ("euclidean", "dot", "cosine")


def problem(n_items: int = 80, n_pairs: int = 300, seed: int = 0):
    """Return points of two classes on either side of the origin, and pairs, some of them wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % 2
    points = rng.normal(size=(n_items, 3)) + 2 * (2 * y - 1)[:, None]
    left, right = np.triu_indices(n_items, 1)
    rows = rng.permutation(left.size)[:n_pairs]
    left, right = left[rows], right[rows]
    similar = (y[left] == y[right]) ^ (rng.random(n_pairs) < 0.1)
    return points.astype(np.float32), PairRelation(left, right, similar, n_items)


def calibrated(points, relation, metric="euclidean", refit=None, seed=0):
    return fit_calibration(relation, points, metric, refit, np.random.default_rng(seed))


def similarity(points, relation, metric):
    return pair_similarity(points, relation.left, relation.right, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_more_similar_is_more_likely_and_the_mean_is_the_share_of_the_alike(metric):
    points, relation = problem()
    values = similarity(points, relation, metric)
    curve = calibrated(points, relation, metric)
    found = curve.probability(values)
    odds = np.exp(curve.slope * values / curve.scale + curve.offset)
    np.testing.assert_allclose(found, odds / (1 + odds), rtol=1e-4)
    in_order = np.argsort(values)
    assert (np.diff(found[in_order]) >= 0).all()
    assert found.max() - found.min() > 0.5
    assert found.mean() == pytest.approx(relation.similar.mean(), abs=0.01)
    middle = values > np.median(values)
    assert found[middle].mean() == pytest.approx(relation.similar[middle].mean(), abs=0.1)


@pytest.mark.parametrize("metric", METRICS)
def test_similarities_that_tell_nothing_or_the_contrary_have_slope_0(metric):
    points, relation = problem()
    contrary = PairRelation(relation.left, relation.right, 1 - relation.similar, 80)
    at_one_place = np.ones((80, 3), dtype=np.float32)
    for where, stated in ((points, contrary), (at_one_place, relation)):
        curve = calibrated(where, stated, metric)
        assert curve.slope == 0
        found = curve.probability(np.array([-5, 0, 5], dtype=np.float32))
        assert found == pytest.approx(stated.similar.mean(), abs=1e-5)


def test_each_statement_is_scored_without_itself():
    points, relation = problem()
    seen = []

    def refit(kept):
        seen.append(kept)
        # What was fitted without them knows nothing of the rest.
        return np.random.default_rng(len(seen)).normal(size=points.shape).astype(np.float32)

    naive, honest = (calibrated(points, relation, refit=how) for how in (None, refit))
    assert len(seen) == 3
    assert sum(relation.n_pairs - kept.n_pairs for kept in seen) == relation.n_pairs
    assert naive.slope > 5 * honest.slope


def test_points_of_another_scale_in_refits_and_too_few_to_refit_do_no_harm():
    points, relation = problem()
    values = similarity(points, relation, "euclidean")
    plain, scaled = (
        calibrated(points, relation, refit=lambda kept, by=by: by * points) for by in (1, 100)
    )
    np.testing.assert_allclose(scaled.probability(values), plain.probability(values), atol=1e-4)
    few = PairRelation([0, 2, 1], [2, 4, 2], [1, 1, 0], 80)
    assert calibrated(points, few, refit=lambda kept: 1 / 0) == calibrated(points, few)


def test_weights_and_grades_count_for_what_they_say():
    points, relation = problem()
    values = similarity(points, relation, "euclidean")
    graded = PairRelation(relation.left, relation.right, 0.2 + 0.6 * relation.similar, 80)
    milder = calibrated(points, graded)
    assert 0 < milder.slope < calibrated(points, relation).slope
    assert milder.probability(values).mean() == pytest.approx(graded.similar.mean(), abs=0.01)
    weight = 1 + 9 * relation.similar
    weighted = PairRelation(relation.left, relation.right, relation.similar, 80, weight)
    heavier = calibrated(points, weighted).probability(values)
    expected = np.average(relation.similar, weights=weight)
    assert np.average(heavier, weights=weight) == pytest.approx(expected, abs=0.02)
