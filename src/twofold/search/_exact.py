"""Exact search in blocks: the nearest of each query, or all pairs that are similar enough.

Blocks of a float32 product say which pairs may count; these alone get a similarity. No table of
all pairs is ever made, and no result depends on how the product was rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.search._hamming_space import AnySpace
from twofold.search._products import Products

QUERY_BLOCK, POINT_BLOCK = 1024, 4096
"""Rows and columns of a block of the product: 16 MiB, which stays in a shared cache."""

Rows = NDArray[np.int64]
Table = NDArray[Any]
"""Points of float32, or codes of bytes."""


def nearest(
    space: AnySpace, products: Products, queries: Table, points: Table, k: int
) -> tuple[Rows, Table]:
    """Return the rows of the `k` nearest points to each query, and their similarities.

    Both have shape (n_queries, k), most similar first, equally similar ones by row. `k` is at most
    the number of points. The cost is the product of both tables, and little beside it.
    """
    rows = np.empty((len(queries), k), dtype=np.int64)
    similarity = np.empty((len(queries), k), dtype=np.float32)
    for first in range(0, len(queries), QUERY_BLOCK):
        some = slice(first, first + QUERY_BLOCK)
        rows[some], similarity[some] = _nearest_of_block(space, products, queries[some], points, k)
    return rows, similarity


def _nearest_of_block(
    space: AnySpace, products: Products, queries: Table, points: Table, k: int
) -> tuple[Rows, Table]:
    width = max(POINT_BLOCK, 2 * k)
    left = products.hold(space.left(queries))
    rows = np.full((len(queries), k), len(points), dtype=np.int64)
    similarity = np.full((len(queries), k), -np.inf, dtype=np.float32)
    bounds = _first_bounds(space, products, left, queries, points[:width], k)
    for first in range(0, len(points), width):
        right = space.right(points[first : first + width])
        query, row = products.reaching(left, right, bounds)
        if query.size:
            row += first
            values = space.pair_similarity(queries, points, query, row)
            changed = _merge(rows, similarity, query, row, values)
            # Rows go up, so that a later point has to be more similar to come before these.
            bounds[changed] = space.product_to_beat(queries[changed], similarity[changed, -1])
    return rows, similarity


def _first_bounds(
    space: AnySpace, products: Products, left: object, queries: Table, points: Table, k: int
) -> Table:
    """Return products that the `k` nearest reach, from any `k` points that are about as near."""
    columns = products.largest(left, space.right(points), k)
    query = np.repeat(np.arange(len(queries)), k)
    values = space.pair_similarity(queries, points, query, columns.ravel()).reshape(-1, k)
    return space.least_product(queries, values.min(axis=1))


def _merge(rows: Rows, similarity: Table, query: Rows, row: Rows, values: Table) -> Rows:
    """Take pairs into the nearest so far, in place; return the queries that had any."""
    changed, place = np.unique(query, return_inverse=True)
    k = rows.shape[1]
    who = np.concatenate([np.repeat(np.arange(changed.size), k), place])
    what = np.concatenate([rows[changed].ravel(), row])
    alike = np.concatenate([similarity[changed].ravel(), values])
    order = np.lexsort((what, -alike, who))
    starts = np.searchsorted(who[order], np.arange(changed.size))
    kept = order[starts[:, None] + np.arange(k)]
    rows[changed], similarity[changed] = what[kept], alike[kept]
    return changed


def pairs_reaching(
    space: AnySpace,
    products: Products,
    queries: Table,
    points: Table,
    threshold: float,
    *,
    each_once: bool = False,
) -> Iterator[tuple[Rows, Rows, Table]]:
    """Yield query rows, point rows and similarities of pairs that reach `threshold`, by blocks.

    Parameters
    ----------
    space, products
        How points are compared, and who multiplies.
    queries, points : ndarray of float32, shapes (n_queries, dim) and (n_points, dim)
        Two tables, or one twice.
    threshold : float
        Least similarity of a pair.
    each_once : bool
        Whether only pairs whose query row is below their point row are wanted, for one table.
    """
    least = np.float32(threshold)
    for first in range(0, len(queries), QUERY_BLOCK):
        some = queries[first : first + QUERY_BLOCK]
        left = products.hold(space.left(some))
        bounds = space.least_product(some, float(least))
        for start in range(first if each_once else 0, len(points), POINT_BLOCK):
            right = space.right(points[start : start + POINT_BLOCK])
            query, row = products.reaching(left, right, bounds)
            row += start
            values = space.pair_similarity(some, points, query, row)
            kept = values >= least
            if each_once:
                kept &= query + first < row
            if kept.any():
                yield query[kept] + first, row[kept], values[kept]
