"""Scores of pairs: AUROC against its definition, similarities against a loop."""

from __future__ import annotations

from math import hypot

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from twofold.evaluation import _pairs, pair_auroc, pair_similarity, sparse_pair_similarity


def slow_auroc(similar, similarity):
    """Return the definition: the share of (alike, not alike) that are in order, ties one half."""
    wins = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, kind in zip(similarity, similar, strict=True)
        if kind
        for b, other_kind in zip(similarity, similar, strict=True)
        if not other_kind
    ]
    return sum(wins) / len(wins)


def slow_similarity(points, left, right, metric):
    found = []
    for i, j in zip(left, right, strict=True):
        coordinates = list(zip(points[i], points[j], strict=True))
        if metric == "dot":
            found.append(sum(a * b for a, b in coordinates))
        elif metric == "cosine":
            lengths = hypot(*points[i]) * hypot(*points[j])
            found.append(sum(a * b for a, b in coordinates) / lengths if lengths else 0.0)
        else:
            found.append(-(sum((a - b) ** 2 for a, b in coordinates) ** 0.5))
    return found


METRICS = ["euclidean", "dot", "cosine"]
SCORED_PAIRS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=25
).filter(lambda rows: len({kind for kind, _ in rows}) == 2)


@settings(deadline=None, max_examples=50)
@given(SCORED_PAIRS)
def test_auroc_is_its_definition_with_ties(rows):
    similar, similarity = zip(*rows, strict=True)
    assert pair_auroc(similar, similarity) == pytest.approx(slow_auroc(similar, similarity))


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_auroc_takes_0_and_1_of_any_type(kind):
    assert pair_auroc(np.array([1, 0, 0]).astype(kind), [2.0, 1.0, 3.0]) == 0.5


@pytest.mark.parametrize("metric", METRICS)
def test_a_better_placement_scores_better(metric):
    left, right, similar = [0, 0], [1, 2], [1, 0]  # 0 is like 1, and not like 2
    good = [[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0]]
    bad = [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.1]]
    assert pair_auroc(similar, pair_similarity(good, left, right, metric)) == 1.0
    assert pair_auroc(similar, pair_similarity(bad, left, right, metric)) == 0.0


@pytest.mark.parametrize(("similar", "kind"), [([1, 1, 1], "alike"), ([0, 0, 0], "not alike")])
def test_auroc_refuses_pairs_of_one_kind(similar, kind):
    with pytest.raises(ValueError, match=rf"both kinds, but all 3 pair\(s\) are {kind}"):
        pair_auroc(similar, [1.0, 2.0, 3.0])


def test_auroc_refuses_no_pairs():
    with pytest.raises(ValueError, match=r"0 pair\(s\)"):
        pair_auroc([], [])


@pytest.mark.parametrize(
    ("similar", "place"),
    [
        ([1, 0, 0.5], r"row 2 \(0\.5\)"),
        ([1, -1, 0], r"row 1 \(-1"),
        ([np.nan, 1, 0], r"row 0 \(nan\)"),
        ([1, 0, 2], r"row 2 \(2"),
    ],
)
def test_auroc_refuses_grades_and_says_how_to_make_them_0_or_1(similar, place):
    with pytest.raises(ValueError, match=rf"similar must be .*0 or 1.*1 value.*{place}.*similar >"):
        pair_auroc(similar, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_auroc_refuses_a_similarity_that_is_not_finite(value):
    with pytest.raises(ValueError, match=rf"similarity must be finite.* row 1 \({value}\)"):
        pair_auroc([1, 0, 1], [0.0, value, 1.0])


def test_auroc_refuses_lengths_that_differ():
    with pytest.raises(ValueError, match="similar has 2, similarity has 3"):
        pair_auroc([1, 0], [1.0, 2.0, 3.0])


def test_auroc_refuses_arrays_of_two_dimensions():
    with pytest.raises(ValueError, match=r"one dimension, got shape \(1, 2\)"):
        pair_auroc([[0, 1]], [[1.0, 2.0]])


@settings(deadline=None, max_examples=50)
@given(
    points=arrays(np.float32, (5, 3), elements=st.floats(-10, 10, width=32)),
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12),
    metric=st.sampled_from(METRICS),
)
def test_similarity_is_that_of_a_loop(points, pairs, metric):
    left, right = np.array(pairs, dtype=int).reshape(-1, 2).T
    found = pair_similarity(points, left, right, metric)
    assert found.dtype == np.float32
    assert found.shape == (len(pairs),)
    wanted = slow_similarity(points.astype(float), left, right, metric)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


