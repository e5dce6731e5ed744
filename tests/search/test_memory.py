"""Points as codes of a few bytes: what they hold, lose and say; kept, changed, opened, refused."""

from __future__ import annotations

import importlib.util
import json
import warnings

import numpy as np
import pytest

import twofold.search._coded_points as coded_points
import twofold.search._held_points as held_points
import twofold.search._quantisers as quantisers
from twofold.search import (
    CodedPoints,
    IndexStore,
    NeighbourIndex,
    Rerank,
    SearchWarning,
    row_digest,
)
from twofold.search._quantisers import ProductQuantiser, RoundingQuantiser

NO_FAISS = importlib.util.find_spec("faiss") is None
needs_faiss = pytest.mark.skipif(NO_FAISS, reason="FAISS is not installed")
DIM, N_POINTS = 8, 1200
PRODUCTS, BYTE, TWO_BYTES = (f"{n} bytes an item" for n in (4, 8, 16))
by_size = pytest.mark.parametrize(
    "memory", [pytest.param(PRODUCTS, marks=needs_faiss), BYTE, TWO_BYTES]
)


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    for module in (coded_points, held_points):
        monkeypatch.setattr(module, "FEWEST_POINTS", 1000)


def some_points(n=N_POINTS, seed=0):
    """Points in forty groups, as embeddings lie."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((40, DIM))
    return (centres[np.arange(n) % 40] + 0.3 * rng.standard_normal((n, DIM))).astype(np.float32)


def index_of(points, memory, metric="euclidean", backend="numpy", ids=None):
    index = NeighbourIndex(metric, backend=backend, memory=memory)
    index.add(range(len(points)) if ids is None else ids, points)
    return index


def slow_similarity(metric, queries, points):
    queries, points = queries.astype(np.float64), points.astype(np.float64)
    if metric == "euclidean":
        return -np.sqrt(((queries[:, None] - points[None]) ** 2).sum(axis=2))
    if metric == "cosine":
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
    return queries @ points.T


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@by_size
def test_neighbours_are_those_of_a_loop_over_what_codes_stand_for(memory, metric):
    index, queries = index_of(some_points(), memory, metric), some_points(20, seed=1)
    answer = index.query(queries, 5)
    similarity = slow_similarity(metric, queries, np.asarray(index.points))
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :5]
    expected = np.take_along_axis(similarity, order, axis=1)
    np.testing.assert_allclose(answer.similarity, expected, rtol=1e-5, atol=1e-6)
    found = np.take_along_axis(similarity, answer.rows, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@by_size
def test_an_index_takes_no_more_than_it_is_allowed(memory):
    index = index_of(some_points(), memory)
    index.query(some_points(1), 1)
    assert index.points.codes.nbytes == int(memory.split()[0]) * N_POINTS
    tables = sum(array.nbytes for array in index.points.quantiser.arrays().values())
    assert index.bytes_an_item == int(memory.split()[0]) + tables / N_POINTS


@needs_faiss
def test_more_memory_returns_more_of_the_true_neighbours():
    points, queries = some_points(), some_points(100, seed=1)
    true = index_of(points, None).query(queries, 10).rows
    recalls, said = [], []
    for memory in ("2 bytes an item", PRODUCTS, BYTE, TWO_BYTES):
        index = index_of(points, memory)
        found = index.query(queries, 10).rows
        recalls.append(np.mean([np.isin(a, b).mean() for a, b in zip(found, true, strict=True)]))
        said.append(index.recall)
    assert recalls == sorted(recalls)
    assert recalls[2] > 0.9
    assert recalls[3] > 0.99
    np.testing.assert_allclose(said, recalls, atol=0.1)  # of its own points among the others


def test_points_that_fit_are_kept_as_they_are_and_found_exactly():
    points = some_points()
    index = index_of(points, f"{4 * DIM} bytes an item")
    assert index.query(points[:3], 1).distance.tolist() == [[0.0]] * 3
    assert index.recall is None
    np.testing.assert_array_equal(index.points, points)


def test_too_few_points_are_kept_as_they_are_which_is_said_once():
    points = some_points(900)
    index = index_of(points, BYTE)
    with pytest.warns(
        SearchWarning, match=r"needs 1,000 points or more to learn codes from, but there are 900"
    ):
        answer = index.query(points[:5], 1)
    assert answer.distance.max() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index.query(points[:5], 1)
        index.add(range(900, 1100), some_points(200, seed=3))
        index.query(points[:5], 1)
    assert isinstance(index.points, CodedPoints)


def test_points_that_were_removed_are_nothing_to_learn_codes_from():
    index = index_of(some_points(), BYTE)
    index.remove(range(600))
    with pytest.warns(SearchWarning, match="but there are 600"):
        index.query(some_points(1), 1)
    assert not isinstance(index.points, CodedPoints)


@needs_faiss
@pytest.mark.parametrize("held", [1100, 10**6])
def test_a_search_before_codes_are_learnt_does_not_stay_the_search(monkeypatch, held):
    monkeypatch.setattr(held_points, "HELD", held)
    index, queries = index_of(some_points(900), BYTE, backend="faiss"), some_points(5, seed=3)
    with pytest.warns(SearchWarning, match="but there are 900"):
        index.query(queries, 3)
    index.add(range(900, N_POINTS), some_points()[900:])
    answer = index.query(queries, 3)
    expected = slow_similarity("euclidean", queries, np.asarray(index.points))
    np.testing.assert_allclose(answer.similarity, -np.sort(-expected)[:, :3], atol=1e-4)


@by_size
def test_codes_are_learnt_before_too_many_points_are_held(monkeypatch, memory):
    monkeypatch.setattr(held_points, "HELD", 1100)
    index = NeighbourIndex("euclidean", backend="numpy", memory=memory)
    index.add(range(1000), some_points(1000))
    assert not isinstance(index.points, CodedPoints)
    index.add(range(1000, 1200), some_points(200, seed=3))
    assert isinstance(index.points, CodedPoints)
    index.add(range(1200, 1400), some_points(200, seed=4))
    assert len(index) == 1400
    assert index.query(some_points(200, seed=4), 1).distance.max() < 1.5


@by_size
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_points_are_replaced_and_removed_by_id(memory, metric):
    index = index_of(some_points(), memory, metric)
    index.query(some_points(1), 1)
    far = np.full((1, DIM), -2.0, dtype=np.float32)
    nearest = index.query(far, 1).ids[0, 0]
    index.remove([nearest])
    assert index.query(far, 1).ids[0, 0] != nearest
    other = [one for one in (5, 6) if one != nearest]
    index.add([*other, nearest], np.repeat(far, len(other) + 1, axis=0), replace=True)
    assert set(index.query(far, len(other) + 1).ids[0]) == {*other, nearest}
    assert index.n_items == N_POINTS


@by_size
def test_an_index_that_is_opened_again_finds_the_same_and_takes_in_more(tmp_path, memory):
    index = index_of(some_points(), memory, ids=[f"p{n}" for n in range(N_POINTS)])
    opened = NeighbourIndex.open(index.save(tmp_path / "index"), backend="numpy")
    assert (opened.memory, opened.recall) == (memory, index.recall)
    queries = some_points(20, seed=1)
    one, other = index.query(queries, 4), opened.query(queries, 4)
    np.testing.assert_array_equal(one.similarity, other.similarity)
    assert one.ids.tolist() == other.ids.tolist()
    opened.add(["new"], queries[:1])
    assert opened.points.shape == (N_POINTS + 1, DIM)
    opened.save(tmp_path / "index")
    assert "new" in NeighbourIndex.open(tmp_path / "index")


def test_too_few_points_learn_codes_once_they_are_more_on_another_day(tmp_path):
    with pytest.warns(SearchWarning, match="stored uncompressed"):
        index_of(some_points(900), BYTE).save(tmp_path / "index")
    opened = NeighbourIndex.open(tmp_path / "index", backend="numpy")
    assert not isinstance(opened.points, CodedPoints)
    opened.add(range(900, 1200), some_points(300, seed=3))
    assert opened.recall > 0.8
    assert isinstance(opened.points, CodedPoints)


@by_size
def test_all_pairs_are_those_of_what_codes_stand_for(memory):
    index = index_of(some_points(), memory)
    similarity = slow_similarity("euclidean", *[np.asarray(index.points)] * 2)
    index.query(some_points(1), 1)
    points = np.asarray(index.points)
    similarity = slow_similarity("euclidean", points, points)
    threshold = float(np.sort(similarity[np.triu_indices(N_POINTS, 1)])[-500]) + 1e-4
    pairs = index.pairs_within(threshold)
    left, right = np.nonzero(np.triu(similarity >= threshold, 1))
    assert set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == set(
        zip(left.tolist(), right.tolist(), strict=True)
    )
    asked = index.within(points[:50], threshold)
    assert asked.n_pairs == (similarity[:50] >= threshold).sum()


@needs_faiss
def test_exact_points_put_candidates_in_their_order():
    points, queries = some_points(), some_points(50, seed=1)
    true = index_of(points, None).query(queries, 5)
    index = index_of(points, "2 bytes an item")
    rough = index.query(queries, 5)
    exact = index.query(queries, 5, rerank=Rerank(queries, points, "euclidean", n_candidates=400))
    shared = [(found.rows == true.rows).mean() for found in (rough, exact)]
    assert shared[0] < 0.5
    assert shared[1] > 0.95
    same = exact.rows == true.rows
    np.testing.assert_array_equal(exact.distance[same], true.distance[same])


@by_size
def test_points_are_read_by_rows_slices_and_as_an_array(memory):
    index = index_of(some_points(), memory)
    index.query(some_points(1), 1)
    whole = np.asarray(index.points)
    assert whole.dtype == np.float32
    np.testing.assert_allclose(index.points[[3, 1]], whole[[3, 1]], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(index.points[5:9], whole[5:9], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(index.points[7], whole[7], rtol=1e-5, atol=1e-6)


def test_what_is_rounded_is_off_by_half_a_step_at_most():
    points = some_points()
    for width, steps in ((1, 255), (2, 65535)):
        quantiser = RoundingQuantiser.trained(points, width)
        back = quantiser.decode(quantiser.encode(points))
        step = (points.max(axis=0) - points.min(axis=0)) / steps
        assert (np.abs(back - points) <= 0.5 * step * 1.01 + 1e-6).all()
    beyond = quantiser.decode(quantiser.encode(100 * points[:1]))
    ends = np.where(points[:1] > 0, points.max(axis=0), points.min(axis=0))
    np.testing.assert_allclose(beyond, ends, rtol=1e-4, atol=1e-4)


def test_a_number_that_is_the_same_in_all_points_is_kept():
    points = some_points()
    points[:, 2] = 3.5
    quantiser = RoundingQuantiser.trained(points, 1)
    assert (quantiser.decode(quantiser.encode(points))[:, 2] == 3.5).all()


@needs_faiss
@pytest.mark.parametrize("n_bytes", [2, 3, 5])
def test_parts_are_replaced_by_their_nearest_centres(n_bytes):
    points = some_points()
    quantiser = ProductQuantiser.trained(points, n_bytes)
    np.testing.assert_allclose(
        quantiser.rotation.T @ quantiser.rotation, np.eye(DIM), atol=1e-4
    )  # lengths and angles stay
    turned = points[:50] @ quantiser.rotation.T
    parts = turned.reshape(50, n_bytes, -1)
    distances = ((parts[:, :, None] - quantiser.centres[None]) ** 2).sum(axis=-1)
    codes = quantiser.encode(points[:50])
    chosen = np.take_along_axis(distances, codes[:, :, None].astype(int), axis=2)[..., 0]
    np.testing.assert_allclose(chosen, distances.min(axis=2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "memory",
    ["64", "64 bytes", "64 KB an item", "0 bytes an item", "-4 bytes an item", "small", "", 64,
     "6.5 bytes an item", "64 bytes an item please", True],
)  # fmt: skip
def test_what_is_no_memory_is_a_sentence(memory):
    with pytest.raises(ValueError, match="is not understood: write it as '64 bytes an item'"):
        NeighbourIndex(memory=memory)


@pytest.mark.parametrize("memory", ["1 byte an item", " 64 bytes per item "])
def test_memory_is_said_in_these_words_too(memory):
    assert NeighbourIndex(memory=memory).memory == memory


def test_codes_of_bits_and_lists_are_refused():
    with pytest.raises(ValueError, match="cannot be combined with metric='hamming'"):
        NeighbourIndex("hamming", memory=BYTE)
    if not NO_FAISS:
        with pytest.raises(ValueError, match="cannot be combined with approximate=True"):
            NeighbourIndex(memory=BYTE, approximate=True)


def test_faiss_that_is_not_there_is_named_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(quantisers, "has_faiss", lambda: False)
    with pytest.raises(ImportError, match=r"needs FAISS: pip install 'twofold\[faiss\]'"):
        index_of(some_points(), PRODUCTS)
    assert index_of(some_points(), BYTE).recall > 0.8


def test_rows_that_change_are_coded_anew_and_those_that_are_gone_taken_out(tmp_path):
    points, ids = some_points(), [f"p{n}" for n in range(N_POINTS)]
    store = IndexStore("euclidean", model="m", backend="numpy", memory=BYTE)
    digests = [row_digest(n) for n in range(N_POINTS)]
    store.update(ids, digests)
    store.add(points)
    store.save(tmp_path / "store")
    again = IndexStore.open(tmp_path / "store", model="m", backend="numpy")
    assert isinstance(again.index.points, CodedPoints)
    digests[4] = row_digest("another")
    update = again.update(ids[:-1], digests[:-1])
    assert (update.n_changed, update.n_gone, update.to_embed.tolist()) == (1, 1, [4])
    again.add(np.full((1, DIM), 2.0))
    again.save(tmp_path / "store")
    last = IndexStore.open(tmp_path / "store", model="m", backend="numpy").index
    assert last.n_items == N_POINTS - 1
    assert last.query(np.full((1, DIM), 2.0), 1).ids.tolist() == [["p4"]]


def change_card(**entries):
    def change(folder):
        card = json.loads((folder / "index.json").read_text())
        (folder / "index.json").write_text(json.dumps(card | entries))

    return change


def change_array(name, array):
    return lambda folder: np.save(folder / name, array)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (change_card(bytes_an_item=0), "its bytes_an_item is '0'"),
        (change_card(bytes_an_item="8"), "its bytes_an_item is '8'"),
        (change_card(code="pickled"), "its code is 'pickled'"),
        (change_card(code="rounded-16"), "codes.npy holds uint8 of shape"),
        (change_card(metric="hamming"), "its code is 'rounded-8'"),
        (change_card(recall=2.0), "its recall is '2.0'"),
        (change_card(dim=9), "codes.npy holds uint8 of shape"),
        (change_array("codes.npy", np.zeros((N_POINTS, 7), np.uint8)), "codes.npy holds uint8"),
        (change_array("codes.npy", np.zeros((N_POINTS, 8), np.int8)), "codes.npy holds int8"),
        (change_array("low.npy", np.full(8, np.nan, np.float32)), "not finite"),
        (change_array("low.npy", np.zeros(8)), "low holds float64"),
        (change_array("step.npy", -np.ones(8, np.float32)), "does not fit step"),
        (change_array("step.npy", np.ones(7, np.float32)), "does not fit step"),
        (lambda folder: (folder / "step.npy").unlink(), "step.npy cannot be read"),
    ],
)
def test_a_folder_that_was_tampered_with_is_a_sentence(tmp_path, damage, sentence):
    folder = index_of(some_points(), BYTE).save(tmp_path / "index")
    damage(folder)
    with pytest.raises(ValueError, match=sentence):
        NeighbourIndex.open(folder)


@needs_faiss
@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (change_array("centres.npy", np.zeros((4, 255, 2), np.float32)), "does not fit centres"),
        (change_array("centres.npy", np.zeros((4, 256, 3), np.float32)), "does not fit centres"),
        (change_array("rotation.npy", np.zeros((8, 0), np.float32)), "does not fit centres"),
        (change_array("rotation.npy", np.full((8, 8), np.inf, np.float32)), "not finite"),
        (change_array("rotation.npy", np.zeros((8, 7), np.float32)), "points of 7 numbers"),
    ],
)
def test_centres_that_were_tampered_with_are_a_sentence(tmp_path, damage, sentence):
    folder = index_of(some_points(), PRODUCTS).save(tmp_path / "index")
    damage(folder)
    with pytest.raises(ValueError, match=sentence):
        NeighbourIndex.open(folder)
