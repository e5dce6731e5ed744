"""The rotation that loses least when signs are taken."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.targets import rotate_to_binary, signs_of

RNG = np.random.default_rng


def blobs(n_points=200, dim=6, seed=0) -> np.ndarray:
    rng = RNG(seed)
    centres = rng.standard_normal((5, dim))
    points = centres[rng.integers(5, size=n_points)] + 0.1 * rng.standard_normal((n_points, dim))
    return points - points.mean(axis=0)


def slow_sign_loss(turned: np.ndarray, counts: np.ndarray) -> float:
    """min_s Σ c (b − s v)² / Σ c, of the numbers v and their signs b, at s = Σ c |v| / Σ c v²."""
    sizes, squares, weight = 0.0, 0.0, 0.0
    for row, count in zip(turned, counts, strict=True):
        for value in row:
            sizes += count * abs(value)
            squares += count * value**2
            weight += count
    best = sizes / squares
    return (
        sum(
            count * (1 - best * abs(value)) ** 2
            for row, count in zip(turned, counts, strict=True)
            for value in row
        )
        / weight
    )


@pytest.mark.parametrize("n_bits", [6, 16])
def test_no_turn_raises_the_loss_and_the_last_one_is_the_definitions(n_bits):
    points, counts = blobs(40), RNG(1).integers(1, 5, 40).astype(float)
    rotation, losses = rotate_to_binary(points, n_bits, RNG(0), counts)
    assert (np.diff(losses) <= 1e-12).all()
    assert losses[-1] < losses[0]
    assert losses[-1] == pytest.approx(slow_sign_loss(points @ rotation, counts))
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(6), atol=1e-12)


def test_points_that_are_turned_signs_are_turned_back():
    rng = RNG(2)
    signs = signs_of(rng.standard_normal((300, 4)))
    away = np.linalg.qr(rng.standard_normal((4, 4))).Q
    losses = [rotate_to_binary(signs @ away, 4, RNG(seed))[1][-1] for seed in range(5)]
    assert min(losses) == pytest.approx(0, abs=1e-12)


def test_a_count_is_a_point_that_comes_so_often():
    points, counts = blobs(30), RNG(3).integers(1, 4, 30)
    once = rotate_to_binary(points, 8, RNG(0), counts.astype(float), n_turns=10)
    often = rotate_to_binary(np.repeat(points, counts, axis=0), 8, RNG(0), n_turns=10)
    np.testing.assert_allclose(once[1], often[1], atol=1e-9)


def test_it_loses_less_than_faiss_itq_or_as_little():
    faiss = pytest.importorskip("faiss", reason="FAISS is not installed")
    points = blobs(2000, 8)
    _, losses = rotate_to_binary(points, 8, RNG(0))
    rival = faiss.ITQMatrix(8)
    rival.train(np.ascontiguousarray(points, dtype=np.float32))
    turned = rival.apply(np.ascontiguousarray(points, dtype=np.float32)).astype(float)
    theirs = 1 - np.abs(turned).mean() ** 2 / np.square(turned).mean()
    assert losses[-1] < theirs + 0.01


def test_fewer_bits_than_dimensions_are_refused():
    with pytest.raises(ValueError, match="6 dimensions cannot be turned into 4 bits"):
        rotate_to_binary(blobs(), 4, RNG(0))
