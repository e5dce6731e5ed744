"""Dissimilar pairs whose items are joined by a chain of similar ones, and the shortest chain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from twofold._core.limits import refuse_beyond_memory
from twofold.relations._pairs import PairRelation, check_pair_relation

GRAPH_BYTES = 40
"""An item, in the graphs of all statements and of the similar ones, and their parts."""
CHUNK_PARTNERS = 2**22
"""Partners that are looked up at a time."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement that two items are not alike, and a chain of similar pairs between them.

    If the relation is not transitive, as with several labels per item, this is not an error.

    Attributes
    ----------
    row : int
        Of the dissimilar statement.
    left, right : int
        Its items.
    chain : tuple of int
        Items from `left` to `right`, each stated to be similar to the next; none is shorter.
    """

    row: int
    left: int
    right: int
    chain: tuple[int, ...]


def similar_graph(relation: PairRelation) -> sparse.csr_array:
    """Return the symmetric graph of statements above one half, indices sorted."""
    check_pair_relation(relation)
    refuse_beyond_memory(
        f"Graphs of {relation.n_items} items",
        GRAPH_BYTES * relation.n_items,
        "Only number the items that are in some pair: np.unique(ids, return_inverse=True).",
    )
    alike = relation.similar > 0.5
    left, right = relation.left[alike], relation.right[alike]
    ends = (np.concatenate([left, right]), np.concatenate([right, left]))
    shape = (relation.n_items, relation.n_items)
    graph = sparse.csr_array((np.ones(ends[0].size, dtype=bool), ends), shape=shape)
    graph.sum_duplicates()
    return graph


def is_transitive(relation: PairRelation) -> bool:
    """Whether no statement of dissimilarity lies within a group that similar pairs join."""
    return not _rows_inside_groups(relation, similar_graph(relation)).size


def _rows_inside_groups(relation: PairRelation, friends: sparse.csr_array) -> NDArray[np.int64]:
    """Return the dissimilar statements whose items similar pairs join."""
    _, group = connected_components(friends, directed=False)
    inside = group[relation.left] == group[relation.right]
    return np.flatnonzero(inside & (relation.similar < 0.5))


def contradictions(
    relation: PairRelation, friends: sparse.csr_array, max_chains: int
) -> tuple[int, tuple[Contradiction, ...]]:
    """Return how many dissimilar statements lie inside a similar group, and chains of some.

    Parameters
    ----------
    relation : PairRelation
        Whose statements below one half are looked at.
    friends : csr_array, shape (n_items, n_items)
        Its `similar_graph`.
    max_chains : int
        Most chains: of the statements contradicted directly or by the most common partners, then
        of the first others.
    """
    rows = _rows_inside_groups(relation, friends)
    left, right = relation.left[rows], relation.right[rows]
    is_direct, n_common = _directly_and_in_common(friends, left, right)
    listed = rows[np.lexsort((-n_common, ~is_direct))[:max_chains]]
    chains = _shortest_chains(relation, friends, listed)
    place = {int(row): number for number, row in enumerate(listed)}
    ordered = sorted(chains.items(), key=lambda one: (len(one[1]), place[one[0]]))
    return rows.size, tuple(
        Contradiction(row, chain[0], chain[-1], chain) for row, chain in ordered
    )


def _directly_and_in_common(
    friends: sparse.csr_array, left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which pairs are linked themselves, and how many partners each has in common.

    The partners of the end that has fewer are looked up among all links, so that one item with
    very many partners costs little.
    """
    n_items = friends.shape[0]
    degree = np.diff(friends.indptr)
    links = np.repeat(np.arange(n_items), degree) * n_items + friends.indices
    few = np.where(degree[left] <= degree[right], left, right)
    many = left + right - few
    n_common = np.zeros(left.size, dtype=np.int64)
    until = np.cumsum(degree[few])
    cuts = np.searchsorted(until, np.arange(0, until[-1] if until.size else 0, CHUNK_PARTNERS))
    for start, stop in pairwise([*np.unique(cuts), left.size]):
        some, lengths = few[start:stop], degree[few[start:stop]]
        pair = np.repeat(np.arange(some.size), lengths)
        place = np.arange(pair.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        partner = friends.indices[friends.indptr[some][pair] + place]
        is_common = _among(links, many[start:stop][pair] * n_items + partner)
        n_common[start:stop] = np.bincount(pair[is_common], minlength=some.size)
    return _among(links, left * n_items + right), n_common


def _among(ordered: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values are in an ordered array."""
    if not ordered.size:
        return np.zeros(values.size, dtype=bool)
    place = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    return np.asarray(ordered[place] == values)


def _shortest_chains(
    relation: PairRelation, friends: sparse.csr_array, rows: NDArray[np.int64]
) -> dict[int, tuple[int, ...]]:
    """Return a shortest chain from the left to the right item of each row, by row."""
    chains = {}
    for left in np.unique(relation.left[rows]):
        _, before = breadth_first_order(friends, left, directed=True)
        for row in rows[relation.left[rows] == left]:
            chains[int(row)] = _walk_back(before, int(left), int(relation.right[row]))
    return chains


def _walk_back(before: NDArray[np.int32], left: int, right: int) -> tuple[int, ...]:
    """Return the chain that a search from `left` found, `before` being where it came from."""
    chain = [right]
    while chain[-1] != left:
        chain.append(int(before[chain[-1]]))
    return tuple(reversed(chain))
