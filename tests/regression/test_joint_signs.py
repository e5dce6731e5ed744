"""Bits that are rounded together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from twofold.regression import code_agreement
from twofold.regression._joint_signs import RIDGE, JointSigns

RNG = np.random.default_rng
TABLE = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, -1, -1, -1, -1], [1, -1] * 4])


def rounded(expected, agreement) -> np.ndarray:
    layer = JointSigns(torch.from_numpy(np.asarray(agreement, dtype=np.float32)))
    return layer(torch.from_numpy(np.asarray(expected, dtype=np.float32))).numpy()


def cost(bits, expected, agreement) -> float:
    """Return (z - s e)ᵀ G (z - s e), s the length at which the signs of e fit best."""
    signs = np.where(expected >= 0, 1.0, -1.0)
    length = max(1.0, (signs @ agreement @ signs) / (signs @ agreement @ expected))
    error = bits - length * expected
    return float(error @ agreement @ error)


def agreement_of(codes) -> np.ndarray:
    """Return G of codes that one item has each."""
    return code_agreement(codes, np.ones(len(codes), dtype=int))


def test_agreement_is_the_mean_outer_product_of_codes_and_a_ridge():
    counts = np.array([3, 0, 2])
    wanted = sum(n * np.outer(code, code) for n, code in zip(counts, TABLE, strict=True)) / 5
    np.testing.assert_allclose(code_agreement(TABLE, counts), wanted + RIDGE * np.eye(8), rtol=1e-6)
    repeated = np.repeat(TABLE, counts, axis=0)
    np.testing.assert_allclose(agreement_of(repeated), code_agreement(TABLE, counts), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_no_bit_that_is_flipped_alone_would_fit_better(seed):
    rng = RNG(seed)
    agreement = agreement_of(np.where(rng.random((20, 16)) < 0.5, 1, -1)).astype(float)
    for expected in rng.uniform(-1, 1, (20, 16)):
        bits = np.sign(rounded(expected[None], agreement)[0])
        least = cost(bits, expected, agreement)
        assert least <= cost(np.where(expected >= 0, 1, -1), expected, agreement) + 1e-5
        flipped = bits * (1 - 2 * np.eye(16))
        if (bits != np.where(expected >= 0, 1, -1)).sum() < 4:  # else it was stopped
            assert min(cost(some, expected, agreement) for some in flipped) > least - 0.02


def test_expected_bits_are_never_shortened():
    """Where signs would fit a shorter vector best, they are compared with the one that there is."""
    rng = RNG(1623)
    agreement = agreement_of(np.where(rng.random((3, 8)) < 0.5, 1, -1)).astype(float)
    expected = rng.uniform(-1, 1, 8)
    signs = np.where(expected >= 0, 1.0, -1.0)
    assert signs @ agreement @ signs < 0.95 * (signs @ agreement @ expected)
    bits = np.sign(rounded(expected[None], agreement)[0])
    least = min(cost(bits * flip, expected, agreement) for flip in 1 - 2 * np.eye(8))
    assert cost(bits, expected, agreement) < least


def test_bits_fit_nearly_as_well_as_the_best_of_all_codes():
    rng, every = RNG(0), np.array(list(product([-1.0, 1.0], repeat=8)))
    agreement = agreement_of(TABLE).astype(float)
    found, best, signs = [], [], []
    for expected in rng.dirichlet(np.ones(3), 40) @ TABLE:
        found.append(cost(np.sign(rounded(expected[None], agreement)[0]), expected, agreement))
        signs.append(cost(np.where(expected >= 0, 1, -1), expected, agreement))
        best.append(min(cost(bits, expected, agreement) for bits in every))
    assert np.mean(found) - np.mean(best) < 0.2 * (np.mean(signs) - np.mean(best))


def test_an_item_between_two_classes_stays_nearer_to_both_than_to_a_third():
    table = np.where(RNG(3).random((3, 32)) < 0.5, 1, -1)
    expected = np.array([0.6, 0.4, 0.0]) @ table
    agreement = agreement_of(table)
    by_signs = np.where(expected >= 0, 1, -1) @ table.T
    together = np.sign(rounded(expected[None], agreement)[0]) @ table.T
    assert by_signs[1] - by_signs[2] < together[1] - together[2]
    assert together[0] > together[1] > together[2]


def test_a_code_that_is_certain_is_left_as_it_is_whatever_its_length():
    agreement = agreement_of(TABLE)
    for length in (1.0, 0.9, 0.3):
        np.testing.assert_allclose(rounded(length * TABLE, agreement), length * TABLE, rtol=1e-6)


def test_margins_keep_their_sizes_and_none_is_zero():
    expected = RNG(1).uniform(-1, 1, (30, 8))
    expected[0] = 0
    margins = rounded(expected, agreement_of(TABLE))
    np.testing.assert_allclose(np.abs(margins), np.abs(expected).clip(1e-6), rtol=1e-6)


def test_an_item_gets_the_same_bits_alone_and_among_others():
    rng = RNG(2)
    agreement = agreement_of(np.where(rng.random((20, 16)) < 0.5, 1, -1))
    expected = rng.uniform(-1, 1, (50, 16))
    alone = np.concatenate([rounded(one[None], agreement) for one in expected])
    np.testing.assert_array_equal(np.sign(alone), np.sign(rounded(expected, agreement)))
