"""What an embedding says of pairs of records, beside a loop that is its definition."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.evaluation import pair_similarity
from twofold.matching import EMBEDDING_NAMES, embedding_evidence

RNG = np.random.default_rng(0)
LEFT = RNG.normal(size=(12, 3)).astype(np.float32)
RIGHT = RNG.normal(size=(9, 3)).astype(np.float32)
PAIRS = np.array([[0, 0], [3, 8], [3, 2], [11, 4]])


def slow_standing(value: float, others: list[float]) -> tuple[float, float]:
    if not others:
        return np.nan, 0
    return value - max(others), min(10, sum(other > value + 1e-6 for other in others))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_it_is_the_similarity_and_how_it_stands_among_all_partners(metric):
    every = np.array(
        [[pair_similarity(np.stack([a, b]), [0], [1], metric)[0] / 2 for b in RIGHT] for a in LEFT]
    )
    expected = []
    for i, j in PAIRS:
        value = every[i, j]
        left = slow_standing(value, np.delete(every[i], j).tolist())
        right = slow_standing(value, np.delete(every[:, j], i).tolist())
        expected.append([value, *left, *right])
    found = embedding_evidence(LEFT, RIGHT, PAIRS, metric=metric, scale=2.0)
    assert found.shape == (4, len(EMBEDDING_NAMES))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_within_one_table_nobody_is_their_own_partner_and_the_order_does_not_matter():
    pairs = np.array([[0, 1], [4, 7]])
    found = embedding_evidence(LEFT, None, pairs, metric="euclidean", scale=1.0)
    turned = embedding_evidence(LEFT, None, pairs[:, ::-1], metric="euclidean", scale=1.0)
    np.testing.assert_array_equal(found, turned)
    copied = np.concatenate([LEFT, LEFT[:1]])
    equal = embedding_evidence(copied, None, np.array([[0, 12]]), metric="euclidean", scale=1.0)
    assert equal[0, 0] == 0
    assert (equal[0, [2, 4]] == 0).all()  # nobody is nearer
    assert (equal[0, [1, 3]] > 0).all()


def test_a_record_without_another_partner_has_no_margin():
    found = embedding_evidence(LEFT, RIGHT[:1], np.array([[2, 0]]), metric="cosine", scale=1.0)
    assert np.isnan(found[0, 1])
    assert np.isfinite(found[0, 3])
