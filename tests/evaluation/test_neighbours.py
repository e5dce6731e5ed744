"""The order of neighbours: ties and precision."""

from __future__ import annotations

import numpy as np
import pytest
import slow_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import NearestNeighbors

from twofold.evaluation import _neighbours
from twofold.evaluation._neighbours import NeighbourOrder, nearest_indices

METRICS = ["euclidean", "cosine", "dot"]


def whole_order(queries, gallery, metric):
    """Return all of the gallery's indices, nearest first, as the keys have them."""
    order = NeighbourOrder.of(queries, gallery, metric)
    found = np.empty((len(queries), len(gallery)), dtype=np.int64)

    def take_all(rows, keys):
        assert not (keys & 1).any(), "the last bit has to be free"
        found[rows] = order.gallery_index(np.sort(keys, axis=1))

    order.for_each_block(np.arange(len(queries)), take_all)
    return found


def slow_order(queries, gallery, metric):
    return np.array(
        [slow_scores.ranking(query, gallery.tolist(), metric) for query in queries.tolist()]
    )


def few_integers(n_rows):
    return arrays(np.int64, st.tuples(n_rows, st.just(2)), elements=st.integers(-3, 3))


@settings(deadline=None, max_examples=60)
@given(
    few_integers(st.integers(1, 6)), few_integers(st.integers(1, 20)), st.sampled_from(METRICS[::2])
)
def test_order_is_that_of_a_loop_and_ties_go_to_the_lowest_index(queries, gallery, metric):
    wanted = slow_order(queries, gallery, metric)
    np.testing.assert_array_equal(whole_order(queries, gallery, metric), wanted)
    for k in {1, (len(gallery) + 1) // 2, len(gallery)}:
        found = np.sort(nearest_indices(queries, gallery, k, metric), axis=1)
        np.testing.assert_array_equal(found, np.sort(wanted[:, :k], axis=1))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_order_of_random_points_is_that_of_a_loop(metric, dtype):
    rng = np.random.default_rng(0)
    queries, gallery = (rng.normal(size=(n, 7)).astype(dtype) for n in (20, 50))
    wanted = slow_order(queries, gallery, metric)
    np.testing.assert_array_equal(whole_order(queries, gallery, metric), wanted)
    found = np.sort(nearest_indices(queries, gallery, 6, metric), axis=1)
    np.testing.assert_array_equal(found, np.sort(wanted[:, :6], axis=1))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dim", [3, 16, 33])
@pytest.mark.parametrize("n_gallery", [50, 97, 500])
def test_equal_points_are_ordered_by_index_wherever_they_stand(metric, dim, n_gallery):
    # A matrix product rounds equal columns differently: nearest to a point are its own copies.
    rng = np.random.default_rng(1)
    points, gallery = rng.normal(size=(5, dim)), rng.normal(size=(n_gallery, dim))
    points[:, 0] = 0
    place = rng.permutation(n_gallery) % 10  # five or more copies of each of five points
    gallery[place < 5] = points[place[place < 5]]
    gallery[::2, 0] *= -1  # where it is 0, the sign makes no other point of it
    found = whole_order(points, gallery, metric)
    sets = nearest_indices(points, gallery, 3, metric)
    for copied, order, nearest in zip(range(5), found, sets, strict=True):
        copies = np.flatnonzero(place == copied)
        np.testing.assert_array_equal(order[np.isin(order, copies)], copies)
        if metric != "dot":
            assert sorted(nearest) == copies[:3].tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_equal_points_tie_even_if_the_product_rounds_each_column_its_own_way(monkeypatch, metric):
    rng = np.random.default_rng(7)

    def rounding_product(a, b, out):
        return np.multiply(a @ b, 1 + 1e-12 * rng.uniform(-1, 1, b.shape[1]), out=out)

    gallery = np.repeat(rng.normal(size=(4, 3)), 10, axis=0)
    gallery[:, 0] = 0
    gallery[::3, 0] *= -1
    gallery = gallery[rng.permutation(40)]
    monkeypatch.setattr(np, "matmul", rounding_product)
    (order,) = whole_order(rng.normal(size=(1, 3)), gallery, metric)
    for point in gallery:
        copies = np.flatnonzero((gallery == point).all(axis=1))
        np.testing.assert_array_equal(order[np.isin(order, copies)], copies)


class RoundingSearch(NearestNeighbors):
    """scikit-learn's search on a machine that rounds each distance differently."""

    def fit(self, gallery):
        self.gallery = gallery
        return self

    def kneighbors(self, queries):
        exact = np.linalg.norm(queries[:, None] - self.gallery, axis=2)
        rounded = exact * (1 + 1e-14 * np.random.default_rng(0).uniform(-1, 1, exact.shape))
        order = np.argsort(rounded, axis=1)[:, : self.n_neighbors]
        return np.take_along_axis(rounded, order, axis=1), order


def test_scikit_learn_is_not_believed_where_rounding_decides(monkeypatch):
    rng = np.random.default_rng(0)
    queries, gallery = rng.normal(size=(20, 16)), rng.normal(size=(100, 16))
    gallery[rng.random(100) < 0.5] = queries[0]  # a block of equals somewhere in every order
    wanted = whole_order(queries, gallery, "euclidean")
    monkeypatch.setattr(_neighbours, "NearestNeighbors", RoundingSearch)
    for k in (3, 20, 40, 60, 80):
        found = nearest_indices(queries, gallery, k, "euclidean")
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(wanted[:, :k], axis=1))


