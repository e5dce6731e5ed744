from __future__ import annotations

import builtins
import importlib.util

import numpy as np
import pytest
from brute_force import nearest, similarities
from hypothesis import given, settings
from hypothesis import strategies as st

import twofold.search._exact as exact
import twofold.search._finder as finder
from twofold.search import NeighbourIndex

METRICS = ("cosine", "euclidean", "dot")
BACKENDS = (
    pytest.param(
        "faiss",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("faiss") is None, reason="FAISS is not installed"
        ),
    ),
    "torch",
    "numpy",
)
everywhere = pytest.mark.parametrize("backend", BACKENDS)
each_metric = pytest.mark.parametrize("metric", METRICS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks so small that a test's points are in many."""
    monkeypatch.setattr(exact, "QUERY_BLOCK", 7)
    monkeypatch.setattr(exact, "POINT_BLOCK", 16)


def index_of(points, metric="euclidean", backend="numpy", **options):
    index = NeighbourIndex(metric, backend=backend, **options)
    index.add(range(len(points)), points)
    return index


def gaussian(n, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


# The definition


@everywhere
@each_metric
@pytest.mark.parametrize("k", [1, 5, 60])
def test_neighbours_are_those_of_brute_force(metric, backend, k):
    points, queries = gaussian(60, 5), gaussian(20, 5, seed=1)
    rows, similarity = nearest(queries, points, k, metric)
    answer = index_of(points, metric, backend).query(queries, k)
    np.testing.assert_array_equal(answer.rows, rows)
    np.testing.assert_array_equal(answer.ids, rows)
    np.testing.assert_allclose(answer.similarity, similarity, rtol=1e-6, atol=1e-7)


@everywhere
@each_metric
def test_equally_similar_items_come_in_the_order_of_their_rows(metric, backend):
    rng = np.random.default_rng(0)
    points = rng.integers(-1, 2, (300, 3))  # 27 different points: everything is tied
    queries = rng.integers(-1, 2, (20, 3))
    rows, _ = nearest(queries, points, 12, metric)
    np.testing.assert_array_equal(index_of(points, metric, backend).query(queries, 12).rows, rows)


@everywhere
@each_metric
def test_more_copies_of_a_point_than_spare_candidates_lose_none(metric, backend):
    points = np.repeat(gaussian(3, 4) + 1, 40, axis=0)[np.random.default_rng(0).permutation(120)]
    rows, _ = nearest(points[:5], points, 6, metric)
    answer = index_of(points, metric, backend).query(points[:5], 6)
    np.testing.assert_array_equal(answer.rows, rows)


@everywhere
def test_points_far_from_the_origin_keep_their_digits(backend):
    points = gaussian(50, 4) + 3000
    rows, similarity = nearest(points, points, 4, "euclidean")
    answer = index_of(points, backend=backend).query(points, 4)
    np.testing.assert_array_equal(answer.rows, rows)
    np.testing.assert_array_equal(answer.distance[:, 0], 0)
    np.testing.assert_allclose(answer.similarity, similarity, rtol=1e-6)


@everywhere
@pytest.mark.parametrize("size", [1e-30, 1e14])
@each_metric
def test_very_small_and_very_large_points_have_the_same_neighbours(metric, size, backend):
    points, queries = gaussian(40, 3), gaussian(10, 3, seed=1)
    scaled = (points * np.float32(size)), (queries * np.float32(size))
    rows, _ = nearest(scaled[1], scaled[0], 5, metric)
    np.testing.assert_array_equal(
        index_of(scaled[0], metric, backend).query(scaled[1], 5).rows, rows
    )


@everywhere
@each_metric
def test_a_distance_is_small_and_a_similarity_large_for_the_alike(metric, backend):
    answer = index_of([[1.0, 0.1], [0.2, 1.0], [-1.0, 0.0]], metric, backend).query([[1.0, 0.0]], 3)
    assert answer.ids.tolist() == [[0, 1, 2]]
    assert (np.diff(answer.similarity) < 0).all()
    assert (np.diff(answer.distance) > 0).all()


def test_a_cosine_with_a_zero_vector_is_0():
    answer = index_of([[0, 0], [1, 0], [-1, 0]], "cosine").query([[2, 0], [0, 0]], 3)
    assert answer.rows.tolist() == [[1, 0, 2], [0, 1, 2]]
    assert answer.similarity.tolist() == [[1, 0, -1], [0, 0, 0]]


# Pairs over a threshold


@everywhere
@each_metric
def test_all_pairs_over_a_threshold_and_no_other_are_returned(metric, backend):
    points, queries = gaussian(60, 3), gaussian(25, 3, seed=1)
    table = similarities(queries, points, metric)
    threshold = float(np.sort(table, axis=None)[-200])
    pairs = index_of(points, metric, backend).within(queries, threshold)
    assert pairs.n_pairs == 200
    left, right = np.nonzero(table >= np.float32(threshold))
    order = np.lexsort((right, -table[left, right], left))
    np.testing.assert_array_equal(pairs.left, left[order])
    np.testing.assert_array_equal(pairs.right, right[order])
    np.testing.assert_array_equal(pairs.similarity, table[left, right][order])


@each_metric
def test_pairs_among_the_items_are_returned_once_and_without_themselves(metric):
    points = gaussian(50, 3)
    index = index_of(points, metric)
    both = index.within(points, 0.3 if metric != "euclidean" else -1)
    once = index.pairs_within(0.3 if metric != "euclidean" else -1)
    kept = both.left < both.right
    np.testing.assert_array_equal(once.left, both.left[kept])
    np.testing.assert_array_equal(once.right, both.right[kept])
    assert 0 < once.n_pairs < both.n_pairs


def test_pieces_of_pairs_are_the_same_pairs():
    points = gaussian(50, 3)
    index = index_of(points)
    pieces = list(index.iterate_within(points, -1))
    assert len(pieces) > 4
    assert sum(piece.n_pairs for piece in pieces) == index.within(points, -1).n_pairs


def test_no_euclidean_similarity_is_above_0():
    assert index_of([[0.0], [0.0]]).within([[0.0]], 0.0).n_pairs == 2
    assert index_of([[0.0], [0.0]]).within([[0.0]], 1e-6).n_pairs == 0


def test_more_pairs_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr("twofold.search._index.memory_bytes", lambda: 64 * 200)
    with pytest.raises(ValueError, match="More than 100 pairs reach the threshold, at row 0"):
        index_of(gaussian(50, 3)).within(gaussian(50, 3), -np.inf)


# Edges


@everywhere
def test_there_are_no_more_neighbours_than_items(backend):
    answer = index_of([[1.0], [2.0]], backend=backend).query([[0.0], [3.0], [1.6]], 10)
    assert answer.rows.tolist() == [[0, 1], [1, 0], [1, 0]]


@everywhere
def test_one_item_is_everyone_s_neighbour(backend):
    assert index_of([[5.0, 5.0]], "cosine", backend).query([[0, 1], [0, 0]], 1).rows.tolist() == [
        [0],
        [0],
    ]


@everywhere
def test_an_empty_index_and_no_queries_are_answered(backend):
    empty = NeighbourIndex("cosine", backend=backend)
    assert empty.query([[1.0, 2.0]], 3).ids.shape == (1, 0)
    assert empty.within([[1.0, 2.0]], 0).n_pairs == 0
    assert empty.pairs_within(0).n_pairs == 0
    assert empty.recall is None
    assert index_of([[1.0]], backend=backend).query(np.empty((0, 1)), 3).rows.shape == (0, 1)


# Ids, adding and removing


@pytest.mark.parametrize(
    "ids",
    [
        [7, -3, 2**60],
        ["a", "b", "ü"],
        [("a", 1), ("a", 2), ("b", 1)],
        [1, "1", (1,)],
        [2**70, 0, 1],
    ],
)
def test_ids_are_of_any_kind(ids):
    index = NeighbourIndex("euclidean", backend="numpy")
    index.add(ids, [[0.0], [1.0], [2.0]])
    assert index.ids.tolist() == ids
    assert index.query([[2.1]], 3).ids.tolist() == [ids[::-1]]
    assert ids[0] in index
    assert len(index) == index.n_items == 3


def test_ids_that_are_all_whole_numbers_come_as_int64():
    index = NeighbourIndex(backend="numpy")
    index.add(np.array([3, 4]), [[0.0], [1.0]])
    assert index.ids.dtype == np.int64
    index.add(["x"], [[0.0]])
    assert index.ids.dtype == object


@everywhere
@settings(max_examples=15)
@given(data=st.data())
def test_any_order_of_adding_replacing_and_removing_leaves_the_same_index(backend, data):
    index, model = NeighbourIndex("euclidean", backend=backend), {}
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for action in data.draw(st.lists(st.sampled_from(["add", "replace", "remove"]), max_size=6)):
        if action == "add":
            names = [name for name in rng.permutation(30)[:8].tolist() if name not in model]
        else:
            names = [name for name in model if rng.random() < 0.4]
        if action == "remove":
            index.remove(names)
            model = {name: point for name, point in model.items() if name not in names}
            continue
        points = rng.standard_normal((len(names), 2)).astype(np.float32)
        index.add(names, points.reshape(-1, 2), replace=action == "replace")
        model |= dict(zip(names, points, strict=True))
        index.query(np.zeros((1, 2)), 2)  # what was made for a search must follow what comes
    assert index.ids.tolist() == list(model)
    if model:
        queries = rng.standard_normal((3, 2))
        rows, _ = nearest(queries, np.array(list(model.values())), 4, "euclidean")
        np.testing.assert_array_equal(index.query(queries, 4).rows, rows)


@everywhere
@each_metric
def test_points_that_come_after_a_search_are_found(metric, backend):
    first, later = gaussian(40, 3), 50 * gaussian(40, 3, seed=1)
    index = index_of(first, metric, backend)
    index.query(first, 2)
    index.add(range(40, 80), later)
    rows, _ = nearest(later, np.concatenate([first, later]), 3, metric)
    np.testing.assert_array_equal(index.query(later, 3).rows, rows)


def test_the_index_keeps_no_view_of_what_it_was_given():
    points = np.zeros((2, 2), dtype=np.float32)
    index = index_of(points)
    points[:] = 9
    assert not index.points.any()
    with pytest.raises(ValueError, match="read-only"):
        index.points[0] = 1


# Mistakes


def test_a_repeated_id_is_refused_and_changes_nothing():
    index = index_of([[0.0], [1.0]])
    with pytest.raises(
        ValueError, match=r"1 id\(s\) are already in the index, first at row 1 \(1\)"
    ):
        index.add([5, 1], [[0.0], [1.0]])
    with pytest.raises(
        ValueError, match=r"different for every item; 1 are repeated, first at row 2 \('a'\)"
    ):
        index.add(["a", "b", "a"], np.zeros((3, 1)))
    assert index.n_items == 2


@pytest.mark.parametrize(
    ("ids", "points", "sentence"),
    [
        ([1], [[0.0, 1.0]], "2 dimensions, but the points of this index have 1"),
        ([1, 2], [[0.0]], "There are 2 ids for 1 points"),
        ([1], [[np.nan]], "finite numbers up to 1e\\+15; row 0 has nan"),
        ([1], [[1e20]], "row 0 has 1e\\+20"),
        ([1], [0.0], "shape \\(n_items, dim\\), got \\(1,\\)"),
        ([float("nan")], [[0.0]], "must not be NaN, first at row 0"),
        (np.zeros((1, 1)), [[0.0]], "ids must have one dimension"),
    ],
)
def test_points_and_ids_that_do_not_fit_are_refused(ids, points, sentence):
    with pytest.raises(ValueError, match=sentence):
        index_of([[0.0]]).add(ids, points)


def test_an_id_that_cannot_be_looked_up_is_refused():
    with pytest.raises(TypeError, match="the one at row 1 is a list"):
        NeighbourIndex().add([1, [2]], [[0.0], [1.0]])
    with pytest.raises(TypeError, match="one id per item, got 'ab'"):
        NeighbourIndex().add("ab", [[0.0], [1.0]])
    with pytest.raises(TypeError, match="points must hold numbers"):
        NeighbourIndex().add([1], [["a"]])


def test_removing_what_is_not_there_removes_nothing():
    index = index_of([[0.0], [1.0]])
    with pytest.raises(KeyError, match=r"1 id\(s\) are not in the index, first 9"):
        index.remove([0, 9])
    assert index.n_items == 2


def test_parameters_outside_what_is_allowed_are_refused():
    with pytest.raises(ValueError, match="metric must be one of"):
        NeighbourIndex("manhattan")
    with pytest.raises(ValueError, match="backend must be one of"):
        NeighbourIndex(backend="annoy")
    with pytest.raises(ValueError, match="approximate must be"):
        NeighbourIndex(approximate="yes")
    with pytest.raises(ValueError, match="approximate=True needs FAISS, but backend='numpy'"):
        NeighbourIndex(backend="numpy", approximate=True)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        index_of([[0.0]]).query([[0.0]], 0)
    with pytest.raises(ValueError, match="threshold must be a similarity, got NaN"):
        index_of([[0.0]]).within([[0.0]], np.nan)


def test_without_faiss_search_stays_exact_and_what_needs_it_says_so(monkeypatch):
    monkeypatch.setattr(finder, "has_faiss", lambda: False)
    monkeypatch.setattr(finder, "MANY_POINTS", 10)
    index = index_of(gaussian(50, 3), backend="auto")
    index.query(gaussian(2, 3), 1)
    assert index.backend == "torch"
    assert index.recall is None
    with pytest.raises(ImportError, match="backend='faiss' needs FAISS: pip install"):
        NeighbourIndex(backend="faiss")
    with pytest.raises(ImportError, match="approximate=True needs FAISS"):
        NeighbourIndex(approximate=True)


def test_without_torch_and_faiss_numpy_searches(monkeypatch):
    monkeypatch.setattr(finder, "has_faiss", lambda: False)
    monkeypatch.setattr(finder, "find_spec", lambda name: None)
    real = builtins.__import__

    def refuse(name, *rest, **options):
        assert not name.startswith(("torch", "faiss")), name
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    index = index_of(gaussian(50, 3), backend="auto")
    assert index.query(gaussian(2, 3), 1).rows.shape == (2, 1)
    assert index.backend == "numpy"


# Approximate


@each_metric
def test_lists_return_most_neighbours_and_say_how_many(metric, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(finder, "MANY_POINTS", 1000)
    points = gaussian(1500, 4)
    index = index_of(points, metric, "faiss")
    assert index.recall >= 0.95
    rows = index.query(points[:100], 5).rows
    true = index_of(points, metric, "numpy").query(points[:100], 5).rows
    shared = np.mean([np.isin(a, b).mean() for a, b in zip(rows, true, strict=True)])
    assert shared > 0.9
    index.add(range(1500, 1501), [points[0] * 100])
    assert index.query([points[0] * 100], 1).ids.item() in (0, 1500)
    assert index_of(points, metric, "faiss", approximate=False).recall is None


def test_lists_that_hold_too_few_are_made_up_for_exactly():
    pytest.importorskip("faiss")
    points = gaussian(200, 2)
    index = index_of(points, backend="faiss", approximate=True)
    rows, _ = nearest(points[:4], points, 190, "euclidean")
    np.testing.assert_array_equal(index.query(points[:4], 190).rows, rows)
