"""How codes of bits are compared: the product that finds neighbours, the count that ranks them.

The product is of signs, −1 and 1, whose sums are whole numbers and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from twofold._core.bits import Codes, bits_apart, check_codes, unpack_signs
from twofold.search._space import Metric, Space, check_points

CHUNK_PAIRS = 2**22
"""Pairs of codes that are compared at a time."""
Rows = NDArray[np.int64]
Numbers = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HammingSpace:
    """Codes packed into bytes, as a product of two tables of signs; see `Space`."""

    metric: ClassVar[Metric] = "hamming"

    def reaching(self, codes: Codes) -> HammingSpace:
        """Return the same space: it holds codes of any kind."""
        return self

    def plain(self, codes: Codes) -> Codes:
        """Return codes as FAISS takes them."""
        return np.ascontiguousarray(codes)

    def left(self, queries: Codes) -> Numbers:
        """Return the left factors of the product, a row per query."""
        return unpack_signs(queries)

    def right(self, codes: Codes) -> Numbers:
        """Return the right factors: ``left @ right.T`` is the bits less twice those that differ."""
        return unpack_signs(codes)

    def least_product(self, queries: Codes, similarity: Numbers | float) -> Numbers:
        """Return, a query, what the product of any code that is so similar reaches at least."""
        values = np.broadcast_to(np.asarray(similarity, dtype=np.float64), (len(queries),))
        bounds = 8 * queries.shape[1] + 2 * values - 0.5
        return np.asarray(bounds.clip(-1e38, 1e38), dtype=np.float32)

    def product_to_beat(self, queries: Codes, similarity: Numbers) -> Numbers:
        """Return what the product of a code that is more similar reaches at least."""
        return self.least_product(queries, similarity) + np.float32(1)

    def pair_similarity(self, queries: Codes, codes: Codes, left: Rows, right: Rows) -> Numbers:
        """Return minus the bits in which ``queries[left[k]]`` and ``codes[right[k]]`` differ."""
        similarity = np.empty(left.size, dtype=np.float32)
        for first in range(0, left.size, CHUNK_PAIRS):
            some = slice(first, first + CHUNK_PAIRS)
            similarity[some] = -bits_apart(queries[left[some]], codes[right[some]])
        return similarity + np.float32(0)  # no −0


AnySpace = Space | HammingSpace


def check_items(metric: Metric, name: str, points: Any, dim: int | None = None) -> NDArray[Any]:
    """Return points, or codes where they are compared by their bits, as they are kept."""
    if metric == "hamming":
        return check_codes(name, points, dim)
    return check_points(name, points, dim)
