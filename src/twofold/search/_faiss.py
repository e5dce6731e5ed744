"""FAISS, where it is installed: flat search, and inverted lists for more than it does in time.

What it returns are candidates, which `_ranking` orders; its own distances only tell whether
rounding may have cost a neighbour.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.search._hamming_space import AnySpace

Rows = NDArray[np.int64]
Table = NDArray[Any]
"""Points of float32, or codes of bytes."""

CHUNK_ROWS = 2**16
POINTS_A_LIST = 64
"""That the centres of lists are learnt from; FAISS's own advice is 39 to 256."""
WANTED_RECALL = 0.95
"""Lists are searched in ever larger numbers until so many of the true neighbours are returned."""
RECALL_QUERIES, RECALL_K = 256, 10


def has_faiss() -> bool:
    """Say whether FAISS is installed."""
    return find_spec("faiss") is not None


def faiss_module() -> Any:
    """Return the module; in a forked child, where OpenMP's threads are gone, with one thread."""
    import faiss

    if os.getpid() != _PROCESS:
        faiss.omp_set_num_threads(1)
    return faiss


_PROCESS = os.getpid()


@dataclass(slots=True, eq=False)
class FlatSearch:
    """All points, compared with every query."""

    space: AnySpace
    n_items: int = 0
    _index: Any = field(default=None)

    def extend(self, points: Table) -> None:
        """Take in the points after those that are in already."""
        faiss = faiss_module()
        if self._index is None:
            make = faiss.IndexFlatL2 if self.space.metric == "euclidean" else faiss.IndexFlatIP
            self._index = make(points.shape[1])
        for first in range(self.n_items, len(points), CHUNK_ROWS):
            self._index.add(self.space.plain(points[first : first + CHUNK_ROWS]))
        self.n_items = len(points)

    def candidates(self, queries: Table, k: int) -> tuple[Rows, Table]:
        """Return about the `k` nearest rows, and the product of the last as `Space` has it."""
        faiss_module()
        plain = self.space.plain(queries)
        values, rows = self._index.search(plain, k)
        last = values[:, -1]
        if self.space.metric == "euclidean":
            squares = np.einsum("ij,ij->i", plain, plain, dtype=np.float64)
            last = (0.5 * (squares - last)).astype(np.float32)
        return rows, last


@dataclass(slots=True, eq=False)
class ListSearch:
    """Points in lists around centres, of which those near a query are searched.

    Attributes
    ----------
    recall : float
        Of a sample of the points, the share of the 10 returned that were as near as the true 10
        nearest, when the lists were made.
    """

    space: AnySpace
    n_items: int = 0
    recall: float = float("nan")
    _index: Any = field(default=None)

    def extend(self, points: Table) -> None:
        """Take in the points after those that are in already; the first time, learn the lists."""
        if self._index is None:
            self._index = self._trained(points)
        for first in range(self.n_items, len(points), CHUNK_ROWS):
            self._index.add(self.space.plain(points[first : first + CHUNK_ROWS]))
        self.n_items = len(points)

    def _trained(self, points: Table) -> Any:
        n_lists = max(1, min(len(points) // POINTS_A_LIST, round(4 * math.sqrt(len(points)))))
        index = self._empty(points.shape[1], n_lists)
        sample = spread_rows(len(points), n_lists * POINTS_A_LIST)
        index.train(self.space.plain(points[sample]))
        return index

    def _empty(self, dim: int, n_lists: int) -> Any:
        """Return FAISS's index before it is trained."""
        faiss = faiss_module()
        metric = faiss.METRIC_L2 if self.space.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        return faiss.index_factory(dim, f"IVF{n_lists},Flat", metric)

    def choose_width(self, queries: Table, k: int, is_near: Callable[[Rows], Any]) -> None:
        """Search as many lists as let `WANTED_RECALL` of the `k` rows returned be near."""
        n_lists = self._index.nlist
        self._index.nprobe = 1
        while True:
            rows, _ = self.candidates(queries, k)
            self.recall = float(np.mean(is_near(rows)))
            if self.recall >= WANTED_RECALL or self._index.nprobe >= n_lists:
                return
            self._index.nprobe = min(n_lists, 2 * self._index.nprobe)

    def candidates(self, queries: Table, k: int) -> tuple[Rows, Table]:
        """Return about the `k` nearest rows, -1 where the lists had fewer; no product is sure."""
        faiss_module()
        _, rows = self._index.search(self.space.plain(queries), k)
        return rows, np.full(len(queries), -np.inf, dtype=np.float32)


def spread_rows(n_rows: int, n_wanted: int) -> Rows:
    """Return rows at equal steps, the same every time."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_wanted)).astype(np.int64))
