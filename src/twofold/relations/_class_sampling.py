"""Partners drawn for items that have one class each: no draw is ever wasted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sample_class_partners(
    codes: NDArray[np.int64], n_similar: int, n_dissimilar: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw partners of the same and of another class, uniformly.

    With the items sorted by class, those alike are the class's own block without the item itself,
    and those not alike are all places outside the block.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_items,)
        Class numbers, -1 if unknown.
    n_similar, n_dissimilar : int
        Draws an item.
    rng : Generator
        Source of the draws.

    Returns
    -------
    partners : ndarray of int64, shape (n_items, n_similar + n_dissimilar)
        Item indices, -1 where there is no such partner.
    """
    known = np.flatnonzero(codes >= 0)
    by_class = known[np.argsort(codes[known], kind="stable")]
    sizes = np.bincount(codes[known])
    size = sizes[codes[by_class]][:, None]  # of each item's class, in the order of by_class
    start = (np.cumsum(sizes) - sizes)[codes[by_class]][:, None]
    place = np.arange(by_class.size)[:, None]

    similar = start + rng.integers(0, np.maximum(size - 1, 1), (by_class.size, n_similar))
    similar += similar >= place  # step over the item itself
    dissimilar = rng.integers(0, by_class.size - size, (by_class.size, n_dissimilar))
    dissimilar += np.where(dissimilar >= start, size, 0)  # step over the class

    partners = np.full((codes.size, n_similar + n_dissimilar), -1, dtype=np.int64)
    alone = size[:, 0] == 1
    similar[alone] = 0
    partners[by_class] = by_class[np.hstack([similar, dissimilar])]
    partners[by_class[alone], :n_similar] = -1
    return partners
