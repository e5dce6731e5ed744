"""Partners drawn for items that have any number of labels.

A similar partner is drawn through the index label → items, a dissimilar one by rejection until
listing all candidates is cheaper. Both draws are uniform on the true sets, however rare a label.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from twofold.relations._patterns import LabelPatterns


class LabelIndex(NamedTuple):
    """Where the labels of a pattern stand, and the items of a pattern and of a label.

    Attributes
    ----------
    indptr, indices : ndarray of int32
        Labels of pattern p: ``indices[indptr[p]:indptr[p + 1]]``, sorted.
    of_item : ndarray of int64, shape (n_items,)
        The pattern of every item.
    starts, order : ndarray of int64
        Items of pattern p: ``order[starts[p]:starts[p + 1]]``.
    label_start, label_items : ndarray of int32
        Items of label k: ``label_items[label_start[k]:label_start[k + 1]]``.
    """

    indptr: Any
    indices: Any
    of_item: Any
    starts: Any
    order: Any
    label_start: Any
    label_items: Any


def sample_label_partners(
    indicator: sparse.csr_array,
    patterns: LabelPatterns,
    n_similar: int,
    n_dissimilar: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw partners that share a label, and partners that share none, uniformly.

    Parameters
    ----------
    indicator : csr_array, shape (n_items, n_labels)
        Labels of every item; indices sorted.
    patterns : LabelPatterns
        Its distinct rows.
    n_similar, n_dissimilar : int
        Draws an item.
    rng : Generator
        Source of the seed; every item then has a stream of its own.

    Returns
    -------
    partners : ndarray of int64, shape (n_items, n_similar + n_dissimilar)
        Item indices, -1 where there is no such partner.
    """
    columns = indicator.tocsc()
    partners = np.full((indicator.shape[0], n_similar + n_dissimilar), -1, dtype=np.int64)
    index = LabelIndex(
        patterns.indicator.indptr,
        patterns.indicator.indices,
        patterns.of_item,
        *_items_by_pattern(patterns),
        columns.indptr,
        columns.indices,
    )
    _draw(index, n_similar, rng.integers(2**63, dtype=np.uint64), partners)
    return partners


def has_dissimilar_partner(patterns: LabelPatterns) -> NDArray[np.bool_]:
    """Which items share no label with at least one other known item, shape (n_items,)."""
    indptr, indices = patterns.indicator.indptr, patterns.indicator.indices
    has_one = _has_disjoint(indptr, indices, patterns.counts)
    return np.asarray((patterns.of_item >= 0) & has_one[patterns.of_item])


