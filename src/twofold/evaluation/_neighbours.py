"""The order of a gallery's points by nearness to a query, equal nearness by lowest index.

Nearness is one matrix product. Its float64 values are turned, in place, into integers that sort as
they do and carry the point's index in their last bits: one partition of integers then gives the
neighbours and settles ties. scikit-learn's search is twice as fast but leaves ties to chance, and
knows Euclidean distance only: it is asked first where that will do.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from twofold._core.bits import check_codes
from twofold.evaluation._points import Metric, directions

UseKeys = Callable[[NDArray[np.int64], NDArray[np.int64]], None]

PRODUCT_NUMBERS = 2**24
"""Numbers in one matrix product: 128 MiB."""
BLOCK_NUMBERS = 2**19
"""Numbers that a thread turns into keys at a time: 4 MiB, which stays in cache."""
RELATIVE_ROUNDING = 1e-11
"""Far above what the rounding of a product of a few thousand terms comes to."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourOrder:
    """How near each of n_gallery points is to each of n_queries, as factors of one product.

    Attributes
    ----------
    queries : ndarray of float64, shape (n_queries, width)
        Left factors.
    gallery : ndarray of float64, shape (n_distinct, width)
        Right factors, equal ones once: ``queries @ gallery.T`` is small for the near.
    place : ndarray of int64, shape (n_gallery,), or None
        Row of `gallery` for each point; None if no two are equal. A matrix product may round two
        equal columns differently, so equal points have to share one.
    is_signed : bool
        Whether the product may be negative by more than rounding.
    """

    queries: NDArray[np.float64]
    gallery: NDArray[np.float64]
    place: NDArray[np.int64] | None
    is_signed: bool

    @classmethod
    def of(cls, queries: NDArray[Any], gallery: NDArray[Any], metric: Metric) -> NeighbourOrder:
        """Prepare the order of `gallery` for `queries`, both checked points of one space.

        The product is ‖q − g‖², 1 − q·g / ‖q‖‖g‖ (1 if one is zero), −q·g, or how many bits differ.
        """
        if metric == "hamming":
            queries, gallery = (
                np.unpackbits(check_codes("points", table), axis=1) for table in (queries, gallery)
            )
        left, right = _FACTORS[metric](queries.astype(np.float64), gallery.astype(np.float64))
        distinct, place = _distinct_rows(right)
        return cls(left, distinct, place, is_signed=metric == "dot")

    @property
    def n_gallery(self) -> int:
        """Number of points that are ordered."""
        return len(self.gallery if self.place is None else self.place)

    def for_each_block(self, rows: NDArray[np.int64], use: UseKeys) -> None:
        """Call ``use(some_rows, keys)`` for all query `rows`, a few at a time, in threads.

        ``keys``, int64 of shape (len(some_rows), n_gallery), is the callee's own. Keys sort by
        nearness, then by index, which `gallery_index` reads; their last bit is 0 and free. The
        index and that bit take the place of the last ⌈log₂ n_gallery⌉ + 1 of 53 binary digits:
        among 100,000 points, nearness that agrees to ten decimal digits counts as equal.
        """
        n_rows = max(1, PRODUCT_NUMBERS // self.n_gallery)
        n_block_rows = max(1, BLOCK_NUMBERS // self.n_gallery)
        product = np.empty((min(n_rows, len(rows)), len(self.gallery)))
        tails = np.arange(self.n_gallery, dtype=np.int64) << 1

        def use_block(some_rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
            if self.place is not None:
                values = np.take(values, self.place, axis=1)
            use(some_rows, _sortable(values, tails, self.is_signed))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for first in range(0, len(rows), n_rows):
                some_rows = rows[first : first + n_rows]
                values = np.matmul(
                    self.queries[some_rows], self.gallery.T, out=product[: len(some_rows)]
                )
                blocks = range(n_block_rows, len(some_rows), n_block_rows)
                done = pool.map(use_block, np.split(some_rows, blocks), np.split(values, blocks))
                list(done)  # waits, and raises what a thread raised

    def gallery_index(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices that `keys` carry."""
        return np.asarray((keys & _tail_mask(self.n_gallery)) >> 1)

    def without_index(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers that sort by nearness alone: equally near points have equal ones."""
        return np.asarray(keys & ~_tail_mask(self.n_gallery))


def nearest_indices(
    queries: NDArray[Any], gallery: NDArray[Any], k: int, metric: Metric
) -> NDArray[np.int64]:
    """Return the `k` nearest of `gallery` to every query, in any order, shape (n_queries, k)."""
    nearest = np.empty((len(queries), k), dtype=np.int64)
    rows = np.arange(len(queries))
    if metric == "euclidean" and k < len(gallery):
        nearest, is_sure = _search(queries, gallery, k)
        rows = np.flatnonzero(~is_sure)
    if rows.size:
        order = NeighbourOrder.of(queries[rows], gallery, metric)

        def take_nearest(some: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
            keys.partition(k - 1, axis=1)
            nearest[rows[some]] = order.gallery_index(keys[:, :k])

        order.for_each_block(np.arange(rows.size), take_nearest)
    return nearest


def _search(
    queries: NDArray[Any], gallery: NDArray[Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return scikit-learn's `k` nearest, and for which queries no tie could change them.

    The next after them has to be farther by more than the rounding of ‖q‖² + ‖g‖² − 2 q·g, where
    ‖g‖² ≤ 2 ‖q‖² + 2 ‖q − g‖².
    """
    queries, gallery = _centred(queries.astype(np.float64), gallery.astype(np.float64))
    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(gallery)
    distances, indices = search.kneighbors(queries)
    last, following = distances[:, k - 1] ** 2, distances[:, k] ** 2
    rounding = RELATIVE_ROUNDING * (np.einsum("ij,ij->i", queries, queries) + following)
    return indices[:, :k], following - last > rounding


def _sortable(
    values: NDArray[np.float64], tails: NDArray[np.int64], is_signed: bool
) -> NDArray[np.int64]:
    """Turn the `values` of each row, in place, into integers of that order that end in `tails`."""
    keys = values.view(np.int64)
    if is_signed:
        values += 0.0  # -0.0 and 0.0 are one value, but two patterns of bits
        keys ^= (keys >> 63) & np.int64(2**63 - 1)  # below zero the patterns sort backwards
    keys &= ~_tail_mask(len(tails))
    keys |= tails
    return keys


def _tail_mask(n_gallery: int) -> np.int64:
    """Return ones where a key holds an index and the free bit."""
    return np.int64((2 << (n_gallery - 1).bit_length()) - 1)


def _distinct_rows(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Return the distinct rows and the place of each row among them, None if all are distinct."""
    # As bytes, because they sort many times faster; adding 0.0 makes -0.0 the same as 0.0.
    rows_as_bytes = (table + 0.0).view(f"V{table.itemsize * table.shape[1]}").ravel()
    _, first, place = np.unique(rows_as_bytes, return_index=True, return_inverse=True)
    return (table, None) if len(first) == len(table) else (table[first], place)


Factors = tuple[NDArray[np.float64], NDArray[np.float64]]


def _euclidean_factors(queries: NDArray[np.float64], gallery: NDArray[np.float64]) -> Factors:
    """Return factors of ‖q − g‖² = ‖q‖² + ‖g‖² − 2 q·g, up to one positive number."""
    queries, gallery = _centred(queries, gallery)
    q_squares, g_squares = (np.einsum("ij,ij->i", table, table) for table in (queries, gallery))
    return (
        np.column_stack([queries, q_squares, np.ones(len(queries))]),
        np.column_stack([-2 * gallery, np.ones(len(gallery)), g_squares]),
    )


def _cosine_factors(queries: NDArray[np.float64], gallery: NDArray[np.float64]) -> Factors:
    """Return factors of 1 − q·g / ‖q‖‖g‖."""
    return (
        np.column_stack([directions(queries), np.ones(len(queries))]),
        np.column_stack([-directions(gallery), np.ones(len(gallery))]),
    )


def _dot_factors(queries: NDArray[np.float64], gallery: NDArray[np.float64]) -> Factors:
    """Return factors of −q·g, up to one positive number."""
    return _scaled(queries)[0], -_scaled(gallery)[0]


_FACTORS = {
    "euclidean": _euclidean_factors,
    "cosine": _cosine_factors,
    "dot": _dot_factors,
    "hamming": _euclidean_factors,
}


def _scaled(*tables: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Divide all by one power of two, exactly, so that squares neither overflow nor vanish."""
    largest = max(np.abs(table).max() for table in tables)
    return [np.ldexp(table, -int(np.frexp(largest)[1])) for table in tables]


def _centred(queries: NDArray[np.float64], gallery: NDArray[np.float64]) -> Factors:
    """Scale both, and move both so that the gallery lies about the origin.

    Far from the origin ‖q‖² + ‖g‖² − 2 q·g would lose its digits. The centre is rounded to whole
    multiples of a power of two near the spread: moving by it is exact for integers and other round
    numbers, so that their equal distances stay equal.
    """
    queries, gallery = _scaled(queries, gallery)
    mean = gallery.mean(axis=0)
    spread = max(np.abs(gallery - mean).max(), np.finfo(np.float64).eps)
    step = np.ldexp(1.0, int(np.frexp(spread)[1]) - 1)
    centre = np.rint(mean / step) * step
    return queries - centre, gallery - centre
