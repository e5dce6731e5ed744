"""Groups of items that are all alike, from pairs that are: complete linkage, ids that stay."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import as_array, check_count
from twofold.matching._scored_pairs import Rows, check_candidates

Links = dict[int, dict[int, float]]
"""For a cluster, named by its earliest row, the clusters that it may join, and how alike their
least alike members are."""


def group_pairs(
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    n_items: int,
    threshold: float,
    *,
    previous: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Group items such that every two members of a group are a pair that reaches the threshold.

    The most similar groups are merged first, where the similarity of two groups is that of their
    least similar members (complete linkage). So if A is like B and B is like C, that does not put A
    and C into a group.

    Parameters
    ----------
    left, right : array_like of int, shape (n_pairs,)
        Rows of one table. Pairs that are not given count as below the threshold; if a pair is given
        twice, in either order, its better score counts.
    score : array_like of float, shape (n_pairs,)
        Large for the alike.
    n_items : int
        Number of rows of the table.
    threshold : float
        Minimum score of two members of a group.
    previous : array_like of int, shape (n_items,) or fewer, optional
        Group ids of items from an earlier call, -1 for none; rows beyond its end have none. These
        groups stay together, whatever the pairs say now: items can join them, and two groups are
        merged only if all their members are alike.

    Returns
    -------
    groups : ndarray of int64, shape (n_items,)
        A group's id is the row of its first member. Groups of `previous` keep their ids when items
        join, and when two are merged the lower id stays. An item that is not like any other forms
        its own group.

    Notes
    -----
    Takes a few seconds for a million pairs. Without `previous` the groups depend on the pairs
    alone, and on row numbers only where scores are equal.
    """
    n_items = check_count("n_items", n_items, minimum=0)
    lefts, rights, scores = check_candidates(left, right, score, n_items)
    known = _check_previous(previous, n_items)
    cluster = _starting_clusters(known)
    enough = scores >= threshold
    links = _links(cluster, lefts[enough], rights[enough], scores[enough])
    for joined, into in _agglomerate(links):
        cluster[joined] = into
    return _named(_followed(cluster), known)


def _check_previous(previous: ArrayLike | None, n_items: int) -> Rows:
    known = np.full(n_items, -1, dtype=np.int64)
    if previous is None:
        return known
    given = as_array("previous", previous)
    if given.ndim != 1 or given.size > n_items or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            f"previous must be group ids of at most {n_items} items, got {given.dtype} of shape "
            f"{given.shape}."
        )
    known[: given.size] = given
    return np.maximum(known, -1)


def _starting_clusters(known: Rows) -> Rows:
    """Return the earliest row of each item's previous group; its own where it had none."""
    cluster = np.arange(known.size)
    old = np.flatnonzero(known >= 0)
    _, first, place = np.unique(known[old], return_index=True, return_inverse=True)
    cluster[old] = old[first][place]
    return cluster


def _links(cluster: Rows, lefts: Rows, rights: Rows, scores: NDArray[np.float64]) -> Links:
    """Return which clusters are alike in all their members, and how much at least."""
    low, high = np.minimum(lefts, rights), np.maximum(lefts, rights)
    order = np.lexsort((-scores, high, low))
    low, high, scores = low[order], high[order], scores[order]
    is_first = np.ones(low.size, dtype=bool)
    is_first[1:] = (np.diff(low) != 0) | (np.diff(high) != 0)
    a, b = cluster[low], cluster[high]
    kept = is_first & (a != b)
    a, b = np.minimum(a, b)[kept], np.maximum(a, b)[kept]
    order = np.lexsort((b, a))
    a, b, scores = a[order], b[order], scores[kept][order]
    starts = np.flatnonzero(np.r_[True, (np.diff(a) != 0) | (np.diff(b) != 0)][: a.size])
    counts = np.diff(np.r_[starts, a.size])
    least = np.minimum.reduceat(scores, starts) if starts.size else scores
    sizes = np.bincount(cluster, minlength=cluster.size)
    a, b = a[starts], b[starts]
    complete = counts == sizes[a] * sizes[b]
    links: Links = {}
    for one, other, value in zip(*(part[complete].tolist() for part in (a, b, least)), strict=True):
        links.setdefault(one, {})[other] = value
        links.setdefault(other, {})[one] = value
    return links


def _agglomerate(links: Links) -> list[tuple[int, int]]:
    """Join clusters, most alike first, equally alike by row; return which went into which.

    What may join two clusters that are one now is what might have joined either.
    """
    joins = []
    waiting = [(-value, a, b) for a, row in links.items() for b, value in row.items() if a < b]
    heapq.heapify(waiting)
    while waiting:
        value, a, b = heapq.heappop(waiting)
        if links.get(a, {}).get(b) != -value:
            continue  # one of them is another cluster by now
        joins.append((b, a))
        mine, theirs = links[a], links.pop(b)
        del mine[b], theirs[a]
        for other in mine.keys() ^ theirs.keys():
            links[other].pop(a, None)
            links[other].pop(b, None)
        links[a] = {other: min(mine[other], theirs[other]) for other in mine.keys() & theirs.keys()}
        for other, least in links[a].items():
            del links[other][b]
            links[other][a] = least
            heapq.heappush(waiting, (-least, min(a, other), max(a, other)))
    return joins


def _followed(cluster: Rows) -> Rows:
    """Return the last of the clusters that each item's went into; they lead to lower rows."""
    while True:
        further = cluster[cluster]
        if np.array_equal(further, cluster):
            return cluster
        cluster = further


def _named(cluster: Rows, known: Rows) -> Rows:
    """Return group ids: the lowest previous one of a group, else its earliest row if that is free.

    Where rows were taken out since, a previous id may be the row of a stranger: then the next
    number that nothing has is taken.
    """
    largest = np.iinfo(np.int64).max
    name = np.full(cluster.size, largest)
    old = known >= 0
    np.minimum.at(name, cluster[old], known[old])
    fresh = np.flatnonzero((np.bincount(cluster, minlength=cluster.size) > 0) & (name == largest))
    taken = np.isin(fresh, known[old])
    name[fresh] = fresh
    first_free = max(cluster.size, int(known.max(initial=-1)) + 1)
    name[fresh[taken]] = first_free + np.arange(np.count_nonzero(taken))
    return np.asarray(name[cluster])
