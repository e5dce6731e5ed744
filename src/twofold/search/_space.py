"""How points are compared: the product that finds neighbours fast, the similarity that ranks them.

A float32 matrix product says which pairs may be alike enough; only their similarity is worked out,
in float64, and rounded to float32 once. `Space` has both, and how far the one may be off the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array

Metric = Literal["cosine", "euclidean", "dot", "hamming"]
"""How two points are compared: a·b / ‖a‖‖b‖, −‖a − b‖, a·b, or minus the number of bits that differ
in two codes that are packed into bytes; large for the alike."""

LARGEST_NUMBER = 1e15
"""Of a point: sums of squares of such numbers are still far below float32's largest."""
ROUNDING = 2.0**-23
"""Twice what one float32 operation is off by, relative to its result."""
CHUNK_NUMBERS = 2**22
"""Numbers that are worked on at a time: 32 MiB in float64."""


def check_points(name: str, points: ArrayLike, dim: int | None = None) -> NDArray[np.float32]:
    """Return `points` as float32 of shape (n, dim), all of them finite; n may be 0."""
    table = as_array(name, points)
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"{name} must have shape (n_items, dim), got {table.shape}.")
    if table.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got {table.dtype}.")
    if dim is not None and table.shape[1] != dim:
        raise ValueError(
            f"{name} has {table.shape[1]} dimensions, but the points of this index have {dim}: "
            "embed both with the same model."
        )
    for first in range(0, len(table), CHUNK_NUMBERS // table.shape[1] + 1):
        _refuse_wild(name, table[first : first + CHUNK_NUMBERS // table.shape[1] + 1], first)
    return np.ascontiguousarray(table, dtype=np.float32)


def _refuse_wild(name: str, part: NDArray[Any], first: int) -> None:
    if part.size and part.min() >= -LARGEST_NUMBER and part.max() <= LARGEST_NUMBER:
        return
    wrong = np.flatnonzero(~(np.abs(part) <= LARGEST_NUMBER).all(axis=1))
    if wrong.size:
        row = part[wrong[0]]
        value = row[~(np.abs(row) <= LARGEST_NUMBER)][0]
        raise ValueError(
            f"{name} must hold finite numbers up to {LARGEST_NUMBER:g}; row {first + wrong[0]} "
            f"has {value}. Leave that row out, or divide all points by one number."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A metric on points of one number of dimensions, as a product of two tables.

    Attributes
    ----------
    metric : {"cosine", "euclidean", "dot"}
        How points are compared.
    centre : ndarray of float32, shape (dim,)
        Taken off both sides where only differences count, since a product of what lies far from 0
        loses its digits; else zeros.
    radius : float
        Length of the longest point that is indexed, which bounds rounding for "dot".
    """

    metric: Metric
    centre: NDArray[np.float32]
    radius: float

    @classmethod
    def around(cls, metric: Metric, points: NDArray[np.float32]) -> Space:
        """Return the space that fits some points, of which there is at least one."""
        centre = np.zeros(points.shape[1], dtype=np.float32)
        if metric == "euclidean":
            centre = points.mean(axis=0, dtype=np.float64).astype(np.float32)
        return cls(metric, centre, 0.0).reaching(points)

    def reaching(self, points: NDArray[np.float32]) -> Space:
        """Return the same space for more points."""
        if self.metric != "dot":
            return self
        size = CHUNK_NUMBERS // points.shape[1] + 1
        longest = [lengths(points[n : n + size]).max() for n in range(0, len(points), size)]
        return replace(self, radius=max(self.radius, *map(float, longest)))

    def plain(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return points as they are multiplied: at length 1, centred, or a copy."""
        if self.metric == "cosine":
            long = lengths(points)[:, None]
            return np.asarray(points / np.where(long == 0, 1, long), dtype=np.float32)
        return np.asarray(points - self.centre)

    def left(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the left factors of the product, a row per query."""
        plain = self.plain(queries)
        if self.metric != "euclidean":
            return plain
        return np.column_stack([plain, np.ones(len(plain), dtype=np.float32)])

    def right(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the right factors: ``left @ right.T`` is the cosine, q·g, or ½(‖q‖² − ‖q − g‖²).

        All three are large for the alike.
        """
        plain = self.plain(points)
        if self.metric != "euclidean":
            return plain
        halves = -0.5 * np.einsum("ij,ij->i", plain, plain, dtype=np.float64)
        return np.column_stack([plain, halves.astype(np.float32)])

    def least_product(
        self, queries: NDArray[np.float32], similarity: NDArray[np.float32] | float
    ) -> NDArray[np.float32]:
        """Return, a query, what the product of any point that is so similar reaches at least.

        The rounding of a product of `dim` terms is at most dim · 2⁻²⁴ times the lengths of both
        factors; twice that is taken off, for the factors are rounded too.
        """
        values = np.broadcast_to(np.asarray(similarity, dtype=np.float64), (len(queries),))
        long = lengths(queries - self.centre)
        products, sizes = values, np.ones(len(queries))
        if self.metric == "dot":
            sizes = long * self.radius
        elif self.metric == "euclidean":
            # A point within r of the query is at most ‖q‖ + r long.
            distance = np.maximum(-values, 0)
            products = 0.5 * (long**2 - distance**2)
            sizes = 0.5 * (2 * long + distance) ** 2
        bounds = products - ROUNDING * (queries.shape[1] + 8) * sizes - 1e-37
        bounds = np.where(values > 0, np.inf, bounds) if self.metric == "euclidean" else bounds
        return np.asarray(bounds.clip(-1e38, None), dtype=np.float32)

    def product_to_beat(
        self, queries: NDArray[np.float32], similarity: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return what the product of a point that is more similar reaches at least.

        Rounding leaves open whether a product that reaches less is one.
        """
        return self.least_product(queries, similarity)

    def similarity(
        self, queries: NDArray[np.float32], points: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return how alike row k of both is, from float64, for some pairs at a time."""
        left, right = queries.astype(np.float64), points.astype(np.float64)
        if self.metric == "euclidean":
            left -= right
            return np.asarray(-np.sqrt(np.einsum("ij,ij->i", left, left)), dtype=np.float32) + 0.0
        products = np.einsum("ij,ij->i", left, right)
        if self.metric == "cosine":
            long = lengths(left) * lengths(right)
            products = (products / np.where(long == 0, 1, long)).clip(-1, 1)
        return np.asarray(products, dtype=np.float32)

    def pair_similarity(
        self,
        queries: NDArray[np.float32],
        points: NDArray[np.float32],
        left: NDArray[np.int64],
        right: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Return how alike ``queries[left[k]]`` and ``points[right[k]]`` are."""
        similarity = np.empty(left.size, dtype=np.float32)
        size = CHUNK_NUMBERS // queries.shape[1] + 1
        for first in range(0, left.size, size):
            some = slice(first, first + size)
            similarity[some] = self.similarity(queries[left[some]], points[right[some]])
        return similarity


def lengths(table: NDArray[Any]) -> NDArray[np.float64]:
    """Return the length of every row; in float64, where no square overflows or vanishes."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", table, table, dtype=np.float64)))


def distance_of(metric: str, similarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the distance of a similarity: ‖a − b‖, the bits that differ, or 1 − the similarity."""
    is_distance = metric in ("euclidean", "hamming")
    return np.asarray(-similarity + 0.0 if is_distance else 1 - similarity)
