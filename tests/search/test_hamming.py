"""Neighbours of codes: against a loop, by every backend, with ties, in lists, ranked, on disk."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

import twofold.search._exact as exact
import twofold.search._finder as finder
from twofold.search import NeighbourIndex, Rerank

NO_FAISS = importlib.util.find_spec("faiss") is None
needs_faiss = pytest.mark.skipif(NO_FAISS, reason="FAISS is not installed")
everywhere = pytest.mark.parametrize(
    "backend", [pytest.param("faiss", marks=needs_faiss), "torch", "numpy"]
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(exact, "QUERY_BLOCK", 7)
    monkeypatch.setattr(exact, "POINT_BLOCK", 16)


def some_codes(n, n_bytes=2, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, n_bytes), dtype=np.uint8)


def index_of(codes, backend="numpy", **options):
    index = NeighbourIndex("hamming", backend=backend, **options)
    index.add(range(len(codes)), codes)
    return index


def slow_distances(queries, codes):
    """How many of the bits differ, one byte after the other."""
    return np.array(
        [[sum((a ^ b).bit_count() for a, b in zip(q, c, strict=True)) for c in codes.tolist()]
         for q in queries.tolist()]
    )  # fmt: skip


def slow_order(distances):
    return np.argsort(distances, axis=1, kind="stable")


@everywhere
@pytest.mark.parametrize("n_bytes", [1, 8])
@pytest.mark.parametrize("k", [1, 9, 60])
def test_neighbours_of_codes_are_those_of_a_loop_ties_by_row(backend, n_bytes, k):
    codes, queries = some_codes(60, n_bytes), some_codes(20, n_bytes, seed=1)
    distances = slow_distances(queries, codes)
    rows = slow_order(distances)[:, :k]
    answer = index_of(codes, backend).query(queries, k)
    np.testing.assert_array_equal(answer.rows, rows)
    np.testing.assert_array_equal(answer.distance, np.take_along_axis(distances, rows, axis=1))
    np.testing.assert_array_equal(answer.similarity, -answer.distance)


@everywhere
def test_copies_of_few_codes_come_in_the_order_of_their_rows(backend):
    codes = some_codes(3)[np.random.default_rng(0).integers(3, size=400)]
    rows = slow_order(slow_distances(codes[:9], codes))[:, :50]
    np.testing.assert_array_equal(index_of(codes, backend).query(codes[:9], 50).rows, rows)


@everywhere
def test_pairs_of_codes_within_a_distance_are_those_of_a_loop(backend):
    codes, queries = some_codes(50), some_codes(15, seed=1)
    distances = slow_distances(queries, codes)
    pairs = index_of(codes, backend).within(queries, -4)
    assert set(zip(pairs.left, pairs.right, strict=True)) == set(
        zip(*np.nonzero(distances <= 4), strict=True)
    )
    assert 0 < pairs.n_pairs < distances.size
    assert index_of(codes, backend).within(queries, 0.5).n_pairs == 0


@everywhere
def test_codes_come_go_and_are_replaced(backend):
    index = index_of(some_codes(30), backend)
    index.query(some_codes(1), 1)
    late = some_codes(10, seed=5)
    index.add([f"late {n}" for n in range(10)], late)
    assert index.query(late[:1], 1).distance[0, 0] == 0
    index.add([0], late[:1] ^ 255, replace=True)
    index.remove(["late 3"])
    assert index.n_items == 39
    assert index.query(late[:1] ^ 255, 1).ids[0, 0] == 0


@needs_faiss
def test_lists_return_most_of_the_nearest_codes_and_say_how_many():
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 256, (30, 8), dtype=np.uint8)
    codes = centres[rng.integers(30, size=4000)] ^ (1 << rng.integers(0, 8, (4000, 8))).astype(
        np.uint8
    )
    index = index_of(codes, "faiss", approximate=True)
    assert index.recall >= 0.95
    answer = index.query(codes[:50], 10)
    exactly = index_of(codes, "faiss", approximate=False).query(codes[:50], 10)
    assert (answer.distance <= exactly.distance[:, -1:]).mean() >= 0.9
    assert (answer.distance[:, 0] == 0).all()


@needs_faiss
def test_codes_are_searched_by_lists_only_where_they_are_very_many(monkeypatch):
    assert index_of(some_codes(300), "faiss").recall is None
    monkeypatch.setattr(finder, "MANY_CODES", 299)
    assert index_of(some_codes(300), "faiss").recall is not None


@everywhere
def test_candidates_are_put_in_the_order_of_other_points(backend):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((80, 8)).astype(np.float32)
    queries = rng.standard_normal((6, 8)).astype(np.float32)
    codes, asked = (np.packbits(each >= 0, axis=1) for each in (points, queries))
    index = index_of(codes, backend)
    exactly = NeighbourIndex("dot", backend="numpy")
    exactly.add(range(80), points)
    everything = index.query(asked, 5, rerank=Rerank(queries, points, "dot", n_candidates=80))
    wanted = exactly.query(queries, 5)
    np.testing.assert_array_equal(everything.rows, wanted.rows)
    np.testing.assert_allclose(everything.similarity, wanted.similarity)
    np.testing.assert_allclose(everything.distance, 1 - everything.similarity)
    few = index.query(asked, 5, rerank=Rerank(queries, points, "dot", n_candidates=10))
    near = index.query(asked, 10).rows
    assert all(np.isin(mine, ten).all() for mine, ten in zip(few.rows, near, strict=True))
    assert (np.diff(few.similarity) <= 0).all()


def test_points_to_rerank_by_have_to_fit():
    codes = some_codes(20)
    index, queries = index_of(codes), np.ones((3, 4))
    with pytest.raises(ValueError, match=r"rerank\.points has 19 rows, but there are 20 items"):
        index.query(codes[:3], 2, rerank=Rerank(queries, np.ones((19, 4))))
    with pytest.raises(ValueError, match=r"rerank\.queries has 3 rows, but there are 2 queries"):
        index.query(codes[:2], 2, rerank=Rerank(queries, np.ones((20, 4))))
    with pytest.raises(ValueError, match=r"rerank\.points has 5 dimensions"):
        index.query(codes[:3], 2, rerank=Rerank(queries, np.ones((20, 5))))
    with pytest.raises(ValueError, match=r"metric must be one of .* got 'l2'"):
        Rerank(queries, codes, "l2")


@pytest.mark.parametrize("ids", [[3, 4, 5], ["a", "b", "c"]])
def test_an_index_of_codes_is_opened_as_it_was(tmp_path, ids):
    codes = some_codes(3, 8)
    index = NeighbourIndex("hamming", backend="numpy")
    index.add(ids, codes)
    index.save(tmp_path / "index")
    opened = NeighbourIndex.open(tmp_path / "index", backend="numpy")
    assert (opened.metric, opened.dim, opened.points.dtype) == ("hamming", 8, np.uint8)
    np.testing.assert_array_equal(opened.points, codes)
    assert opened.query(codes[2:], 1).ids.tolist() == [[ids[2]]]


def test_an_index_of_another_metric_is_found_out(tmp_path):
    index_of(some_codes(3)).save(tmp_path / "index")
    card = json.loads((tmp_path / "index" / "index.json").read_text())
    (tmp_path / "index" / "index.json").write_text(json.dumps(card | {"metric": "cosine"}))
    with pytest.raises(ValueError, match="holds uint8 of shape"):
        NeighbourIndex.open(tmp_path / "index")
    real = NeighbourIndex("cosine", backend="numpy")
    real.add([0], np.ones((1, 2)))
    real.save(tmp_path / "real")
    opened = NeighbourIndex.open(tmp_path / "real", backend="numpy")
    opened.add([1], some_codes(1))  # two bytes are two numbers as well
    with pytest.raises(ValueError, match="points has 8 dimensions"):
        opened.query(some_codes(1, 8), 1)


def test_what_are_no_codes_or_of_another_model_is_refused():
    index = index_of(some_codes(5))
    with pytest.raises(TypeError, match=r"packed into bytes \(uint8\).*got float64"):
        index.query(np.ones((1, 2)), 1)
    with pytest.raises(ValueError, match="codes of 8 bytes, but the others have 2:"):
        index.query(some_codes(1, 8), 1)
    with pytest.raises(ValueError, match=r"shape \(n_items, n_bytes\), got \(2,\)"):
        index.add([9], some_codes(2)[0])


def test_a_backend_that_is_not_installed_is_named_with_its_pip_line(monkeypatch):
    monkeypatch.setattr(finder, "has_faiss", lambda: False)
    with pytest.raises(ImportError, match=r"pip install 'twofold\[faiss\]'"):
        NeighbourIndex("hamming", backend="faiss")
    assert NeighbourIndex("hamming").backend == "torch"
