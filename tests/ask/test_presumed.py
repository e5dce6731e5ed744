"""Pairs that are presumed to be different."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.ask._presumed import COMPARED_WEIGHT, MOST_COMPARED, N_PRESUMED, Presumed
from twofold.asking import Askable
from twofold.evaluation import pair_similarity

POINTS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


@pytest.mark.parametrize("n_left", [None, 20])
def test_what_is_learnt_is_far_allowed_and_few(n_left):
    askable = Askable(60, n_left)
    unlike = Presumed(POINTS, askable, 0).unlike(frozenset(), 0)
    left, right = np.array([*unlike]).T
    assert 0.7 * N_PRESUMED <= len(unlike) <= N_PRESUMED
    assert {*unlike.values()} == {(False, 1.0)}
    assert askable.allows(left, right).all()
    every = pair_similarity(POINTS, *np.triu_indices(60, 1))
    assert (pair_similarity(POINTS, left, right) < np.quantile(every, 0.65)).all()


@pytest.mark.parametrize("n_left", [None, 200])
def test_what_is_compared_on_is_as_much_as_was_said_to_be_different_and_like_all_pairs(n_left):
    points = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    askable = Askable(600, n_left)
    presumed = Presumed(points, askable, 0)
    compared = _compared(presumed, 90)
    left, right = np.array(compared).T
    assert 85 <= len(compared) <= 90
    assert askable.allows(left, right).all()
    every = pair_similarity(points, *np.triu_indices(600, 1))
    is_near = pair_similarity(points, left, right) > np.median(every)
    assert 0.35 < is_near.mean() < 0.65
    assert len(_compared(presumed, 10**6)) <= MOST_COMPARED


def test_more_pairs_are_compared_on_as_more_are_said_to_be_different():
    presumed = Presumed(POINTS, Askable(60), 0)
    assert _compared(presumed, 20) == _compared(presumed, 50)[: len(_compared(presumed, 20))]


def test_what_somebody_was_asked_about_is_not_presumed():
    presumed = Presumed(POINTS, Askable(60), 0)
    first, *others = presumed.unlike(frozenset(), 30)
    assert [*presumed.unlike(frozenset([first]), 30)] == others


def test_the_seed_decides():
    one, same, other = (
        Presumed(POINTS, Askable(60), seed).unlike(frozenset(), 30) for seed in (0, 0, 1)
    )
    assert one == same != other


def _compared(presumed: Presumed, n_unlike: int) -> list[tuple[int, int]]:
    unlike = presumed.unlike(frozenset(), n_unlike)
    return [pair for pair, said in unlike.items() if said == (False, COMPARED_WEIGHT)]
