"""Points as a file that FAISS can open without Twofold.

It is written and never read: FAISS trusts what it reads.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.search._faiss import CHUNK_ROWS, POINTS_A_LIST, spread_rows
from twofold.search._index import NeighbourIndex
from twofold.search._space import Metric

MOST_FLAT = 2**20
"""Points that are all compared; of more, those in lists near a query."""


def require_faiss() -> None:
    """Refuse to begin without FAISS."""
    if find_spec("faiss") is None:
        raise ImportError("--store faiss needs FAISS: pip install 'twofold[faiss]'.")


def check_factory(factory: str, metric: Metric, dim: int) -> None:
    """Refuse a description that FAISS makes no index of, before the work."""
    require_faiss()
    _made(1, 8 * -(-dim // 8) if metric == "hamming" else dim, metric, factory)


def write_faiss(index: NeighbourIndex, path: Path, factory: str | None = None) -> None:
    """Write an index's points as a FAISS index file.

    FAISS then returns the ids, if they are whole numbers, otherwise rows of the index. A cosine is
    the inner product of points of length 1: divide queries to FAISS by their length. Codes of bits
    become a binary index, which ``faiss.read_index_binary`` opens.

    Parameters
    ----------
    index : NeighbourIndex
        At least one point.
    path : path
        The file to write.
    factory : str, optional
        FAISS's own description of an index, such as "OPQ16_64,IVF4096,PQ16"; by default "Flat", and
        lists above a million points. For codes such as "BIVF1024"; by default "BFlat".
    """
    require_faiss()
    import faiss

    points, are_codes = index.points, index.metric == "hamming"
    dim = points.shape[1] * (8 if are_codes else 1)
    made = _made(len(points), dim, index.metric, factory)
    if not made.is_trained:
        made.train(_as_compared(points[spread_rows(len(points), MOST_FLAT)], index.metric))
    labels = index.ids if index.ids.dtype == np.int64 else np.arange(len(points))
    numbered: Any = (faiss.IndexBinaryIDMap2 if are_codes else faiss.IndexIDMap2)(made)
    for first in range(0, len(points), CHUNK_ROWS):
        some = slice(first, first + CHUNK_ROWS)
        numbered.add_with_ids(
            _as_compared(points[some], index.metric), np.ascontiguousarray(labels[some])
        )
    (faiss.write_index_binary if are_codes else faiss.write_index)(numbered, str(path))


def _as_compared(points: NDArray[Any], metric: Metric) -> NDArray[Any]:
    """Return points as FAISS is to have them: of length 1, where they are compared by cosines."""
    if metric != "cosine":
        return np.ascontiguousarray(points)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.maximum(lengths, 1e-30), dtype=np.float32)


def _made(n_points: int, dim: int, metric: Metric, factory: str | None) -> Any:
    """Return an empty index; what FAISS cannot make is a sentence."""
    import faiss

    try:
        if metric == "hamming":
            return faiss.index_binary_factory(dim, factory or "BFlat")
        kind = faiss.METRIC_L2 if metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        return faiss.index_factory(dim, factory or _usual(n_points), kind)
    except RuntimeError as error:
        what = f"codes of {dim} bits" if metric == "hamming" else f"points of {dim} numbers"
        binary = ", where binary indexes begin with B" if metric == "hamming" else ""
        raise ValueError(
            f"FAISS cannot make {factory!r} for {what}: see its page on the index factory{binary}."
        ) from error


def _usual(n_points: int) -> str:
    """Return FAISS's description of what is made of so many points."""
    n_lists = min(n_points // POINTS_A_LIST, round(4 * math.sqrt(n_points)))
    return "Flat" if n_points <= MOST_FLAT else f"IVF{n_lists},Flat"
