"""Retrieval scores: against a loop, by hand, and what is refused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import slow_scores
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from twofold.evaluation import (
    RetrievalScores,
    _labels,
    _neighbours,
    _relevance,
    retrieval_scores,
)
from twofold.evaluation._relevance import class_membership
from twofold.evaluation._resampling import bootstrap_intervals

METRICS = ["euclidean", "cosine", "dot"]


def scores_of(found):
    """Return all but the intervals, as the slow loop does."""
    scores = found.r_precision, found.map_at_r, found.n_queries, found.n_without_match
    return *found.recall_at.values(), *scores


def same_class(classes, gallery_classes=None):
    others = classes if gallery_classes is None else gallery_classes
    return lambda query, item: classes[query] == others[item]


def share_a_label(labels, gallery_labels=None):
    others = labels if gallery_labels is None else gallery_labels
    return lambda query, item: any(
        a and b for a, b in zip(labels[query], others[item], strict=True)
    )


@st.composite
def tied_cases(draw, min_items=2):
    """Points on a small grid, so that many distances are equal; classes and labels."""
    n = draw(st.integers(min_items, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(-2, 3, (n, 2)), rng.integers(0, 4, n), rng.integers(0, 2, (n, 3))


@settings(deadline=None, max_examples=60)
@given(tied_cases(), st.sampled_from(["euclidean", "dot"]))
def test_scores_are_those_of_a_loop_where_distances_tie(case, metric):
    points, classes, labels = case
    for names, relevant in ((classes, same_class(classes)), (labels, share_a_label(labels))):
        n = len(points)
        if any(relevant(i, j) for i in range(n) for j in range(n) if i != j):
            wanted = slow_scores.retrieval(points.tolist(), None, relevant, metric)
            found = retrieval_scores(points, names, metric=metric)
            assert scores_of(found) == pytest.approx(wanted)


@settings(deadline=None, max_examples=40)
@given(tied_cases(), tied_cases(), st.sampled_from(["euclidean", "dot"]))
def test_scores_in_a_gallery_are_those_of_a_loop(case, other, metric):
    points, classes, labels = case
    gallery, gallery_classes, gallery_labels = other
    for names, gallery_names, relevant in (
        (classes, gallery_classes, same_class(classes, gallery_classes)),
        (labels, gallery_labels, share_a_label(labels, gallery_labels)),
    ):
        assume(any(relevant(i, j) for i in range(len(points)) for j in range(len(gallery))))
        wanted = slow_scores.retrieval(points.tolist(), gallery.tolist(), relevant, metric)
        found = retrieval_scores(
            points, names, gallery_points=gallery, gallery_labels=gallery_names, metric=metric
        )
        assert scores_of(found) == pytest.approx(wanted)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 5, 30])
def test_scores_of_random_points_are_those_of_a_loop(metric, dtype, n_classes):
    rng = np.random.default_rng(n_classes)
    points, classes = rng.normal(size=(60, 5)).astype(dtype), rng.integers(0, n_classes, 60)
    wanted = slow_scores.retrieval(points.astype(float).tolist(), None, same_class(classes), metric)
    found = retrieval_scores(points, classes, metric=metric, random_state=0)
    assert scores_of(found) == pytest.approx(wanted)
    labels = np.eye(n_classes, dtype=np.uint8)[classes]
    for form in (labels, sparse.csr_array(labels)):
        assert retrieval_scores(points, form, metric=metric, random_state=0) == found


def test_map_at_r_by_hand():
    # The query at 0 has R = 3; its neighbours in order: hit, miss, hit, hit.
    found = retrieval_scores(
        [[0.0]],
        ["a"],
        gallery_points=[[1.0], [2.0], [3.0], [4.0]],
        gallery_labels=["a", "b", "a", "a"],
        k=(1, 10),
        n_resamples=0,
    )
    assert found == RetrievalScores(
        recall_at={1: 1.0, 10: 1.0},
        r_precision=pytest.approx(2 / 3),
        map_at_r=pytest.approx((1 / 1 + 0 + 2 / 3) / 3),
        intervals={},
        resampled=None,
        n_queries=1,
        n_without_match=0,
    )


def test_recall_looks_as_deep_as_it_says():
    def recalls(first_hit):
        classes = np.ones(20, dtype=int)
        classes[first_hit - 1] = 0
        gallery = np.arange(1.0, 21.0)[:, None]
        found = retrieval_scores(
            [[0.0]], [0], gallery_points=gallery, gallery_labels=classes, k=(1, 5, 10)
        )
        return tuple(found.recall_at.values())

    assert recalls(1) == (1.0, 1.0, 1.0)
    assert recalls(2) == (0.0, 1.0, 1.0)
    assert recalls(5) == (0.0, 1.0, 1.0)
    assert recalls(6) == (0.0, 0.0, 1.0)
    assert recalls(10) == (0.0, 0.0, 1.0)
    assert recalls(11) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("metric", METRICS)
def test_a_better_placement_scores_better(metric):
    classes = ["a", "a", "b", "b"]
    good = retrieval_scores([[2, 0.1], [2, 0], [0, 2], [0.1, 2]], classes, metric=metric)
    bad = retrieval_scores([[2, 0.1], [0, 2], [2, 0], [0.1, 2]], classes, metric=metric)
    assert (good.recall_at[1], good.r_precision, good.map_at_r) == (1.0, 1.0, 1.0)
    assert (bad.recall_at[1], bad.r_precision, bad.map_at_r) == (0.0, 0.0, 0.0)


def test_a_point_does_not_find_itself_but_finds_its_equals():
    points = [[0.0], [0.0], [5.0], [6.0]]
    assert retrieval_scores(points, [0, 0, 1, 1]).recall_at[1] == 1.0
    assert retrieval_scores(points, [0, 1, 0, 1]).recall_at[1] == 0.0
    # By inner product a point need not be its own nearest; it is left out all the same.
    assert retrieval_scores([[1.0], [3.0], [2.0]], [0, 1, 0], metric="dot").recall_at[1] == 0.0


def test_a_separate_gallery_is_searched_whole():
    points, classes = [[0.0], [9.0]], [0, 1]
    found = retrieval_scores(points, classes, gallery_points=points, gallery_labels=classes)
    assert (found.recall_at[1], found.n_queries) == (1.0, 2)


def test_queries_without_a_match_are_left_out_and_counted():
    points = [[0.0], [1.0], [2.0], [3.0]]
    found = retrieval_scores(points, ["a", "a", "b", "c"], random_state=0)
    assert (found.n_queries, found.n_without_match) == (2, 2)
    assert found.recall_at[1] == 1.0  # item 1 is as near to 0 as to 2: lowest index
    labels = [[1, 0], [1, 0], [0, 0], [0, 1]]
    assert retrieval_scores(points, labels, random_state=0) == found


def test_the_only_item_of_a_class_stays_in_the_gallery():
    found = retrieval_scores([[0.0], [3.0], [1.0]], ["a", "a", "b"], k=(1, 2))
    assert (found.recall_at, found.n_queries) == ({1: 0.0, 2: 1.0}, 2)


def test_items_share_a_label_without_having_the_same():
    labels = [[1, 1, 0], [0, 1, 1], [0, 0, 1]]  # 0-1 and 1-2 share, 0-2 do not
    found = retrieval_scores([[0.0], [1.0], [1.5]], labels)
    assert (found.recall_at[1], found.n_queries) == (1.0, 3)
    found = retrieval_scores([[0.0], [1.5], [1.0]], labels)
    assert found.recall_at[1] == pytest.approx(2 / 3)


def test_zeros_stored_in_a_sparse_matrix_are_no_labels():
    points, labels = [[0.0], [1.0], [2.0]], np.array([[1, 0], [1, 0], [0, 1]])
    stored = sparse.csr_array((labels.ravel(), [0, 1] * 3, [0, 2, 4, 6]), shape=(3, 2))
    assert scores_of(retrieval_scores(points, stored)) == scores_of(
        retrieval_scores(points, labels)
    )
    assert _labels.encode_indicator("labels", stored).nnz == 3


@pytest.mark.parametrize("numbers", [1, 50, 400])
def test_scores_do_not_depend_on_the_chunks(monkeypatch, numbers):
    rng = np.random.default_rng(7)
    points, classes = rng.normal(size=(90, 4)), rng.integers(0, 6, 90)
    labels = rng.random((90, 5)) < 0.2
    before = retrieval_scores(points, classes), retrieval_scores(points, labels)
    monkeypatch.setattr(_neighbours, "PRODUCT_NUMBERS", 3 * numbers)
    monkeypatch.setattr(_neighbours, "BLOCK_NUMBERS", numbers)
    monkeypatch.setattr(_relevance, "SHARED_NUMBERS", numbers)
    after = retrieval_scores(points, classes), retrieval_scores(points, labels)
    for one, other in zip(before, after, strict=True):
        assert scores_of(one) == pytest.approx(scores_of(other))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_order_of_items_names_of_classes_and_a_rotation_change_nothing(seed):
    rng = np.random.default_rng(seed)
    points, classes = rng.normal(size=(25, 3)), rng.integers(0, 4, 25)
    turn, items = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(25)
    names = np.array(["d", "b", "a", "c"])
    for metric in METRICS:
        turned = retrieval_scores((points @ turn)[items], names[classes[items]], metric=metric)
        found = retrieval_scores(points, classes, metric=metric)
        assert scores_of(turned) == pytest.approx(scores_of(found))


@settings(deadline=None, max_examples=50)
@given(tied_cases(min_items=5))
def test_scores_stand_in_their_order(case):
    points, classes, _ = case
    found = retrieval_scores(points, classes)
    recalls = list(found.recall_at.values())
    assert recalls == sorted(recalls)
    assert recalls[0] >= 0
    assert recalls[-1] <= 1
    assert 0 <= found.map_at_r <= found.r_precision <= 1
    assert found.n_queries + found.n_without_match == len(points)


def test_scores_are_frozen_numbers():
    found = retrieval_scores(np.eye(3, dtype=np.float32), [0, 0, 1])
    assert [type(value) for value in scores_of(found)] == [float] * 6 + [int] * 2
    assert {type(end) for ends in found.intervals.values() for end in ends} == {float}
    with pytest.raises(FrozenInstanceError):
        found.map_at_r = 1.0


@pytest.mark.parametrize(
    ("points", "labels", "n"),
    [(np.eye(3), [0, 1, 2], 3), (np.eye(3), np.eye(3), 3), ([[1]], [0], 1)],
)
def test_nothing_to_find_is_refused(points, labels, n):
    with pytest.raises(ValueError, match=f"None of {n} queries has a relevant item"):
        retrieval_scores(points, labels)


def test_points_of_a_wrong_form_are_refused():
    with pytest.raises(ValueError, match=r"points must be finite; 1 row.* first row 2 \(nan"):
        retrieval_scores([[0.0], [1.0], [np.nan]], [0, 0, 1])
    with pytest.raises(ValueError, match=r"^gallery_points must be finite; .* first row 0 \(inf"):
        retrieval_scores([[0.0]], [0], gallery_points=[[np.inf]], gallery_labels=[0])
    with pytest.raises(ValueError, match=r"^points must have shape"):
        retrieval_scores([1.0, 2.0], [0, 0])
    with pytest.raises(ValueError, match=r"^gallery_points is empty"):
        retrieval_scores([[0.0]], [0], gallery_points=np.empty((0, 1)), gallery_labels=[])
    with pytest.raises(ValueError, match="points has 1, gallery_points has 2"):
        retrieval_scores([[0.0]], [0], gallery_points=[[0.0, 1.0]], gallery_labels=[0])


def test_labels_of_a_wrong_form_are_refused():
    points, gallery = np.eye(3), {"gallery_points": np.eye(3)}
    with pytest.raises(ValueError, match=r"points has 3 row\(s\) and labels has 2"):
        retrieval_scores(points, [0, 0])
    with pytest.raises(ValueError, match=r"gallery_points has 3 row\(s\) and gallery_labels has 4"):
        retrieval_scores(points, [0, 0, 1], **gallery, gallery_labels=[0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"^labels has 1 item\(s\) of unknown class"):
        retrieval_scores(points, [0, 0, -1])
    with pytest.raises(ValueError, match=r"^labels must hold 0 and 1 only"):
        retrieval_scores(points, 2 * np.eye(3))
    with pytest.raises(TypeError, match="gallery_labels is a matrix but labels is not"):
        retrieval_scores(points, [0, 0, 1], **gallery, gallery_labels=np.eye(3))
    with pytest.raises(TypeError, match=r"^labels is a matrix but gallery_labels is not"):
        retrieval_scores(points, np.eye(3), **gallery, gallery_labels=[0, 0, 1])
    with pytest.raises(ValueError, match="labels has 3 columns, gallery_labels has 2 columns"):
        retrieval_scores(points, np.eye(3), **gallery, gallery_labels=np.ones((3, 2)))
    with pytest.raises(TypeError, match="labels holds numbers, gallery_labels holds text"):
        retrieval_scores(points, [0, 0, 1], **gallery, gallery_labels=["0", "0", "1"])


def test_half_a_gallery_is_refused():
    with pytest.raises(
        ValueError, match="needs both points and labels, but gallery_labels is missing"
    ):
        retrieval_scores(np.eye(2), [0, 0], gallery_points=np.eye(2))
    with pytest.raises(
        ValueError, match="needs both points and labels, but gallery_points is missing"
    ):
        retrieval_scores(np.eye(2), [0, 0], gallery_labels=[0, 0])


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="one of 'euclidean', 'dot', 'cosine', 'hamming', got"):
        retrieval_scores(np.eye(2), [0, 0], metric="manhattan")


def test_depths_of_the_recall_are_those_asked_for_each_once():
    points, classes = np.arange(8.0)[:, None], [0, 1] * 4
    assert list(retrieval_scores(points, classes, k=[3, 1, 3]).recall_at) == [3, 1]
    assert retrieval_scores(points, classes, k=2).recall_at == {2: 0.25}  # the ends
    assert retrieval_scores(points, classes, k=100).recall_at == {100: 1.0}
    assert list(retrieval_scores(points, classes).recall_at) == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("k", "error", "sentence"),
    [
        (0, ValueError, "k must be at least 1, got 0"),
        ([1, -2], ValueError, "k must be at least 1, got -2"),
        (1.5, TypeError, "k must be an integer, got 1.5"),
        ((), ValueError, "k is empty: give at least one depth"),
    ],
)
def test_wrong_depths_are_refused(k, error, sentence):
    with pytest.raises(error, match=sentence):
        retrieval_scores(np.eye(2), [0, 0], k=k)


def test_intervals_are_named_as_the_scores_and_hold_them():
    rng = np.random.default_rng(3)
    classes = np.arange(120) % 12
    points = rng.normal(size=(12, 3))[classes] + 0.7 * rng.normal(size=(120, 3))
    found = retrieval_scores(points, classes, k=(1, 3), random_state=0)
    assert found.resampled == "classes"
    scores = [*found.recall_at.values(), found.r_precision, found.map_at_r]
    assert list(found.intervals) == ["recall_at_1", "recall_at_3", "r_precision", "map_at_r"]
    for score, (low, high) in zip(scores, found.intervals.values(), strict=True):
        assert 0 <= low < score < high <= 1
    again = retrieval_scores(points, classes, k=(1, 3), random_state=0)
    assert again == found


def test_classes_are_drawn_from_five_on_and_what_is_asked_for_is_obeyed():
    def resampled(n_classes, **parameters):
        classes = np.arange(20) % n_classes
        return retrieval_scores(np.eye(20), classes, **parameters).resampled

    assert (resampled(4), resampled(5)) == ("items", "classes")
    assert resampled(4, resample="classes") == "classes"
    assert resampled(5, resample="items") == "items"
    assert resampled(5, n_resamples=0) is None


def test_a_class_without_queries_is_not_drawn():
    # Four classes of two, and singles that nothing is relevant to.
    classes = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6]
    assert retrieval_scores(np.eye(11), classes).resampled == "items"


def test_ways_to_resample_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="resample must be one of 'auto', 'classes', 'items', got"):
        retrieval_scores(np.eye(2), [0, 0], resample="queries")
    with pytest.raises(ValueError, match="n_resamples must be at least 0, got -1"):
        retrieval_scores(np.eye(2), [0, 0], n_resamples=-1)
    with pytest.raises(ValueError, match=r"there is only 1: use resample='items'"):
        retrieval_scores(np.eye(2), [0, 0], resample="classes")


@pytest.mark.parametrize("resample", ["classes", "items"])
def test_intervals_are_drawn_from_the_scores_of_each_query_and_its_own_class(resample):
    # Queries of three classes find their like, others by luck; one item is alone in its class.
    classes = np.array([9, *np.repeat(np.arange(7), [2, 2, 4, 2, 6, 2, 2])])
    places = np.random.default_rng(1).permutation(21) * 100.0
    for name in (0, 1, 4):
        places[classes == name] = 1e4 * (name + 1) + np.arange((classes == name).sum())
    found = retrieval_scores(places[:, None], classes, k=1, resample=resample, random_state=0)
    hits = []
    for query in range(1, 21):
        order = slow_scores.ranking([places[query]], places[:, None], "euclidean", without=query)
        hits.append(float(classes[order[0]] == classes[query]))
    membership = class_membership(classes[1:], np.ones(20))
    rng = np.random.default_rng(0)
    (wanted,) = bootstrap_intervals(np.array(hits)[:, None], membership, resample, 1000, rng)
    assert found.intervals["recall_at_1"] == pytest.approx(wanted)
    assert wanted[0] < np.mean(hits) < wanted[1]
