"""The estimate of how good a metric is, and whether its interval keeps what it says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from twofold.asking import Population, Repeats, estimate_quality, log_odds, weighted_auroc
from twofold.evaluation import pair_auroc


def ranks_of(n):
    return log_odds((np.arange(n) + 0.5) / n)


def population_of(ranks):
    """Return ten thousand pairs, as many of each rank."""
    return Population(ranks, np.zeros(ranks.size), np.full(ranks.size, 1e4 / ranks.size))


RANKS = ranks_of(200)
POPULATION = population_of(RANKS)
COARSE = ranks_of(100)  # for what is done very often


def auroc_of(chance):
    return weighted_auroc(ranks_of(chance.size), chance, 1 - chance)


def evening(chance, n, rng, slips=0.0):
    """Return the estimate from tests of which half are among the nearest twentieth.

    A fifth as many questions are asked twice.
    """
    n_ranks, ranks = chance.size, ranks_of(chance.size)
    is_near = rng.random(n) < 0.5
    rows = np.where(is_near, rng.integers(n_ranks // 20, size=n), rng.integers(n_ranks, size=n))
    same = (rng.random(n) < chance[rows]) != (rng.random(n) < slips)
    n_agreed = int((rng.random(n // 5) >= 2 * slips * (1 - slips)).sum())
    repeats = Repeats(n // 5, n_agreed)
    return estimate_quality(ranks[rows], np.zeros(n), same, population_of(ranks), rng, repeats)


def test_weighted_auroc_is_that_of_repeated_pairs():
    rng = np.random.default_rng(0)
    similarity = rng.integers(6, size=40).astype(float)
    alike, unlike = rng.integers(4, size=(2, 40))
    same = np.concatenate([np.ones(alike.sum()), np.zeros(unlike.sum())])
    repeated = np.concatenate([np.repeat(similarity, alike), np.repeat(similarity, unlike)])
    weighted = weighted_auroc(similarity, alike.astype(float), unlike.astype(float))
    assert weighted == pytest.approx(pair_auroc(same, repeated))


CURVES = {
    "gradual": expit(1.5 * (COARSE - 2)),
    "with a floor": 0.85 * expit(1.0 * (COARSE - 2)) + 0.03,
    "sharp": expit(6.0 * (COARSE - 2)),
}


@pytest.mark.parametrize(("n", "slips", "n_drawn"), [(20, 0.0, 20), (80, 0.0, 20), (60, 0.05, 10)])
def test_the_interval_covers_the_truth_nearly_always(n, slips, n_drawn):
    rng, shares = np.random.default_rng(1), []
    for chance in CURVES.values():
        evenings = (evening(chance, n, rng, slips) for _ in range(n_drawn))
        said = [one for one in evenings if one is not None]
        assert len(said) >= 0.8 * n_drawn
        assert all(one.low <= one.auroc <= one.high for one in said)
        shares.append(np.mean([one.low <= auroc_of(chance) <= one.high for one in said]))
    assert np.mean(shares) >= 0.9
    assert min(shares) >= 0.8


def test_more_tests_give_a_narrower_interval():
    chance, rng = expit(1.5 * (COARSE - 2)), np.random.default_rng(0)
    widths = [
        np.mean([one.high - one.low for one in (evening(chance, n, rng) for _ in range(6))])
        for n in (30, 120, 480)
    ]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.15


def test_a_better_metric_is_estimated_better():
    rng = np.random.default_rng(0)
    sharp, gradual = (evening(expit(s * (RANKS - 2)), 200, rng) for s in (5.0, 0.7))
    assert sharp.auroc > gradual.auroc + 0.05
    assert sharp.low > gradual.auroc


def test_a_metric_that_made_no_mistake_may_be_perfect():
    rows = np.array([0, 1, 2, 3, 60, 90, 120, 150])
    one = estimate_quality(
        RANKS[rows], np.zeros(8), rows < 10, POPULATION, np.random.default_rng(0)
    )
    assert one.high == 1.0
    assert one.low < 0.9


def test_a_metric_that_only_slips_contradict_may_be_perfect():
    rng = np.random.default_rng(2)
    said = [evening((RANKS > 2).astype(float), 100, rng, slips=0.05) for _ in range(5)]
    assert [one.high for one in said] == [1.0] * 5
    assert np.mean([one.low for one in said]) < 0.98


def test_people_who_contradict_themselves_make_a_metric_look_better_than_their_tests_do():
    rows, same = np.arange(0, 200, 4), np.arange(50) < 4
    same[[20, 35]] = True  # far pairs: alike, or slips
    said = [
        estimate_quality(
            RANKS[rows], np.zeros(50), same, POPULATION, np.random.default_rng(0), Repeats(20, n)
        )
        for n in (17, 20)
    ]
    assert said[0].auroc > said[1].auroc + 0.03
    assert said[0].low > said[1].low


@pytest.mark.parametrize("n_same", [0, 2, 28, 30])
def test_too_few_of_a_kind_say_nothing(n_same):
    rows, same = np.arange(30), np.arange(30) < n_same
    rng = np.random.default_rng(0)
    assert estimate_quality(RANKS[rows], np.zeros(30), same, POPULATION, rng) is None
