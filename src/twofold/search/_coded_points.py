"""Points that are stored as codes of a few bytes, and decoded when they are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from twofold._core.bits import Codes
from twofold._core.warnings import SearchWarning, warn_user
from twofold.search._exact import nearest
from twofold.search._faiss import CHUNK_ROWS, spread_rows
from twofold.search._products import Products
from twofold.search._quantisers import Quantiser, code_kind, train_quantiser
from twofold.search._space import Metric, Space, lengths

FEWEST_POINTS = 10_000
"""From which codes are learnt; FAISS's own advice for 256 centres is 39 points each."""
SAMPLE = 2**16
"""Points that codes are learnt from, 256 a centre; FAISS takes no more."""
HELD = 2**18
"""Points that are held as they came, before codes are learnt from them at the latest."""
RECALL_QUERIES, RECALL_K = 256, 10
_MEMORY = re.compile(r"(\d{1,9}) bytes? (?:an|per) item")


def parse_memory(memory: object) -> int | None:
    """Return the bytes an item that "64 bytes an item" names; None for None."""
    if memory is None:
        return None
    found = _MEMORY.fullmatch(memory.strip()) if isinstance(memory, str) else None
    if found is None or not int(found[1]):
        raise ValueError(
            f"memory={memory!r} is not understood: write it as '64 bytes an item', with at least "
            "one byte, or leave it out to store points uncompressed."
        )
    return int(found[1])


@dataclass(frozen=True, slots=True, eq=False)
class CodedPoints:
    """A table of points, float32 of shape (n_items, dim), of which only codes are held.

    Rows and slices of it are decoded when they are asked for; ``np.asarray`` decodes all.

    Attributes
    ----------
    quantiser : Quantiser
        What the codes are of.
    codes : ndarray of uint8, shape (n_items, n_bytes)
        A code per item.
    """

    quantiser: Quantiser
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        """Return some rows as what their codes stand for."""
        codes = self.codes[rows]
        points = self.quantiser.decode(np.atleast_2d(codes))
        return points if codes.ndim == 2 else np.asarray(points[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all of them, decoded."""
        return np.asarray(self[:], dtype=dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Items, and numbers of a point."""
        return len(self.codes), self.quantiser.dim

    def after(self, row: int) -> CodedPoints:
        """Return those from a row on, not decoded."""
        return CodedPoints(self.quantiser, self.codes[row:])


def encode_all(metric: Metric, quantiser: Quantiser, points: NDArray[np.float32]) -> Codes:
    """Return the codes of points, which for a cosine are of length 1 first."""
    codes = np.empty((len(points), quantiser.n_bytes), dtype=np.uint8)
    for first in range(0, len(points), CHUNK_ROWS):
        some = slice(first, first + CHUNK_ROWS)
        codes[some] = quantiser.encode(as_compared(metric, points[some]))
    return codes


def as_compared(metric: Metric, points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return points as their codes are to stand for them: of length 1 for a cosine."""
    if metric != "cosine":
        return np.ascontiguousarray(points)
    long = lengths(points)[:, None]
    return np.asarray(points / np.where(long == 0, 1, long), dtype=np.float32)


def learn_codes(
    metric: Metric, points: NDArray[np.float32], n_bytes: int, products: Products
) -> tuple[CodedPoints, float]:
    """Return points as codes of `n_bytes` at most, and the recall at 10 that these have.

    Recall is that of some of the points among all others: the share of the ten nearest by codes
    that are among the true ten nearest.
    """
    sample = as_compared(metric, points[spread_rows(len(points), SAMPLE)])
    quantiser = train_quantiser(sample, n_bytes)
    coded = CodedPoints(quantiser, encode_all(metric, quantiser, points))
    rows = spread_rows(len(points), RECALL_QUERIES)
    k = min(RECALL_K, len(points) - 1)
    found = [_others(metric, products, points[rows], table, rows, k) for table in (points, coded)]
    shared = [np.isin(near, true).mean() for true, near in zip(*found, strict=True)]
    return coded, float(np.mean(shared))


def _others(
    metric: Metric,
    products: Products,
    queries: NDArray[np.float32],
    table: Any,
    rows: NDArray[np.int64],
    k: int,
) -> list[NDArray[np.int64]]:
    """Return the `k` nearest rows of each query, itself left out."""
    space = space_around(metric, table)
    found, _ = nearest(space, products, queries, table, k + 1)
    return [near[near != own][:k] for near, own in zip(found, rows, strict=True)]


def space_around(metric: Metric, points: Any) -> Space:
    """Return the space that fits points, of which not all are decoded at a time."""
    if not isinstance(points, CodedPoints):
        return Space.around(metric, points)
    space, every = (
        Space.around(metric, points[spread_rows(len(points), SAMPLE)]),
        cast("Any", points),
    )
    return space.reaching(every)


def is_coded(dim: int, n_bytes: int | None) -> bool:
    """Whether points of `dim` numbers do not fit into some bytes as they are."""
    return n_bytes is not None and code_kind(dim, n_bytes) is not None


def warn_few(n_points: int, n_bytes: int) -> None:
    """Say that there are too few points to learn codes from."""
    warn_user(
        f"memory='{n_bytes} bytes an item' needs {FEWEST_POINTS:,} points or more to learn codes "
        f"from, but there are {n_points:,}: they are stored uncompressed, and searched exactly.",
        SearchWarning,
    )
