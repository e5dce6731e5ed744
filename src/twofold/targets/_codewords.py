"""Well separated codes for classes: any two differ in as nearly half of their bits as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold.relations import PairRelation
from twofold.targets._pair_codes import solve_pair_bits

MOST_ARRANGED = 512
"""Classes of up to so many are arranged, in a second; codes of more are drawn at random. The
nearest two of 10 classes in 64 bits then differ in 34 bits (24 at random; no arrangement has more
than 35), of 100 in 24 (17), of 300 in 17 (16), of 1,000 in 12 (14)."""
N_ROUNDS, N_TRIES = 5, 8


def codewords(n_classes: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return a code per class, all different, −1 and 1, shape (n_classes, n_bits).

    The bits of pairs of classes are solved as those of items are, with what a regular simplex asks
    of two codes, z·z' = −b / (n − 1). Of some tries the one whose nearest two differ most is kept.
    """
    check_count("n_classes", n_classes, minimum=2)
    if n_bits < 63 and n_classes > 2**n_bits:
        raise ValueError(
            f"n_bits={n_bits} has {2**n_bits} codes, but there are {n_classes} classes: raise "
            f"n_bits to at least {(n_classes - 1).bit_length()}."
        )
    best = _random_codes(n_classes, n_bits, rng)
    if n_classes > MOST_ARRANGED:
        return best
    left, right = np.triu_indices(n_classes, 1)
    apart = np.full(left.size, 0.5 - 0.5 / (n_classes - 1), dtype=np.float32)
    relation = PairRelation(left, right, apart, n_classes)
    tries = [solve_pair_bits(relation, n_bits, rng, N_ROUNDS)[0].bits.T for _ in range(N_TRIES)]
    return max([best, *(one.astype(np.int8) for one in tries)], key=least_distance)


def least_distance(codes: NDArray[np.int8]) -> int:
    """Return in how many bits the nearest two codes differ."""
    signs = codes.astype(np.float32)
    products = signs @ signs.T
    np.fill_diagonal(products, -np.inf)
    return int((codes.shape[1] - products.max()) / 2)


def _random_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return different codes that are drawn at random."""
    if n_bits < 63 and 4 * n_classes > 2**n_bits:  # too few codes to meet different ones by chance
        numbers = rng.permutation(2**n_bits)[:n_classes]
        bits = (numbers[:, None] >> np.arange(n_bits)) & 1
        return (2 * bits - 1).astype(np.int8)
    codes = np.empty((0, n_bits), dtype=np.int8)
    while len(codes) < n_classes:
        drawn = 2 * rng.integers(2, size=(n_classes, n_bits), dtype=np.int8) - 1
        codes = np.unique(np.concatenate([codes, drawn]), axis=0)
    return rng.permutation(codes)[:n_classes]
