"""The points of an index as it holds them: as they came, or as codes that were learnt from them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold.search._coded_points import (
    FEWEST_POINTS,
    HELD,
    CodedPoints,
    encode_all,
    is_coded,
    learn_codes,
    warn_few,
)
from twofold.search._finder import products_of
from twofold.search._quantisers import Quantiser, require_coder
from twofold.search._space import Metric


class HeldPoints:
    """Points in the order of rows, which may take a number of bytes each.

    Parameters
    ----------
    metric : {"cosine", "euclidean", "dot", "hamming"}
        How they are compared.
    backend : {"faiss", "torch", "numpy"}
        What measures the recall of codes.
    n_bytes : int, optional
        What a point may take at most; by default points are held as they came.

    Attributes
    ----------
    quantiser : Quantiser or None
        What points are coded by, once codes are learnt.
    recall : float or None
        Share of the true neighbours that codes find, measured when they were learnt.
    """

    def __init__(
        self, metric: Metric, backend: Literal["faiss", "torch", "numpy"], n_bytes: int | None
    ) -> None:
        self.n_bytes = n_bytes
        self.quantiser: Quantiser | None = None
        self.recall: float | None = None
        self._metric: Metric = metric
        self._backend = backend
        self._parts: list[NDArray[Any]] = []
        self._n_points = 0
        self._was_told = False

    def __len__(self) -> int:
        return self._n_points

    @property
    def dim(self) -> int:
        """Numbers of a point; 0 before the first."""
        if self.quantiser is not None:
            return self.quantiser.dim
        return self._parts[0].shape[1] if self._parts else 0

    @property
    def points(self) -> Any:
        """All of them; read-only, and decoded as they are read if coded."""
        table = self._in_one_piece()
        return table if self.quantiser is None else CodedPoints(self.quantiser, table)

    @property
    def bytes_taken(self) -> int:
        """Memory of points, or of their codes and decoding tables."""
        n_bytes = sum(part.nbytes for part in self._parts)
        if self.quantiser is not None:
            n_bytes += sum(array.nbytes for array in self.quantiser.arrays().values())
        return n_bytes

    def as_held(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return points as `append` and `replace` take them."""
        if self.n_bytes is not None:
            require_coder(points.shape[1], self.n_bytes)
        if self.quantiser is None:
            return points
        return encode_all(self._metric, self.quantiser, points)

    def append(self, table: NDArray[Any]) -> None:
        """Take in more of them."""
        self._parts.append(table)
        self._n_points += len(table)

    def replace(self, rows: list[int], table: NDArray[Any]) -> None:
        """Put others into some rows."""
        points = np.array(self._in_one_piece())
        points[rows] = table
        self._parts = [points]

    def keep(self, is_kept: NDArray[np.bool_]) -> None:
        """Leave the others out."""
        self._parts = [self._in_one_piece()[is_kept]]
        self._n_points = len(self._parts[0])

    def restore(self, points: NDArray[Any] | CodedPoints, recall: float | None) -> None:
        """Hold what was saved."""
        if isinstance(points, CodedPoints):
            self.quantiser, self.recall = points.quantiser, recall
            self._parts = [points.codes]
        else:
            self._parts = [points] if len(points) else []
        self._n_points = len(points)

    def learn_in_time(self) -> bool:
        """Learn codes once there are as many points as are held without; whether it did."""
        return self._learn(HELD)

    def settle(self) -> bool:
        """Learn codes from what is there, or say that it is too little; whether it did."""
        did_learn = self._learn(FEWEST_POINTS)
        if len(self) and self._lacks_codes() and not self._was_told:
            assert self.n_bytes is not None
            warn_few(len(self), self.n_bytes)
            self._was_told = True
        return did_learn

    def _lacks_codes(self) -> bool:
        return self.quantiser is None and is_coded(self.dim, self.n_bytes)

    def _learn(self, n_least: int) -> bool:
        if len(self) < n_least or not self._lacks_codes():
            return False
        assert self.n_bytes is not None
        coded, self.recall = learn_codes(
            self._metric, self._in_one_piece(), self.n_bytes, products_of(self._backend)
        )
        self.quantiser, self._parts = coded.quantiser, [coded.codes]
        return True

    def _in_one_piece(self) -> NDArray[Any]:
        """Return points, or their codes, read-only."""
        if len(self._parts) != 1:
            joined = np.concatenate(self._parts) if self._parts else np.empty((0, 0), np.float32)
            self._parts = [joined] if self._parts else []
            return _read_only(joined)
        return _read_only(self._parts[0])


def _read_only(table: NDArray[Any]) -> NDArray[Any]:
    shown = table.view()
    shown.flags.writeable = False
    return shown
