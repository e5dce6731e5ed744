"""Pairs to test on are drawn with the chances that are said."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from twofold.asking import Askable, TestDesign
from twofold.asking._test_design import stratum_edges

POINTS = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)


def every_pair(askable):
    pairs = [(i, j) for i in range(askable.n_items) for j in range(i + 1, askable.n_items)]
    return [pair for pair in pairs if askable.allows(*map(np.array, pair))]


@pytest.mark.parametrize("n_left", [None, 5, 20])
def test_the_chances_of_all_pairs_that_may_be_asked_sum_to_one(n_left):
    askable = Askable(24, n_left)
    design = TestDesign(POINTS, askable)
    chances = {pair: design.chance(*pair) for pair in every_pair(askable)}
    assert len(chances) == askable.n_pairs
    assert sum(chances.values()) == pytest.approx(1)
    assert all(design.chance(*pair[::-1]) == chance for pair, chance in chances.items())


def test_pairs_are_drawn_as_often_as_their_chances_say():
    design = TestDesign(POINTS, Askable(24))
    drawn = Counter(tuple(sorted(design.draw(number, 3))) for number in range(4000))
    expected = {pair: 4000 * design.chance(*pair) for pair in every_pair(Askable(24))}
    assert set(drawn) <= set(expected)
    misfit = sum((drawn[pair] - often) ** 2 / often for pair, often in expected.items())
    assert misfit < len(expected) + 5 * np.sqrt(2 * len(expected))  # chi squared


def test_the_sequence_depends_on_the_seed_alone():
    one, other = (TestDesign(POINTS.copy(), Askable(24)) for _ in range(2))
    other.draw(7, 0)
    assert [one.draw(k, 0) for k in range(20)] == [other.draw(k, 0) for k in range(20)]
    assert [one.draw(k, 0) for k in range(20)] != [one.draw(k, 1) for k in range(20)]


def test_between_two_tables_the_first_is_of_the_left_one():
    design = TestDesign(POINTS, Askable(24, 5))
    for left, right in (design.draw(number, 0) for number in range(200)):
        assert left < 5 <= right


def test_ranks_and_neighbours_agree_also_where_items_coincide():
    points = np.repeat(POINTS[:8], 3, axis=0)
    design = TestDesign(points, Askable(24))
    for item in range(24):
        near_first = design.neighbours(item)
        assert sorted(near_first) == sorted(set(range(24)) - {item})
        ranks = [design.rank(item, int(partner)) for partner in near_first]
        assert ranks == list(range(23))


@pytest.mark.parametrize(
    ("n_partners", "edges"),
    [(1, [0, 1]), (2, [0, 1, 2]), (10, [0, 1, 10]), (500, [0, 1, 10, 100, 500])],
)
def test_strata_grow_tenfold(n_partners, edges):
    assert stratum_edges(n_partners).tolist() == edges


@pytest.mark.parametrize(("n_items", "n_left"), [(1, None), (5, 0), (5, 5)])
def test_there_has_to_be_something_to_ask(n_items, n_left):
    with pytest.raises(ValueError, match=r"at least two items|leave items in both tables"):
        Askable(n_items, n_left)
