"""Scores of kinds, and the whitening within classes, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.metrics.pairwise import cosine_similarity

from twofold.evaluation import all_pairs_auroc, one_shot_accuracy, retrieval_scores
from twofold.experiments import best_score
from twofold.experiments._kind_scores import MOST_SCORED, score_kinds, scored_rows
from twofold.experiments._whitening import fit_whitening


def clouds(n_classes, spread, n_each=6, seed=0):
    """Return points around random centres, and their classes."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(n_classes), n_each)
    centres = rng.normal(size=(n_classes, 8))
    return centres[classes] + spread * rng.normal(size=(len(classes), 8)), classes


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_scores_are_those_of_evaluation(metric):
    points, classes = clouds(20, 0.5)
    scores = score_kinds(points, classes, metric, seed=3)
    retrieval = retrieval_scores(points, classes, k=(1, 5, 10), metric=metric, random_state=3)
    assert scores.auroc == all_pairs_auroc(points, classes, metric=metric)
    assert scores.retrieval == {
        **{f"recall_at_{k}": share for k, share in retrieval.recall_at.items()},
        "r_precision": retrieval.r_precision,
        "map_at_r": retrieval.map_at_r,
    }
    assert set(scores.intervals) == {*scores.retrieval, "one_shot"}
    assert scores.intervals["map_at_r"] == retrieval.intervals["map_at_r"]
    exact = one_shot_accuracy(points, classes, n_way=20, n_episodes="all", metric=metric)
    assert scores.one_shot == exact.accuracy
    assert scores.resampled == "classes"


def test_kinds_that_lie_apart_score_better_by_everything():
    near, far = (score_kinds(*clouds(20, spread), "euclidean", 0) for spread in (0.05, 2.0))
    names = ("auroc", "recall_at_1", "recall_at_10", "r_precision", "map_at_r", "one_shot")
    for name in names:
        assert near.find(name) > far.find(name), name
        assert best_score([far, near], name) == near.find(name)


def test_one_example_of_twenty_needs_twenty_kinds():
    scores = score_kinds(*clouds(19, 0.5), "cosine", 0)
    assert scores.one_shot is None
    assert "one_shot" not in scores.intervals
    assert scores.find("one_shot") is None
    assert best_score([scores], "one_shot") is None


def test_too_many_items_are_spread_evenly():
    assert scored_rows(10).tolist() == list(range(10))
    rows = scored_rows(3 * MOST_SCORED)
    assert (rows[0], rows[-1], len(np.unique(rows))) == (0, 3 * MOST_SCORED - 1, MOST_SCORED)


def test_whitening_is_the_inverse_root_of_the_shrunk_covariance_within_classes():
    points, classes = clouds(4, 1.0, n_each=30)
    points = points * np.arange(1, 9)
    within = np.zeros((8, 8))
    for label in range(4):
        off = points[classes == label] - points[classes == label].mean(axis=0)
        within += off.T @ off
    within /= len(points) - 1
    shrunk = 0.5 * within + 0.5 * np.trace(within) / 8 * np.eye(8)
    expected = (points - points.mean(axis=0)) @ np.linalg.inv(sqrtm(shrunk).real)
    found = fit_whitening(points, classes).apply(points)
    assert found.dtype == np.float32
    # Up to a rotation: lengths and cosines are the same.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(cosine_similarity(found), cosine_similarity(expected), atol=1e-5)