@pytest.mark.parametrize("metric", METRICS)
def test_among_points_that_are_all_equal_the_first_are_nearest(metric):
    gallery = np.full((50, 3), 0.1)
    found = nearest_indices(np.array([[0.1, 0.1, 0.1], [3.0, -2.0, 1.0]]), gallery, 4, metric)
    np.testing.assert_array_equal(np.sort(found, axis=1), [[0, 1, 2, 3]] * 2)


def test_zero_and_negative_zero_are_one_value():
    gallery = np.array([[0.0, 0.0], [-0.0, 0.0], [0.0, -0.0], [0.0, 0.0]])
    queries = np.array([[1.0, -1.0], [-1.0, 1.0], [-0.0, 0.0]])
    for metric in METRICS:
        found = whole_order(queries, gallery, metric)
        np.testing.assert_array_equal(found, [[0, 1, 2, 3]] * 3)
    across = np.array([[0.0, -1.0], [-0.0, 1.0], [0.0, 1.0], [-0.0, -1.0]])
    np.testing.assert_array_equal(whole_order(queries[:1] * [1, 0], across, "dot"), [[0, 1, 2, 3]])


def test_a_product_of_either_sign_of_zero_ties():
    values = np.array([[0.0, -0.0, 0.0, -1e-300, 1e-300, -2.0, 2.0]])
    keys = _neighbours._sortable(values, 2 * np.arange(7), is_signed=True)
    order = (np.sort(keys) & 15) >> 1
    np.testing.assert_array_equal(order, [[5, 3, 0, 1, 2, 4, 6]])


def test_a_zero_vector_has_cosine_0_with_all():
    gallery = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert whole_order(np.array([[2.0, 0.0]]), gallery, "cosine").tolist() == [[2, 1, 0]]
    assert whole_order(np.array([[0.0, 0.0]]), gallery, "cosine").tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1e-250, 1e-30, 1e30, 1e250])
def test_order_does_not_depend_on_the_scale(metric, scale):
    rng = np.random.default_rng(2)
    queries, gallery = rng.normal(size=(9, 5)), rng.normal(size=(40, 5))
    wanted = whole_order(queries, gallery, metric)
    np.testing.assert_array_equal(whole_order(queries * scale, gallery * scale, metric), wanted)
    found = np.sort(nearest_indices(queries * scale, gallery * scale, 5, metric), axis=1)
    np.testing.assert_array_equal(found, np.sort(wanted[:, :5], axis=1))


def test_inner_products_of_tiny_and_huge_points_are_ordered():
    rng = np.random.default_rng(8)
    queries, gallery = rng.normal(size=(9, 5)), rng.normal(size=(40, 5))
    np.testing.assert_array_equal(
        whole_order(queries * 1e-300, gallery * 1e300, "dot"), whole_order(queries, gallery, "dot")
    )


@pytest.mark.parametrize("shift", [1e3, 1e8, -1.7e9])
def test_distances_far_from_the_origin_keep_their_digits(shift):
    rng = np.random.default_rng(3)
    queries, gallery = rng.integers(0, 4096, (30, 5)) / 4096, rng.integers(0, 4096, (200, 5)) / 4096
    wanted = whole_order(queries, gallery, "euclidean")
    np.testing.assert_array_equal(
        whole_order(queries + shift, gallery + shift, "euclidean"), wanted
    )
    found = nearest_indices(queries + shift, gallery + shift, 5, "euclidean")
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(wanted[:, :5], axis=1))


def test_an_outlier_leaves_the_order_of_the_others_alone():
    rng = np.random.default_rng(4)
    queries, gallery = rng.normal(size=(20, 4)), rng.normal(size=(60, 4))
    for metric in METRICS:
        far = np.vstack([gallery, -1e6 * np.ones((1, 4))])
        found = whole_order(queries, far, metric)
        found = found[found != 60].reshape(20, 60)
        np.testing.assert_array_equal(found, whole_order(queries, gallery, metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("product_numbers", "block_numbers"), [(1, 1), (170, 60), (10**6, 40)])
def test_order_does_not_depend_on_the_chunks(monkeypatch, metric, product_numbers, block_numbers):
    rng = np.random.default_rng(5)
    queries, gallery = rng.integers(-2, 3, (23, 3)), rng.integers(-2, 3, (17, 3))
    wanted = whole_order(queries, gallery, metric)
    monkeypatch.setattr(_neighbours, "PRODUCT_NUMBERS", product_numbers)
    monkeypatch.setattr(_neighbours, "BLOCK_NUMBERS", block_numbers)
    sizes = []
    order = NeighbourOrder.of(queries, gallery, metric)
    order.for_each_block(np.arange(23), lambda rows, keys: sizes.append(keys.shape))
    assert sum(n_rows for n_rows, _ in sizes) == 23
    assert max(sizes) == (max(1, block_numbers // 17), 17)
    np.testing.assert_array_equal(whole_order(queries, gallery, metric), wanted)


def test_an_error_in_a_thread_is_raised():
    order = NeighbourOrder.of(np.eye(3), np.eye(3), "dot")

    def fail(rows, keys):
        raise RuntimeError("from a thread")

    with pytest.raises(RuntimeError, match="from a thread"):
        order.for_each_block(np.arange(3), fail)
