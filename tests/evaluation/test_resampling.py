"""The bootstrap: against a loop, what a class changes, and several labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from twofold.evaluation import _resampling
from twofold.evaluation._relevance import LabelRelevance, class_membership
from twofold.evaluation._resampling import bootstrap_intervals


def slow_means(scores, membership, n_resamples, rng):
    """Draw units, one resample after the other; membership[q][u] are the weights."""
    units = [u for u in range(len(membership[0])) if any(row[u] for row in membership)]
    means = []
    for _ in range(n_resamples):
        drawn = [units[u] for u in rng.integers(len(units), size=len(units))]
        weights = [sum(row[u] for u in drawn) for row in membership]
        total = sum(w * s for w, s in zip(weights, scores, strict=True))
        means.append(total / sum(weights))
    return means


@pytest.mark.parametrize("resample", ["classes", "items"])
def test_intervals_are_those_of_a_loop(resample):
    rng = np.random.default_rng(0)
    scores = rng.random((15, 2))
    dense = rng.random((15, 4)) * (rng.random((15, 4)) < 0.5)
    dense[:, 2] = 0.0  # a class that no query has is never drawn
    dense[:, 0] += 0.1
    membership = sparse.csr_array(dense)
    intervals = bootstrap_intervals(scores, membership, resample, 50, np.random.default_rng(1))
    units = dense if resample == "classes" else np.diag(dense.sum(axis=1))
    for column, interval in enumerate(intervals):
        rng = np.random.default_rng(1)
        means = slow_means(scores[:, column].tolist(), units.tolist(), 50, rng)
        assert interval == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_classes_that_differ_make_a_wider_interval_than_their_items():
    classes = np.repeat(np.arange(8), 50)
    scores = (classes % 2).astype(float)[:, None]
    membership = class_membership(classes, np.ones(400))
    widths = {}
    for resample in ("classes", "items"):
        rng = np.random.default_rng(0)
        ((low, high),) = bootstrap_intervals(scores, membership, resample, 500, rng)
        widths[resample] = high - low
    # A class counts as one draw, not as fifty: about √50 times as wide.
    assert 4 < widths["classes"] / widths["items"] < 10


def test_equal_scores_leave_nothing_uncertain():
    membership = class_membership(np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0]))
    for resample in ("classes", "items"):
        rng = np.random.default_rng(0)
        assert bootstrap_intervals(np.full((3, 1), 0.25), membership, resample, 9, rng) == [
            pytest.approx((0.25, 0.25))
        ]


def test_intervals_do_not_depend_on_the_chunks(monkeypatch):
    scores = np.random.default_rng(0).random((30, 1))
    membership = class_membership(np.arange(30) % 7, np.ones(30))

    def intervals():
        return bootstrap_intervals(scores, membership, "items", 40, np.random.default_rng(5))

    before = intervals()
    monkeypatch.setattr(_resampling, "DRAWN_NUMBERS", 64)
    assert intervals()[0] == pytest.approx(before[0])


def test_a_query_belongs_to_its_labels_in_equal_parts():
    labels = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.float32))
    membership = LabelRelevance(labels, labels).membership().toarray()
    np.testing.assert_array_equal(membership, [[0.5, 0.5, 0], [0, 0, 1], [0, 0, 0]])
