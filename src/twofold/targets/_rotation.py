"""Points rotated so that taking their signs loses as little as possible (ITQ).

Gong and Lazebnik, "Iterative Quantization", 2011: of all B in {−1, 1} and rotations R the pair that
minimises ‖B − P R‖², by turns. Points of fewer dimensions than bits are turned into more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_TURNS = 50
"""Of alternating least squares, as published."""


def signs_of(points: NDArray[np.floating]) -> NDArray[np.int8]:
    """Return 1 where a number is at least 0, else −1."""
    return np.where(points >= 0, 1, -1).astype(np.int8)


def rotate_to_binary(
    points: NDArray[np.floating],
    n_bits: int,
    rng: np.random.Generator | None,
    counts: NDArray[np.floating] | None = None,
    n_turns: int = N_TURNS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a rotation under which points are near to their signs, and the loss of each turn.

    Costs n_points · dim · n_bits a turn.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, dim)
        About the origin; dim is at most `n_bits`.
    n_bits : int
        Of a code.
    rng : Generator or None
        Draws the first rotation; None begins with none, where dim is `n_bits`.
    counts : ndarray of float, shape (n_points,), optional
        How much each point counts.

    Returns
    -------
    rotation : ndarray of float64, shape (dim, n_bits)
        R, its rows orthonormal.
    losses : ndarray of float64, shape (n_turns + 1,)
        1 − (mean |v|)² / mean v² of the numbers v of P R: 0 where all are of one size.
    """
    table = np.asarray(points, dtype=np.float64)
    dim = table.shape[1]
    if dim > n_bits:
        raise ValueError(f"Points of {dim} dimensions cannot be turned into {n_bits} bits.")
    weighted = table if counts is None else table * np.asarray(counts, dtype=np.float64)[:, None]
    rotation = np.eye(dim, n_bits)
    if rng is not None:
        rotation = np.linalg.qr(rng.standard_normal((n_bits, n_bits))).Q[:dim]
    turned = table @ rotation
    losses = [_sign_loss(turned, counts)]
    for _ in range(n_turns):
        left, _, right = np.linalg.svd(weighted.T @ signs_of(turned), full_matrices=False)
        rotation = left @ right
        turned = table @ rotation
        losses.append(_sign_loss(turned, counts))
    return rotation, np.array(losses)


def _sign_loss(turned: NDArray[np.float64], counts: NDArray[np.floating] | None) -> float:
    size = float(np.average(np.abs(turned).mean(axis=1), weights=counts))
    square = float(np.average(np.square(turned).mean(axis=1), weights=counts))
    return 1 - size**2 / square if square else 0.0
