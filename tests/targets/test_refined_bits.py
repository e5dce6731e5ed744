"""Bits refitted to the relation: the correlation by its definition, and what the map must do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from twofold.targets import _refined_bits, refine_bits

RNG = np.random.default_rng
N_ITEMS, N_BITS, N_CLASSES = 120, 6, 4


def slow_correlation(bits, which, table=None) -> float:
    """Of Σ_r z_ir z_jr with t_i·t_j over every pair, an item with itself included."""
    agreed, wanted = [], []
    for i in range(len(bits)):
        for j in range(len(bits)):
            agreed.append(sum(float(a) * float(b) for a, b in zip(bits[i], bits[j], strict=True)))
            one, other = which[i], which[j]
            wanted.append(
                float(one == other) if table is None else float(table[one] @ table[other])
            )
    return float(np.corrcoef(agreed, wanted)[0, 1])


def some_relation(kind, seed=0):
    """Return which row each item has, and the rows: None of classes."""
    rng = RNG(seed)
    which = rng.integers(N_CLASSES, size=N_ITEMS)
    return which, None if kind == "classes" else rng.standard_normal((N_CLASSES, 3))


def drawn_to_the_mean(which, seed=0, noise=0.6, offset=2.0):
    """Points as a network gives them of random codewords: small, noisy, about a mean of theirs."""
    rng = RNG(seed)
    codewords = np.where(rng.random((N_CLASSES, N_BITS)) < 0.5, -1.0, 1.0)
    points = 0.3 * codewords[which] + noise * rng.standard_normal((len(which), N_BITS))
    return 5 * (points + offset * rng.standard_normal(N_BITS))


def signs(points, refined) -> np.ndarray:
    return np.where(points @ refined.matrix + refined.offset >= 0, 1, -1)


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_the_correlation_is_that_of_the_definition(kind):
    which, table = some_relation(kind)
    bits = RNG(3).uniform(-1, 1, (N_ITEMS, N_BITS)).astype(np.float32)
    relation = _refined_bits._Relation(which, table, N_ITEMS, "cpu")
    fast = float(relation.correlation(torch.from_numpy(bits)))
    assert fast == pytest.approx(slow_correlation(bits, which, table), abs=1e-5)


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_the_correlation_returned_is_that_of_the_maps_signs(kind):
    which, table = some_relation(kind)
    points = drawn_to_the_mean(which)
    refined = refine_bits(points, which, table)
    bits = signs(points, refined)
    assert refined.correlation == pytest.approx(slow_correlation(bits, which, table), abs=1e-5)
    assert (refined.matrix.dtype, refined.offset.dtype) == (np.float32, np.float32)


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_codes_go_better_with_the_relation_than_the_signs_they_begin_from(kind):
    which, table = some_relation(kind)
    points = drawn_to_the_mean(which)
    before = slow_correlation(np.where(points >= 0, 1, -1), which, table)
    assert refine_bits(points, which, table).correlation > before + 0.1


def test_new_items_gain_too():
    which = RNG(0).integers(N_CLASSES, size=3 * N_ITEMS)
    points = drawn_to_the_mean(which, offset=0.2)
    refined = refine_bits(points[: 2 * N_ITEMS], which[: 2 * N_ITEMS], None)
    new, of_new = points[2 * N_ITEMS :], which[2 * N_ITEMS :]
    before = slow_correlation(np.where(new >= 0, 1, -1), of_new)
    assert slow_correlation(signs(new, refined), of_new) > before + 0.05


def test_without_a_step_bits_are_the_signs_of_the_points(monkeypatch):
    monkeypatch.setattr(_refined_bits, "N_STEPS", 0)
    which, _ = some_relation("classes")
    points = drawn_to_the_mean(which, offset=0.5)
    refined = refine_bits(points, which, None)
    np.testing.assert_allclose(points @ refined.matrix + refined.offset, points, atol=1e-4)


def test_points_of_another_size_have_the_same_bits_and_margins_of_that_size():
    which, _ = some_relation("classes")
    points = drawn_to_the_mean(which, offset=0.5)
    one, other = refine_bits(points, which, None), refine_bits(8 * points, which, None)
    margins = points @ one.matrix + one.offset
    larger = 8 * points @ other.matrix + other.offset
    np.testing.assert_allclose(larger, 8 * margins, rtol=1e-3, atol=1e-2)


def test_rows_that_no_item_has_count_for_nothing():
    which, table = some_relation("labels")
    points = drawn_to_the_mean(which)
    more = np.concatenate([100 * RNG(5).standard_normal((2, 3)), table])
    one, other = refine_bits(points, which, table), refine_bits(points, which + 2, more)
    np.testing.assert_array_equal(one.matrix, other.matrix)


def test_classes_may_be_numbered_in_any_way():
    which, _ = some_relation("classes")
    points = drawn_to_the_mean(which)
    one, other = refine_bits(points, which, None), refine_bits(points, 7 * which + 3, None)
    np.testing.assert_array_equal(one.matrix, other.matrix)


def test_points_that_are_all_the_same_are_left_as_they_are():
    refined = refine_bits(np.ones((5, 3)), np.arange(5), None)
    np.testing.assert_array_equal(refined.matrix, np.eye(3))
    assert not refined.offset.any()
    assert refined.correlation == 0


def test_one_class_has_no_correlation_and_gives_finite_numbers():
    refined = refine_bits(drawn_to_the_mean(np.zeros(30, dtype=int)), np.zeros(30, dtype=int), None)
    assert np.isfinite(refined.matrix).all()
    assert np.isfinite(refined.offset).all()
    assert np.isfinite(refined.correlation)
