"""Pairs as links: for every item the list of its partners, for solvers that go item by item.

Each pair stands in both items' lists, so that an item's whole gradient is gathered by the one
thread that writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from twofold._core.frozen import freeze
from twofold._core.threads import Workers
from twofold.relations import PairRelation, TripletRelation

PAIR_LINK = np.dtype([("neighbour", np.int32), ("similar", np.float32)])
N_PARTS = 4
"""Parts of the pairs that are placed side by side; fixed, so that threads change no order."""
TRIPLET_LINK = np.dtype([("anchor", np.int32), ("positive", np.int32), ("negative", np.int32)])


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Statements listed by item.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_items + 1,)
        Item i's links are ``links[starts[i]:starts[i + 1]]``, in the order they were stated.
    links : structured ndarray
        Of `PAIR_LINK`, shape (2 n_pairs,), or of `TRIPLET_LINK`, shape (3 n_triplets,). One
        record a link costs one cache miss to place where two arrays cost two.
    weights : ndarray of float32, shape (n_links,), or (0,) where every weight is 1
        How much each link counts.
    """

    starts: NDArray[np.int64]
    links: NDArray[np.void]
    weights: NDArray[np.float32]


def link_pairs(relation: PairRelation, workers: Workers | None = None) -> Links:
    """List the pairs of each item, in O(n_items + n_pairs); each part of them by one thread."""
    workers = workers or Workers()
    # Read-only as a relation's own weights are, since Numba compiles for either.
    weight = freeze(np.empty(0, np.float32)) if relation.weight is None else relation.weight
    links = np.empty(2 * relation.n_pairs, dtype=PAIR_LINK)
    weights = np.empty(links.size if weight.size else 0, dtype=np.float32)
    starts = np.zeros(relation.n_items + 1, dtype=np.int64)
    free = np.zeros((N_PARTS, relation.n_items), dtype=np.int64)
    left, right, similar = relation.left, relation.right, relation.similar
    workers.run(_count_part, ((part, left, right, free) for part in range(N_PARTS)))
    _start_parts(starts, free)
    workers.run(
        _place_part,
        ((part, left, right, similar, weight, free, links, weights) for part in range(N_PARTS)),
    )
    return Links(starts, links, weights)


def link_triplets(relation: TripletRelation) -> Links:
    """List the triplets of each item, in O(n_items + n_triplets)."""
    links = np.empty(3 * relation.n_triplets, dtype=TRIPLET_LINK)
    starts = np.zeros(relation.n_items + 1, dtype=np.int64)
    _place_triplets(relation.anchor, relation.positive, relation.negative, starts, links)
    return Links(starts, links, np.empty(0, dtype=np.float32))


@njit(cache=True, nogil=True)
def _count_part(part: Any, left: Any, right: Any, free: Any) -> None:
    """Count the links of each item in one part of the pairs."""
    size = (left.size + N_PARTS - 1) // N_PARTS
    for e in range(part * size, min(left.size, (part + 1) * size)):
        free[part, left[e]] += 1
        free[part, right[e]] += 1


@njit(cache=True)
def _start_parts(starts: Any, free: Any) -> None:
    """Turn counts into the places where each item's, and each part's, links start."""
    total = 0
    for i in range(starts.size - 1):
        starts[i] = total
        for part in range(N_PARTS):
            count = free[part, i]
            free[part, i] = total
            total += count
    starts[-1] = total


@njit(cache=True, nogil=True)
def _place_part(
    part: Any,
    left: Any,
    right: Any,
    similar: Any,
    weight: Any,
    free: Any,
    links: Any,
    weights: Any,
) -> None:
    """Write the links of one part of the pairs to their places."""
    size = (left.size + N_PARTS - 1) // N_PARTS
    for e in range(part * size, min(left.size, (part + 1) * size)):
        for item, other in ((left[e], right[e]), (right[e], left[e])):
            place = free[part, item]
            free[part, item] = place + 1
            links[place].neighbour = other
            links[place].similar = similar[e]
            if weights.size:
                weights[place] = weight[e]


@njit(cache=True)
def _place_triplets(anchor: Any, positive: Any, negative: Any, starts: Any, links: Any) -> None:
    for e in range(anchor.size):
        starts[anchor[e] + 1] += 1
        starts[positive[e] + 1] += 1
        starts[negative[e] + 1] += 1
    for i in range(starts.size - 1):
        starts[i + 1] += starts[i]
    free = starts[:-1].copy()
    for e in range(anchor.size):
        for item in (anchor[e], positive[e], negative[e]):
            link = links[free[item]]
            link.anchor = anchor[e]
            link.positive = positive[e]
            link.negative = negative[e]
            free[item] += 1
