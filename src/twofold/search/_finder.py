"""Which search is used: FAISS or blocks, exact or by lists; every "auto" is resolved here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold._core.devices import resolve_device
from twofold.search._coded_points import CodedPoints, space_around
from twofold.search._exact import nearest
from twofold.search._faiss import (
    RECALL_K,
    RECALL_QUERIES,
    FlatSearch,
    ListSearch,
    has_faiss,
    spread_rows,
)
from twofold.search._faiss_codes import BinaryFlatSearch, BinaryListSearch
from twofold.search._hamming_space import AnySpace, HammingSpace
from twofold.search._products import NumpyProducts, Products, TorchProducts
from twofold.search._space import Metric

Backend = Literal["auto", "faiss", "torch", "numpy"]
Rows = NDArray[np.int64]
Table = Any
"""Points of float32, codes of bits, or `CodedPoints`, which are decoded block by block."""
Values = NDArray[Any]
Structure = FlatSearch | ListSearch | BinaryFlatSearch

MANY_POINTS = 1_000_000
"""Above so many, "auto" is approximate: an exact query of 64 numbers reads more than 256 MB."""
MANY_CODES = 20_000_000
"""The same of codes: an exact query of 64 bits then reads 160 MB."""
SPARE = 8
"""Candidates beyond `k` that FAISS is asked for: they settle ties, and show that none is missed."""


def resolve_backend(backend: str, needs_faiss: bool) -> Literal["faiss", "torch", "numpy"]:
    """Return what a backend's name comes to on this computer."""
    check_choice("backend", backend, get_args(Backend))
    if (backend == "faiss" or needs_faiss) and not has_faiss():
        asked = "backend='faiss'" if backend == "faiss" else "approximate=True"
        raise ImportError(f"{asked} needs FAISS: pip install 'twofold[faiss]', or leave it 'auto'.")
    if needs_faiss and backend in ("torch", "numpy"):
        raise ValueError(f"approximate=True needs FAISS, but backend={backend!r} is exact.")
    if backend != "auto":
        return backend  # type: ignore[return-value]
    if find_spec("torch") is None:
        return "faiss" if has_faiss() else "numpy"
    is_gpu = not needs_faiss and resolve_device("auto") != "cpu"
    return "faiss" if has_faiss() and not is_gpu else "torch"


@dataclass(slots=True, eq=False)
class Finder:
    """What was made of the points of an index to search them.

    Attributes
    ----------
    space : Space
        How points are compared.
    products : Products
        Multiplies blocks.
    structure : FlatSearch, ListSearch, their twins for codes, or None
        FAISS's own copy of the points; None if they are searched in blocks.
    """

    space: AnySpace
    products: Products
    structure: Structure | None
    _points: Table

    @classmethod
    def of(
        cls,
        metric: Metric,
        backend: Literal["faiss", "torch", "numpy"],
        approximate: bool | Literal["auto"],
        points: Table,
    ) -> Finder:
        """Return a finder for some points; `extend` takes them in."""
        space = HammingSpace() if metric == "hamming" else space_around(metric, points)
        structure = None
        if backend == "faiss" and not isinstance(points, CodedPoints):
            structure = _structure(space, approximate, len(points))
        return cls(space, products_of(backend), structure, points)

    @property
    def recall(self) -> float | None:
        """Measured recall of an approximate search, None of an exact one."""
        return self.structure.recall if isinstance(self.structure, ListSearch) else None

    def extend(self, points: Table) -> None:
        """Take in the points that were appended since the last time."""
        n_before = len(self._points)
        if len(points) > n_before:
            self.space = self.space.reaching(_after(points, n_before))
        self._points = points
        if self.structure is None or self.structure.n_items == len(points):
            return
        assert not isinstance(points, CodedPoints)
        self.structure.extend(points)
        if isinstance(self.structure, ListSearch):
            queries = points[spread_rows(len(points), RECALL_QUERIES)]
            k = min(RECALL_K, len(points))
            farthest = self._by_blocks(queries, k)[1][:, -1:]
            self.structure.choose_width(
                queries, k, lambda rows: self._similarity(queries, rows) >= farthest
            )

    def nearest(self, queries: Values, k: int) -> tuple[Rows, Values]:
        """Return rows and similarities of the `k` nearest of each query, shape (n_queries, k)."""
        if self.structure is None:
            return self._by_blocks(queries, k)
        n_asked = min(k + SPARE, len(self._points))
        rows, last = self.structure.candidates(queries, n_asked)
        rows, similarity = self._ranked(queries, rows, k)
        unsure = rows[:, -1] < 0
        if n_asked < len(self._points):
            unsure |= self._may_miss(queries, similarity[:, -1], last)
        again = np.flatnonzero(unsure)
        if again.size:
            rows[again], similarity[again] = self._by_blocks(queries[again], k)
        return rows, similarity

    def _by_blocks(self, queries: Values, k: int) -> tuple[Rows, Values]:
        return nearest(self.space, self.products, queries, self._points, k)

    def _ranked(self, queries: Values, rows: Rows, k: int) -> tuple[Rows, Values]:
        """Return the first `k` candidates by similarity, then by row; -1, which is none, last."""
        similarity = self._similarity(queries, rows)
        order = np.lexsort((rows, -similarity), axis=-1)[:, :k]
        return (
            np.take_along_axis(rows, order, axis=1),
            np.take_along_axis(similarity, order, axis=1),
        )

    def _similarity(self, queries: Values, rows: Rows) -> NDArray[np.float32]:
        """Return how alike each query is to its rows; −∞ for row -1, which is none."""
        query = np.repeat(np.arange(len(queries)), rows.shape[1])
        values = self.space.pair_similarity(queries, self._points, query, rows.ravel())
        return np.where(rows < 0, -np.inf, values.reshape(rows.shape)).astype(np.float32)

    def _may_miss(self, queries: Values, kth: Values, last: Values) -> NDArray[np.bool_]:
        """Say of which queries a point that FAISS left out may be as similar as the `k`-th."""
        return np.asarray(last >= self.space.least_product(queries, kth))


def _after(points: Table, row: int) -> Table:
    """Return the points from a row on; of coded ones none is decoded yet."""
    return points.after(row) if isinstance(points, CodedPoints) else points[row:]


def products_of(backend: Literal["faiss", "torch", "numpy"]) -> Products:
    """Return who multiplies blocks."""
    use_torch = backend == "torch" or (backend == "faiss" and find_spec("torch") is not None)
    return TorchProducts() if use_torch else NumpyProducts()


def _structure(space: AnySpace, approximate: bool | Literal["auto"], n_points: int) -> Structure:
    """Return what FAISS searches by."""
    if isinstance(space, HammingSpace):
        by_lists = n_points > MANY_CODES if approximate == "auto" else approximate
        return BinaryListSearch(space) if by_lists else BinaryFlatSearch(space)
    by_lists = n_points > MANY_POINTS if approximate == "auto" else approximate
    return ListSearch(space) if by_lists else FlatSearch(space)