def test_cosine_knows_directions_only():
    # Along 0 lies 1, at half a right angle 2, across 3, against it 4; 5 has no direction.
    points = [[3.0, 0.0], [0.1, 0.0], [7.0, 7.0], [0.0, 5.0], [-2.0, 0.0], [0.0, 0.0]]
    found = pair_similarity(points, [0] * 6, range(6), "cosine")
    np.testing.assert_allclose(found, [1, 1, 0.5**0.5, 0, -1, 0], atol=1e-6)
    assert pair_similarity(points, [5], [5], "cosine") == 0


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_cosine_of_tiny_and_of_huge_points_keeps_its_digits(scale):
    found = pair_similarity([[3 * scale, 4 * scale], [scale, 0.0]], [0], [1], "cosine")
    assert found == pytest.approx(0.6)


def test_cosine_stays_between_minus_1_and_1():
    points = np.random.default_rng(0).normal(size=(500, 7))
    both = np.vstack([points, -points])
    assert pair_similarity(points, np.arange(500), np.arange(500), "cosine").max() <= 1
    assert pair_similarity(both, np.arange(500), np.arange(500, 1000), "cosine").min() >= -1


def test_similarity_is_euclidean_by_default():
    assert pair_similarity([[0.0, 0.0], [3.0, 4.0]], [0], [1]).tolist() == [-5.0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("chunk_numbers", [1, 8, 21, 10_000])
def test_similarity_does_not_depend_on_the_chunks(monkeypatch, metric, chunk_numbers):
    rng = np.random.default_rng(0)
    points, pairs = rng.normal(size=(9, 4)), rng.integers(0, 9, (2, 23))
    whole = pair_similarity(points, *pairs, metric)
    monkeypatch.setattr(_pairs, "CHUNK_NUMBERS", chunk_numbers)
    np.testing.assert_allclose(pair_similarity(points, *pairs, metric), whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "dot", "cosine"])
@pytest.mark.parametrize("chunk_numbers", [1, 100, 2**24])
def test_sparse_rows_are_as_similar_as_dense_ones(monkeypatch, metric, chunk_numbers):
    monkeypatch.setattr(_pairs, "CHUNK_NUMBERS", chunk_numbers)
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(20, 9)) * (rng.random((20, 9)) < 0.3)).astype(np.float32)
    points[3] = 0
    left, right = rng.integers(20, size=(2, 50))
    left[0] = 3
    expected = pair_similarity(points, left, right, metric)
    found = sparse_pair_similarity(sparse.csr_array(points), left, right, metric)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32


def test_sparse_bytes_and_huge_numbers_do_not_wrap_around():
    for points in (np.array([[0, 3], [200, 0]], np.uint8), np.array([[0, 3e30], [2e30, 0]])):
        found = sparse_pair_similarity(
            sparse.csr_array(points), np.array([0]), np.array([1]), "euclidean"
        )
        assert found[0] == pytest.approx(-hypot(float(points[0, 1]), float(points[1, 0])))


def test_similarity_refuses_an_unknown_metric():
    with pytest.raises(ValueError, match="'cosine', 'hamming', got 'manhattan'"):
        pair_similarity(np.eye(2), [0], [1], "manhattan")


@pytest.mark.parametrize(
    ("left", "right", "error", "sentence"),
    [
        ([0, -1], [1, 2], ValueError, r"left has 1 .* row 1 \(item -1\)"),
        ([0, 1], [3, 2], ValueError, r"right has 1 .* row 0 \(item 3\)"),
        ([0.0], [1], TypeError, r"left must hold integers, got float64"),
        ([0, 1, 2], [0], ValueError, r"left has 3, right has 1"),
    ],
)
def test_similarity_refuses_bad_rows_of_points(left, right, error, sentence):
    with pytest.raises(error, match=sentence):
        pair_similarity(np.eye(3), left, right)


def test_similarity_refuses_points_of_one_dimension():
    with pytest.raises(ValueError, match=r"points .* \(3,\)"):
        pair_similarity([1.0, 2.0, 3.0], [0], [1])
