"""Whole rankings, and codes of bits in every score: against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from twofold.evaluation import (
    all_pairs_auroc,
    knn_accuracy,
    pair_auroc,
    pair_similarity,
    ranking_scores,
    retrieval_scores,
)


def bits_apart(a, b):
    return sum((int(x) ^ int(y)).bit_count() for x, y in zip(a, b, strict=True))


def squared(a, b):
    return sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))


def slow_scores(queries, gallery, relevant, distance, depths, radius):
    """(mAP at each depth, mAP, precision within the radius, n_queries), a query at a time."""
    rows = []
    for number, query in enumerate(queries):
        order = sorted(range(len(gallery)), key=lambda g: (distance(query, gallery[g]), g))
        hits = [relevant(number, g) for g in order]
        if not any(hits):
            continue
        scores = []
        for depth in (*depths, len(hits)):
            found, total = 0, 0.0
            for rank, hit in enumerate(hits[:depth], start=1):
                found += hit
                total += hit * found / rank
            scores.append(total / found if found else 0.0)
        near = [relevant(number, g) for g in order if distance(query, gallery[g]) <= radius]
        rows.append([*scores, sum(near) / len(near) if near else 0.0])
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)], len(rows)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_scores_are_those_of_a_loop(seed, of_codes, several):
    rng = np.random.default_rng(seed)
    high = 8 if of_codes else 3
    queries, gallery = (rng.integers(0, high, (n, 1 + of_codes)) for n in (7, 25))
    if of_codes:
        queries, gallery = queries.astype(np.uint8), gallery.astype(np.uint8)
    shape = (lambda n: (n, 3)) if several else (lambda n: n)
    labels, others = rng.integers(0, 2, shape(7)), rng.integers(0, 2, shape(25))

    def relevant(q, g):
        return bool((labels[q] & others[g]).any()) if several else bool(labels[q] == others[g])

    assume(any(relevant(q, g) for q in range(7) for g in range(25)))
    distance = bits_apart if of_codes else squared
    wanted, n_queries = slow_scores(queries, gallery, relevant, distance, (2, 10), 1)
    found = ranking_scores(
        queries, labels, gallery_points=gallery, gallery_labels=others, k=(2, 10),
        metric="hamming" if of_codes else "euclidean", radius=1,
    )  # fmt: skip
    scores = [*found.map_at.values(), found.mean_average_precision]
    assert scores == pytest.approx(wanted[:3])
    assert (found.n_queries, found.n_without_match) == (n_queries, 7 - n_queries)
    if of_codes:
        assert found.precision_within == pytest.approx(wanted[3])
    else:
        assert found.precision_within is None


def test_a_better_order_scores_higher():
    queries, labels = np.array([[0]], dtype=np.uint8), [1]
    gallery = np.array([[0], [1], [3], [255]], dtype=np.uint8)

    def scores(others):
        return ranking_scores(queries, labels, gallery_points=gallery, gallery_labels=others, k=2)

    best, worse = scores([1, 1, 0, 0]), scores([0, 1, 1, 0])
    assert best.mean_average_precision == best.map_at[2] == 1
    assert worse.mean_average_precision == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert worse.map_at[2] == 0.5
    assert (best.precision_within, worse.precision_within) == pytest.approx((2 / 3, 2 / 3))
    assert scores([1, 0, 0, 1]).precision_within == pytest.approx(1 / 3)


def test_queries_that_find_nothing_are_refused():
    codes = np.zeros((2, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="None of 2 queries has a relevant item"):
        ranking_scores(codes, [0, 0], gallery_points=codes, gallery_labels=[1, 1])
    with pytest.raises(TypeError, match="packed into bytes"):
        ranking_scores(codes + 0.5, [0, 1], gallery_points=codes, gallery_labels=[0, 1])


def test_pairs_of_codes_are_as_similar_as_few_bits_differ():
    codes = np.random.default_rng(0).integers(0, 256, (9, 3), dtype=np.uint8)
    left, right = np.triu_indices(9, 1)
    found = pair_similarity(codes, left, right, "hamming")
    assert found.tolist() == [
        -bits_apart(codes[i], codes[j]) for i, j in zip(left, right, strict=True)
    ]
    classes = np.arange(9) % 3
    similar = classes[left] == classes[right]
    assert all_pairs_auroc(codes, classes, metric="hamming") == pytest.approx(
        pair_auroc(similar, found)
    )
    with pytest.raises(TypeError, match="packed into bytes"):
        pair_similarity(codes.astype(float), left, right, "hamming")


def test_other_scores_take_codes_as_the_points_that_their_bits_are():
    rng = np.random.default_rng(1)
    bits, classes = rng.integers(0, 2, (40, 12), dtype=np.uint8), rng.integers(0, 3, 40)
    codes = np.packbits(bits, axis=1)
    as_codes = knn_accuracy(codes[:30], classes[:30], codes[30:], classes[30:], metric="hamming")
    assert as_codes == knn_accuracy(bits[:30], classes[:30], bits[30:], classes[30:])
    one = retrieval_scores(codes, classes, metric="hamming", n_resamples=0)
    assert one == retrieval_scores(bits, classes, n_resamples=0)
