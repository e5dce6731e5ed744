"""Each statement is scored by an embedding that was fitted without it."""

from __future__ import annotations

import numpy as np

from twofold import PairRelation
from twofold.asking._calibration import held_out_similarity
from twofold.evaluation import scaled_similarity

POINTS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
LEFT, RIGHT = np.arange(0, 40, 2), np.arange(1, 40, 2)
KNOWN = PairRelation(LEFT, RIGHT, np.arange(20) % 2, 40)


def of(points, relation=KNOWN):
    return scaled_similarity(points, relation.left, relation.right, "euclidean")


def of_stated(points, relation):
    items = np.flatnonzero(relation.linked)
    return of(points[items], relation.take(items))


def held_out(refit, relation=KNOWN):
    return held_out_similarity(relation, POINTS, "euclidean", refit, np.random.default_rng(0))


def test_each_statement_is_scored_without_itself():
    without = {}

    def refit(kept, items):
        assert items.tolist() == list(range(40))
        points = np.random.default_rng(len(without)).normal(size=POINTS.shape).astype(np.float32)
        left_out = ~np.isin(LEFT, kept.left)
        without.update(dict.fromkeys(LEFT[left_out].tolist(), points))
        return points

    similarity = held_out(refit)
    assert without.keys() == set(LEFT.tolist())
    for row, left in enumerate(LEFT.tolist()):
        assert similarity[row] == of(without[left])[row]


def test_without_a_refit_or_with_too_few_statements_the_embedding_itself_is_asked():
    np.testing.assert_array_equal(held_out(None), of(POINTS))
    few = PairRelation([0, 2, 1], [2, 4, 2], [1, 1, 0], 40)
    np.testing.assert_array_equal(held_out(lambda kept, items: 1 / 0, few), of_stated(POINTS, few))
