"""What can be said of a relation before anything is fitted to it.

How much is stated, what hangs together, and which statements cannot all be true if being alike is
transitive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from twofold._core.checks import check_count
from twofold.relations._chains import Contradiction, contradictions, similar_graph
from twofold.relations._pair_checks import pair_keys
from twofold.relations._pairs import PairRelation


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Counts of what a relation states.

    Attributes
    ----------
    n_items, n_pairs : int
        Items that the relation is over, and statements.
    n_similar, n_dissimilar, n_graded : int
        Statements of 1, of 0, and of a grade in between.
    statements_per_item : float
        n_pairs / n_items.
    share_known : float
        Share of all pairs of items that have a statement.
    n_unlinked : int
        Items in no statement.
    part_sizes : ndarray of int64
        Number of items of each connected part, over all statements, the largest first, without
        items in no statement. Items of different parts are not connected by any chain of
        statements.
    group_sizes : ndarray of int64
        The same over statements above one half: items joined by chains of similar pairs.
    n_repeated : int
        Pairs of items that are stated more than once, in either order.
    n_both_ways : int
        Pairs of items that are stated both above and below one half.
    both_ways : tuple of (int, int)
        The first of them: the rows of the first statement above and of the first below one half.
    n_contradictions : int
        Statements below one half whose two items are in the same similar group. If being alike is
        transitive, as for classes, each of them or a statement of its chain is wrong. If items may
        be alike for different reasons, as with several labels per item, it is not an error.
    contradictions : tuple of Contradiction
        Some of them, with the chains that contradict them, the shortest first.
    """

    n_items: int
    n_pairs: int
    n_similar: int
    n_dissimilar: int
    n_graded: int
    statements_per_item: float
    share_known: float
    n_unlinked: int
    part_sizes: NDArray[np.int64]
    group_sizes: NDArray[np.int64]
    n_repeated: int
    n_both_ways: int
    both_ways: tuple[tuple[int, int], ...]
    n_contradictions: int
    contradictions: tuple[Contradiction, ...]

    @property
    def n_parts(self) -> int:
        """Number of connected parts, items in no statement not counted."""
        return self.part_sizes.size

    @property
    def n_groups(self) -> int:
        """Number of groups of at least two items joined by chains of similar pairs."""
        return self.group_sizes.size


def diagnose(relation: PairRelation, max_chains: int = 100) -> Diagnosis:
    """Count what a relation states, and find the statements that contradict each other.

    Costs a few sorts of the statements and one breadth-first search per chain: about a second for a
    million pairs.

    Parameters
    ----------
    relation : PairRelation
        Any relation; repeated or contradictory statements are reported, not refused.
    max_chains : int
        Maximum number of contradictions, and of pairs stated both ways, to list; the counts are
        exact. Pairs that are contradicted directly come first, then those whose items have the most
        similar partners in common, then the others by row.

    Examples
    --------
    >>> relation = PairRelation([0, 1, 0], [1, 2, 2], similar=[1, 1, 0], n_items=4)
    >>> diagnosis = diagnose(relation)
    >>> diagnosis.n_unlinked, diagnosis.contradictions
    (1, (Contradiction(row=2, left=0, right=2, chain=(0, 1, 2)),))
    """
    max_chains = check_count("max_chains", max_chains, minimum=0)
    friends = similar_graph(relation)
    n_items, n_pairs = relation.n_items, relation.n_pairs
    keys = pair_keys(relation.left, relation.right, n_items)
    stated, times = np.unique(keys, return_counts=True)
    both = _both_ways(keys, relation.similar)
    links = sparse.csr_array(
        (np.ones(n_pairs, dtype=bool), (relation.left, relation.right)), shape=(n_items, n_items)
    )
    n_contradictions, listed = contradictions(relation, friends, max_chains)
    n_similar = int(np.count_nonzero(relation.similar == 1))
    n_dissimilar = int(np.count_nonzero(relation.similar == 0))
    return Diagnosis(
        n_items=n_items,
        n_pairs=n_pairs,
        n_similar=n_similar,
        n_dissimilar=n_dissimilar,
        n_graded=n_pairs - n_similar - n_dissimilar,
        statements_per_item=n_pairs / n_items,
        share_known=stated.size / (n_items * (n_items - 1) / 2),
        n_unlinked=int(np.count_nonzero(~relation.linked)),
        part_sizes=_sizes(links),
        group_sizes=_sizes(friends),
        n_repeated=int(np.count_nonzero(times > 1)),
        n_both_ways=len(both),
        both_ways=tuple((int(alike), int(unalike)) for alike, unalike in both[:max_chains]),
        n_contradictions=n_contradictions,
        contradictions=listed,
    )


def _sizes(links: sparse.csr_array) -> NDArray[np.int64]:
    """Return the sizes of a graph's connected parts of two or more items, the largest first."""
    _, part = connected_components(links, directed=False)
    sizes = np.sort(np.bincount(part))[::-1]
    return sizes[sizes > 1].astype(np.int64)


def _both_ways(keys: NDArray[np.int64], similar: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the first rows above and below one half of pairs stated both ways, shape (n, 2)."""
    above, below = np.flatnonzero(similar > 0.5), np.flatnonzero(similar < 0.5)
    above_keys, first_above = np.unique(keys[above], return_index=True)
    below_keys, first_below = np.unique(keys[below], return_index=True)
    _, a, b = np.intersect1d(above_keys, below_keys, assume_unique=True, return_indices=True)
    rows = np.column_stack([above[first_above[a]], below[first_below[b]]])
    return rows[np.argsort(rows.min(axis=1))]
