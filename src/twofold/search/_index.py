"""`NeighbourIndex`: points by id, their neighbours, and all pairs that are similar enough."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from itertools import compress
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import check_choice, check_count
from twofold._core.frozen import freeze
from twofold._core.limits import memory_bytes
from twofold.search import _files
from twofold.search._coded_points import parse_memory
from twofold.search._exact import pairs_reaching
from twofold.search._finder import Backend, Finder, resolve_backend
from twofold.search._hamming_space import check_items
from twofold.search._held_points import HeldPoints
from twofold.search._ids import as_id_array, check_ids
from twofold.search._rerank import Rerank
from twofold.search._results import Neighbours, SimilarPairs
from twofold.search._space import Metric, distance_of

PAIR_BYTES = 64
"""That a pair takes while pairs are gathered and sorted."""


class NeighbourIndex:
    """Find the nearest of many points, by ids of any kind.

    Search is exact: similarities are computed in float64 and rounded to float32 once, so results do
    not depend on the backend, and equally similar items are ordered by row.

    Parameters
    ----------
    metric : {"cosine", "euclidean", "dot", "hamming"}
        How to compare points: a learner's `metric_`. A cosine with a zero vector is 0. "hamming"
        compares codes packed into bytes, as returned by `HashLearner`.
    backend : {"auto", "faiss", "torch", "numpy"}
        What computes similarities. "auto" is torch if there is a GPU, otherwise FAISS if it is
        installed (``pip install twofold[faiss]``), otherwise torch.
    approximate : "auto" or bool
        Whether to use FAISS's inverted lists, which are faster but may miss neighbours. "auto" uses
        them above a million points, or 20 million codes, if FAISS is installed; `recall` says how
        many neighbours are found.
    memory : str, optional
        Compresses points to a number of bytes, such as "64 bytes an item", besides the id; by
        default points are not compressed and take 4 bytes per number. Neighbours, similarities and
        distances are then computed from codes and are approximate: each number is rounded to one or
        two bytes if these fit; otherwise parts of a point are replaced by the nearest of 256
        centres (product quantisation, by FAISS). Codes are learnt from a sample of the points in
        the index at the first query or `save`, or once there are 262,144, so the first points
        should be like the others. Fewer than 10,000 points are not compressed, and a warning says
        so.

    Attributes
    ----------
    n_items, dim : int
        Number of points in the index, and of their dimensions, or bytes of codes (0 before the
        first `add`).
    ids : ndarray of int64 or objects, shape (n_items,)
        Their ids, in the order of rows.
    points : ndarray of float32, or uint8 for codes, shape (n_items, dim)
        Read-only. If `memory` compresses points, rows and slices are decoded as they are read, and
        ``numpy.asarray`` decodes all.
    bytes_an_item : float
        Memory that points, or their codes and decoding tables, take now.
    recall : float or None
        For approximate search, measured when the lists are built at the first query: the share of
        10 neighbours, returned for a sample of the points, that were as near as the true ones. With
        `memory`, the share that were the true ones when the codes were learnt. None if search is
        exact.

    Examples
    --------
    >>> index = NeighbourIndex("euclidean")
    >>> index.add(["a", "b", "c"], [[0, 0], [0, 1], [5, 5]])
    >>> index.query([[0, 2]], k=2).ids.tolist()
    [['b', 'a']]
    """

    def __init__(
        self,
        metric: Metric = "cosine",
        *,
        backend: Backend = "auto",
        approximate: bool | Literal["auto"] = "auto",
        memory: str | None = None,
    ) -> None:
        check_choice("metric", metric, get_args(Metric))
        if approximate not in (True, False, "auto"):
            raise ValueError(f"approximate must be 'auto', True or False, got {approximate!r}.")
        self.memory, n_bytes = memory, parse_memory(memory)
        if n_bytes is not None and (metric == "hamming" or approximate is True):
            raise ValueError(
                f"memory={memory!r} cannot be combined with "
                + ("metric='hamming'" if metric == "hamming" else "approximate=True")
                + ": leave it out."
            )
        self.metric: Metric = metric
        self.backend = resolve_backend(backend, approximate is True)
        self.approximate = approximate
        self._ids: list[Hashable] = []
        self._row_of: dict[Hashable, int] = {}
        self._held = HeldPoints(metric, self.backend, n_bytes)
        self._id_array: NDArray[Any] | None = None
        self._finder: Finder | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, one: Hashable) -> bool:
        return one in self._row_of

    @property
    def n_items(self) -> int:
        """Points in the index."""
        return len(self._ids)

    @property
    def dim(self) -> int:
        """Numbers of a point; 0 before the first `add`."""
        return self._held.dim

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the items, in the order of rows."""
        if self._id_array is None:
            self._id_array = freeze(as_id_array(self._ids))
        return self._id_array

    @property
    def points(self) -> Any:
        """The points, in the order of rows; read-only, and decoded as they are read if coded."""
        return self._held.points

    @property
    def bytes_an_item(self) -> float:
        """Memory that points, or their codes and decoding tables, take; 0 without points."""
        return self._held.bytes_taken / self.n_items if self.n_items else 0.0

    @property
    def recall(self) -> float | None:
        """Share of the true neighbours that approximate search returns; None if search is exact."""
        if not self._ids:
            return None
        finder = self._finding()
        return finder.recall if self._held.quantiser is None else self._held.recall

    def add(self, ids: Any, points: ArrayLike, *, replace: bool = False) -> None:
        """Add points.

        Parameters
        ----------
        ids : sequence of whole numbers, text, tuples or other keys, n_new of them
            Ids of the items, all different.
        points : array_like of float, or of uint8 for codes, shape (n_new, dim)
            Kept as float32, codes as they are.
        replace : bool
            Whether to replace the points of ids that are already in the index; otherwise such an id
            is an error.
        """
        names = check_ids("ids", ids)
        table = check_items(self.metric, "points", points, self.dim or None)
        if len(names) != len(table):
            raise ValueError(
                f"There are {len(names)} ids for {len(table)} points: there must be one per point."
            )
        known = [one in self._row_of for one in names]
        if any(known) and not replace:
            row = known.index(True)
            raise ValueError(
                f"{sum(known)} id(s) are already in the index, first at row {row} "
                f"({names[row]!r}): pass replace=True to replace their points."
            )
        kept, is_old = self._held.as_held(table), np.array(known, dtype=bool)
        if is_old.any():
            self._overwrite(list(compress(names, is_old)), kept[is_old])
        self._append(list(compress(names, ~is_old)), kept[~is_old])
        if self._held.learn_in_time():
            self._finder = None

    def _overwrite(self, names: list[Hashable], table: NDArray[Any]) -> None:
        self._held.replace([self._row_of[one] for one in names], table)
        self._finder = None

    def _append(self, names: list[Hashable], table: NDArray[Any]) -> None:
        if names:
            self._row_of.update(
                zip(names, range(len(self._ids), len(self._ids) + len(names)), strict=True)
            )
            self._ids.extend(names)
            self._id_array = None
            self._held.append(table)

    def remove(self, ids: Any) -> None:
        """Remove items. Those that follow move up, so their rows change, but not their ids."""
        names = check_ids("ids", ids)
        missing = [one for one in names if one not in self._row_of]
        if missing:
            raise KeyError(
                f"{len(missing)} id(s) are not in the index, first {missing[0]!r}: nothing was "
                "removed."
            )
        if names:
            kept = np.ones(self.n_items, dtype=bool)
            kept[[self._row_of[one] for one in names]] = False
            self._held.keep(kept)
            self._finder, self._id_array = None, None
            self._ids = [self._ids[row] for row in np.flatnonzero(kept).tolist()]
            self._row_of = {one: row for row, one in enumerate(self._ids)}

    def query(self, points: ArrayLike, k: int, *, rerank: Rerank | None = None) -> Neighbours:
        """Return the `k` nearest items of each point; all of them, if there are fewer.

        Parameters
        ----------
        points : array_like of float, shape (n_queries, dim)
            What to find neighbours of.
        k : int
            Number of neighbours.
        rerank : Rerank, optional
            Other points of the same queries and items, for instance the real numbers whose signs
            are the codes: more candidates are retrieved, and the `k` best by these points are
            returned, with their similarity.

        Returns
        -------
        Neighbours
            Arrays of shape (n_queries, min(k, n_items)).
        """
        n_asked = check_count("k", k)
        k = min(n_asked, self.n_items)
        depth = k if rerank is None else min(rerank.depth(n_asked), self.n_items)
        queries = check_items(self.metric, "points", points, self.dim or None)
        rows = np.empty((len(queries), k), dtype=np.int64)
        similarity = np.empty((len(queries), k), dtype=np.float32)
        metric = self.metric if rerank is None else rerank.metric
        if k and len(queries):
            rows, similarity = self._finding().nearest(queries, depth)
            if rerank is not None:
                rows, similarity = rerank.order(rows, self.n_items, k)
        return Neighbours(self.ids[rows], rows, similarity, distance_of(metric, similarity))

    def within(self, points: ArrayLike, threshold: float) -> SimilarPairs:
        """Return all pairs of a point and an item whose similarity reaches `threshold`.

        Always exact, and computed in blocks: the memory needed is that of the returned pairs. They
        are ordered by point, then most similar first. It is an error if the pairs would not fit
        into memory.

        Parameters
        ----------
        points : array_like of float, shape (n_queries, dim)
            To be compared with every item.
        threshold : float
            Minimum *similarity*, such as a learner's `threshold_`: for "euclidean" it is minus the
            largest distance.
        """
        return self._gathered(self.iterate_within(points, threshold))

    def iterate_within(self, points: ArrayLike, threshold: float) -> Iterator[SimilarPairs]:
        """Yield what `within` returns in blocks of a few megabytes, in the order of computation."""
        queries = check_items(self.metric, "points", points, self.dim or None)
        return self._iterate(queries, _checked_threshold(threshold), each_once=False)

    def pairs_within(self, threshold: float) -> SimilarPairs:
        """Return all pairs of items in the index that reach `threshold`, each once: left < right.

        Costs half as much as `within` on the index's own points.
        """
        return self._gathered(self.iterate_pairs_within(threshold))

    def iterate_pairs_within(self, threshold: float) -> Iterator[SimilarPairs]:
        """Yield what `pairs_within` returns, in blocks, in the order they are computed."""
        return self._iterate(self.points, _checked_threshold(threshold), each_once=True)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Save the index to a folder, completely or not at all; `open` reads it.

        It contains `index.json`, `points.npy` and the ids as `ids.npy` or `ids.json`; ids that are
        whole numbers, text or tuples of these can be saved. With `memory` it contains `codes.npy`
        and the arrays for decoding instead of points. An existing index of that name is replaced;
        any other folder is left alone.
        """
        return _files.save(self.to_files(), folder)

    def to_files(self) -> _files.Saved:
        """Return what is to be saved."""
        self._settle()
        held = self._held
        return _files.Saved(self.metric, self._ids, held.points, held.n_bytes, held.recall)

    @staticmethod
    def is_at(folder: str | os.PathLike[str]) -> bool:
        """Whether a folder holds what `save` writes."""
        return _files.is_at(Path(folder))

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        backend: Backend = "auto",
        approximate: bool | Literal["auto"] = "auto",
    ) -> NeighbourIndex:
        """Open a saved index; points stay in their file, which is read as needed.

        No code from the folder is run, and everything in it is checked. How to search is decided on
        this computer; how points are compressed is read from the file.
        """
        saved = _files.read(Path(folder))
        memory = None if saved.n_bytes is None else f"{saved.n_bytes} bytes an item"
        index = cls(saved.metric, backend=backend, approximate=approximate, memory=memory)
        index._ids = list(saved.ids)
        index._row_of = {one: row for row, one in enumerate(index._ids)}
        index._held.restore(saved.points, saved.recall)
        return index

    def _settle(self) -> None:
        """Have points as they are to be searched and saved."""
        if self._held.settle():
            self._finder = None

    def _finding(self) -> Finder:
        """Return what searches the points that are there now."""
        self._settle()
        if self._finder is None:
            self._finder = Finder.of(self.metric, self.backend, self.approximate, self.points)
        self._finder.extend(self.points)
        return self._finder

    def _iterate(
        self, queries: NDArray[Any], threshold: float, *, each_once: bool
    ) -> Iterator[SimilarPairs]:
        if not len(queries) or not self.n_items:
            return
        finder, names = self._finding(), self.ids
        for left, right, similarity in pairs_reaching(
            finder.space, finder.products, queries, self.points, threshold, each_once=each_once
        ):
            distance = distance_of(self.metric, similarity)
            yield SimilarPairs(left, right, names[right], similarity, distance)

    def _gathered(self, pieces: Iterator[SimilarPairs]) -> SimilarPairs:
        most, n_pairs, parts = memory_bytes() // PAIR_BYTES // 2, 0, []
        for piece in pieces:
            n_pairs += piece.n_pairs
            if n_pairs > most:
                raise ValueError(
                    f"More than {most:,} pairs reach the threshold, at row {piece.left[0]} of the "
                    "points: raise it, or get them in blocks from iterate_within."
                )
            parts.append((piece.left, piece.right, piece.similarity))
        empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
        left, right, similarity = (
            np.concatenate(column) for column in zip(*(parts or [empty]), strict=True)
        )
        order = np.lexsort((right, -similarity, left))
        left, right, similarity = left[order], right[order], similarity[order]
        distance = distance_of(self.metric, similarity)
        return SimilarPairs(left, right, self.ids[right], similarity, distance)


def _checked_threshold(threshold: float) -> float:
    value = float(threshold)
    if np.isnan(value):
        raise ValueError("threshold must be a similarity, got NaN.")
    return value