def _items_by_pattern(patterns: LabelPatterns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each pattern's items start, and the known items sorted by pattern."""
    n_unknown = np.count_nonzero(patterns.of_item < 0)
    order = np.argsort(patterns.of_item, kind="stable")[n_unknown:]
    return np.concatenate([[0], np.cumsum(patterns.counts)]), order


@njit(cache=True)
def _next(state: Any) -> Any:
    """Advance a SplitMix64 stream; return its new state and 64 random bits."""
    state += np.uint64(0x9E3779B97F4A7C15)
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, bits ^ (bits >> np.uint64(31))


@njit(cache=True)
def _below(bits: Any, bound: Any) -> Any:
    """Turn random bits into a whole number in 0 .. bound - 1 (bias under bound / 2**32)."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True)
def _first_shared(indptr: Any, indices: Any, a: Any, b: Any) -> Any:
    """Return the smallest label that two patterns share, -1 if they share none."""
    p, q = indptr[a], indptr[b]
    while p < indptr[a + 1] and q < indptr[b + 1]:
        if indices[p] == indices[q]:
            return indices[p]
        if indices[p] < indices[q]:
            p += 1
        else:
            q += 1
    return -1


@njit(cache=True)
def _draw_similar(pattern: Any, item: Any, state: Any, index: Any) -> Any:
    """Draw one item that shares a label with `item`, which must exist.

    The union of the label's item lists is drawn from by their total length; a candidate counts
    only if it was met through the first label it shares, so that each has one way in.
    """
    indptr, indices, of_item, _, _, label_start, label_items = index
    total = 0
    for p in range(indptr[pattern], indptr[pattern + 1]):
        total += label_start[indices[p] + 1] - label_start[indices[p]]
    while True:
        state, bits = _next(state)
        place = _below(bits, total)
        p = indptr[pattern]
        size = label_start[indices[p] + 1] - label_start[indices[p]]
        while place >= size:
            place -= size
            p += 1
            size = label_start[indices[p] + 1] - label_start[indices[p]]
        other = label_items[label_start[indices[p]] + place]
        if other != item:
            shared = _first_shared(indptr, indices, pattern, of_item[other])
            if shared == indices[p]:
                return state, other


@njit(cache=True)
def _list_disjoint(pattern: Any, indptr: Any, indices: Any, starts: Any, until: Any) -> Any:
    """Fill `until` with the running number of items that share no label with `pattern`."""
    total = 0
    for other in range(starts.size - 1):
        if _first_shared(indptr, indices, pattern, other) < 0:
            total += starts[other + 1] - starts[other]
        until[other] = total
    return total


@njit(cache=True)
def _draw_for_pattern(pattern: Any, index: Any, n_similar: Any, seed: Any, partners: Any) -> None:
    """Draw all partners of the items that have one pattern; candidates are listed once at most."""
    indptr, indices, of_item, starts, order, label_start, _ = index
    n_patterns = starts.size - 1
    n_dissimilar = partners.shape[1] - n_similar
    has_similar = False
    for p in range(indptr[pattern], indptr[pattern + 1]):
        if label_start[indices[p] + 1] - label_start[indices[p]] > 1:
            has_similar = True
    # Trying is worth it as long as it has cost no more than listing all patterns once.
    tries_left = n_patterns + 64
    until = np.empty(0, np.int64)
    n_candidates = -1
    for place in range(starts[pattern], starts[pattern + 1]):
        item = order[place]
        _, state = _next(seed ^ (np.uint64(item) * np.uint64(0xD1342543DE82EF95)))
        for k in range(n_similar if has_similar else 0):
            state, partners[item, k] = _draw_similar(pattern, item, state, index)
        k = n_similar
        while k < n_similar + n_dissimilar and n_candidates < 0:
            state, bits = _next(state)
            other = order[_below(bits, order.size)]
            if other != item and _first_shared(indptr, indices, pattern, of_item[other]) < 0:
                partners[item, k] = other
                k += 1
            else:
                tries_left -= 1
                if tries_left < 0:
                    until = np.empty(n_patterns, np.int64)
                    n_candidates = _list_disjoint(pattern, indptr, indices, starts, until)
        # An item without labels is among its own candidates, beside at least one other.
        while k < n_similar + n_dissimilar and n_candidates > 0:
            state, bits = _next(state)
            rank = _below(bits, n_candidates)
            owner = np.searchsorted(until, rank, side="right")
            other = order[starts[owner + 1] - (until[owner] - rank)]
            if other != item:
                partners[item, k] = other
                k += 1


# Not parallel: that took 3 s longer to compile and saved nothing on NUS-WIDE.
@njit(cache=True)
def _draw(index: Any, n_similar: Any, seed: Any, partners: Any) -> None:
    for pattern in range(index.starts.size - 1):
        _draw_for_pattern(pattern, index, n_similar, seed, partners)


@njit(cache=True)
def _has_disjoint(indptr: Any, indices: Any, counts: Any) -> Any:
    """Whether each pattern shares no label with some other item's."""
    n_patterns = counts.size
    has_one = np.zeros(n_patterns, np.bool_)
    for a in range(n_patterns):
        if indptr[a] == indptr[a + 1]:
            has_one[a] = counts.sum() > 1
            continue
        for b in range(n_patterns):
            if _first_shared(indptr, indices, a, b) < 0:
                has_one[a] = True
                break
    return has_one
