"""FAISS's binary indexes, which count bits instead of multiplying signs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.bits import Codes
from twofold.search._faiss import CHUNK_ROWS, ListSearch, Rows, faiss_module
from twofold.search._hamming_space import HammingSpace

MOST_COUNTED = 256
"""Neighbours up to which FAISS keeps a list for every distance instead of a heap: 1,000 queries of
10 M codes, k = 100, took 29 s instead of 46."""


@dataclass(slots=True, eq=False)
class BinaryFlatSearch:
    """All codes, compared with every query; equally near ones come in the order of their rows."""

    space: HammingSpace
    n_items: int = 0
    _index: Any = field(default=None)

    def extend(self, codes: Codes) -> None:
        """Take in the codes after those that are in already."""
        if self._index is None:
            self._index = faiss_module().IndexBinaryFlat(8 * codes.shape[1])
        for first in range(self.n_items, len(codes), CHUNK_ROWS):
            self._index.add(self.space.plain(codes[first : first + CHUNK_ROWS]))
        self.n_items = len(codes)

    def candidates(self, queries: Codes, k: int) -> tuple[Rows, NDArray[np.float32]]:
        """Return the `k` nearest rows; none is missed."""
        faiss_module()
        self._index.use_heap = k > MOST_COUNTED
        _, rows = self._index.search(self.space.plain(queries), k)
        return rows, np.full(len(queries), -np.inf, dtype=np.float32)


@dataclass(slots=True, eq=False)
class BinaryListSearch(ListSearch):
    """Codes in lists around centres, of which those near a query are searched."""

    def _empty(self, n_bytes: int, n_lists: int) -> Any:
        faiss = faiss_module()
        return faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(8 * n_bytes), 8 * n_bytes, n_lists)
