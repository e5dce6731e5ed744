"""The AUROC of all pairs: against that of the pairs written down, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import slow_scores
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from twofold.evaluation import _neighbours, all_pairs_auroc, pair_auroc, pair_similarity

METRICS = ["euclidean", "cosine", "dot"]


def slow_auroc(points, is_alike, metric):
    """Compare every alike pair with every other."""
    near, far = [], []
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            kind = near if is_alike(i, j) else far
            kind.append(slow_scores.nearness(points[i], points[j], metric))
    right = [(a < b) + 0.5 * (a == b) for a in near for b in far]
    return sum(right) / len(right)


@settings(max_examples=60)
@given(st.integers(3, 12), st.integers(0, 2**32 - 1), st.sampled_from(["euclidean", "dot"]))
def test_the_score_is_that_of_a_loop_where_distances_tie(n, seed, metric):
    rng = np.random.default_rng(seed)
    points, classes = rng.integers(-2, 3, (n, 2)), rng.integers(0, 3, n)
    labels = rng.integers(0, 2, (n, 3))
    for names, is_alike in (
        (classes, lambda i, j: classes[i] == classes[j]),
        (labels, lambda i, j: bool((labels[i] & labels[j]).any())),
    ):
        kinds = {bool(is_alike(i, j)) for i in range(n) for j in range(i)}
        assume(len(kinds) == 2)
        assert all_pairs_auroc(points, names, metric=metric) == pytest.approx(
            slow_auroc(points.tolist(), is_alike, metric)
        )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_score_is_that_of_all_pairs_written_down(metric, dtype):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 6, 200)
    points = (rng.normal(size=(6, 4))[classes] + rng.normal(size=(200, 4))).astype(dtype)
    left, right = np.triu_indices(200, 1)
    similarity = pair_similarity(points, left, right, metric)
    wanted = pair_auroc(classes[left] == classes[right], similarity)
    assert 0.55 < wanted < 0.95
    assert all_pairs_auroc(points, classes, metric=metric) == pytest.approx(wanted, abs=1e-6)
    labels = np.eye(6)[classes]
    for form in (labels, sparse.csr_array(labels)):
        assert all_pairs_auroc(points, form, metric=metric) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_a_better_placement_scores_better(metric):
    classes = ["a", "a", "b", "b"]
    good = [[2, 0.1], [2, 0], [0, 2], [0.1, 2]]
    bad = [[2, 0.1], [-2, -0.1], [0, 2], [0.1, -2]]
    assert all_pairs_auroc(good, classes, metric=metric) == 1.0
    assert all_pairs_auroc(bad, classes, metric=metric) == 0.0
    assert all_pairs_auroc(np.ones((4, 2)), classes, metric=metric) == 0.5


def test_the_score_does_not_depend_on_the_chunks(monkeypatch):
    rng = np.random.default_rng(7)
    points, classes = rng.normal(size=(90, 4)), rng.integers(0, 6, 90)
    before = all_pairs_auroc(points, classes)
    monkeypatch.setattr(_neighbours, "PRODUCT_NUMBERS", 900)
    monkeypatch.setattr(_neighbours, "BLOCK_NUMBERS", 200)
    assert all_pairs_auroc(points, classes) == pytest.approx(before)


@pytest.mark.parametrize(
    ("labels", "kind"), [([0, 1, 2], "not alike"), ([0, 0, 0], "alike"), (np.zeros((3, 2)), "not")]
)
def test_pairs_of_one_kind_are_refused(labels, kind):
    with pytest.raises(ValueError, match=rf"both kinds, but all 3 pair\(s\) of 3 items are {kind}"):
        all_pairs_auroc(np.eye(3), labels)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match=r"but all 0 pair\(s\) of 1 items are not alike"):
        all_pairs_auroc([[0.0]], [0])
    with pytest.raises(ValueError, match=r"points has 3 row\(s\) and labels has 2"):
        all_pairs_auroc(np.eye(3), [0, 0])
    with pytest.raises(ValueError, match=r"labels has 1 item\(s\) of unknown class"):
        all_pairs_auroc(np.eye(3), [0, 0, -1])
    with pytest.raises(ValueError, match="metric must be one of"):
        all_pairs_auroc(np.eye(3), [0, 0, 1], metric="manhattan")
