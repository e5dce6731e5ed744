"""Pairs one to one: of all candidate pairs those with the largest total, no item in two of them."""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from twofold.matching._scored_pairs import Rows, check_candidates

HAIR = 1e-9
"""Of the scores' range: what makes a pair of the least score better than none."""

MOST_BIDS = 40
"""A row on average, before paths are searched. It bounds bidding wars, and changes no result."""


def one_to_one(
    left: ArrayLike, right: ArrayLike, score: ArrayLike, *, least: float | None = None
) -> NDArray[np.int64]:
    """Choose pairs such that every item is in at most one, with the largest total score.

    Parameters
    ----------
    left, right : array_like of int, shape (n_pairs,)
        Rows of candidate pairs, in the left and in the right table.
    score : array_like of float, shape (n_pairs,)
        Large for the alike: a similarity or a probability.
    least : float, optional
        The score at which a pair is as good as no pair, such as the threshold; pairs below are
        never chosen, and the total is that of score − least. By default 0, or the lowest score if
        that is below 0.

    Returns
    -------
    chosen : ndarray of int64, shape (n_chosen,)
        Indices of the chosen candidates, in their order.

    Notes
    -----
    Exact, by an auction and shortest augmenting paths over the candidates only. If a pair is given
    twice, its better score counts. A million candidates, 20 per item, take a second if most items
    have a partner that stands out, and far longer if scores are random and all items are connected.
    """
    lefts, rights, scores = check_candidates(left, right, score)
    worth, kept = _worth(scores, least)
    kept = _best_of_repeated(lefts, rights, worth, kept)
    return kept[_assigned(lefts[kept], rights[kept], worth[kept])]


def _worth(scores: NDArray[np.float64], least: float | None) -> tuple[NDArray[np.float64], Rows]:
    """Return what each pair is worth beside none, and which are worth something."""
    floor = min(0.0, float(scores.min(initial=0.0))) if least is None else float(least)
    worth = scores - floor
    kept = np.flatnonzero(worth >= 0)
    return worth + HAIR * (float(worth[kept].max(initial=0.0)) or 1.0), kept


def _best_of_repeated(lefts: Rows, rights: Rows, worth: NDArray[np.float64], kept: Rows) -> Rows:
    """Return the pairs without repetition, the best of each, in their order."""
    order = kept[np.lexsort((-worth[kept], rights[kept], lefts[kept]))]
    is_first = np.ones(order.size, dtype=bool)
    is_first[1:] = (np.diff(lefts[order]) != 0) | (np.diff(rights[order]) != 0)
    return np.sort(order[is_first])


def _assigned(lefts: Rows, rights: Rows, worth: NDArray[np.float64]) -> Rows:
    """Return which of some pairs are chosen.

    Every left item has a place of its own to stay without a partner, at the price of a pair that
    is worth nothing, so that a full assignment always exists.
    """
    if not lefts.size:
        return np.empty(0, dtype=np.int64)
    names, left = np.unique(lefts, return_inverse=True)
    others, right = np.unique(rights, return_inverse=True)
    n_left, n_right = names.size, others.size
    price, alone = worth.max(), np.arange(n_left)
    costs = sparse.csr_array(
        (
            np.concatenate([price - worth, np.full(n_left, price)]),
            (np.concatenate([left, alone]), np.concatenate([right, n_right + alone])),
        ),
        shape=(n_left, n_right + n_left),
    )
    partner = _cheapest_partners(
        costs.indptr.astype(np.int64), costs.indices.astype(np.int64), costs.data, costs.shape[1]
    )
    return np.flatnonzero(partner[left] == right)


@njit(cache=True)
def _cheapest_partners(
    starts: Rows, columns: Rows, costs: NDArray[np.float64], n_columns: int
) -> Rows:
    """Return the column of each row in a full assignment of least total cost.

    Rows that bidding left over come in one after another; each takes the shortest path of changes,
    in reduced costs c − u − v, that ends at a free column. Only what a path looks at is touched, so
    that a row costs what its neighbourhood does.
    """
    n_rows = starts.size - 1
    partner, owner = np.full(n_rows, -1), np.full(n_columns, -1)
    v = np.zeros(n_columns)
    _bid(starts, columns, costs, v, partner, owner)
    u = np.empty(n_rows)
    for row in range(n_rows):
        u[row] = np.inf
        for place in range(starts[row], starts[row + 1]):
            u[row] = min(u[row], costs[place] - v[columns[place]])
    distance, back = np.full(n_columns, np.inf), np.full(n_columns, -1)
    is_done = np.zeros(n_columns, dtype=np.bool_)
    for root in range(n_rows):
        if partner[root] >= 0:
            continue
        seen, waiting = [0], [(0.0, 0)]
        seen.clear()
        waiting.clear()
        row, length, end = root, 0.0, -1
        while end < 0:
            for place in range(starts[row], starts[row + 1]):
                column = columns[place]
                through = length + costs[place] - u[row] - v[column]
                if not is_done[column] and through < distance[column]:
                    if distance[column] == np.inf:
                        seen.append(column)
                    distance[column], back[column] = through, row
                    heapq.heappush(waiting, (through, column))
            length, column = heapq.heappop(waiting)
            while is_done[column]:
                length, column = heapq.heappop(waiting)
            is_done[column] = True
            row = owner[column]
            if row < 0:
                end = column
        u[root] += length
        for column in seen:
            if is_done[column] and column != end:
                u[owner[column]] += length - distance[column]
                v[column] -= length - distance[column]
        while end >= 0:
            row = back[end]
            owner[end] = row
            partner[row], end = end, partner[row]
        for column in seen:
            distance[column], is_done[column] = np.inf, False
    return partner


@njit(cache=True)
def _bid(
    starts: Rows,
    columns: Rows,
    costs: NDArray[np.float64],
    v: NDArray[np.float64],
    partner: Rows,
    owner: Rows,
) -> None:
    """Have rows bid for their cheapest column, which leaves few for the search of paths.

    A row pays for its best column as much as makes its second best as good, and whoever had it
    bids again (the row reduction of Jonker and Volgenant). No column that was taken is free again,
    and every row that has one has its cheapest, so what this leaves is a sound start.
    """
    waiting = list(range(starts.size - 1))
    waiting.reverse()
    for _ in range(MOST_BIDS * (starts.size - 1)):
        if not waiting:
            return
        row = waiting.pop()
        best, first, second = -1, np.inf, np.inf
        for place in range(starts[row], starts[row + 1]):
            price = costs[place] - v[columns[place]]
            if price < first:
                best, first, second = columns[place], price, first
            elif price < second:
                second = price
        loser = owner[best]
        if loser >= 0 and not second > first:
            continue  # nothing to pay with: a path decides
        if second > first and second < np.inf:
            v[best] -= second - first
        owner[best], partner[row] = row, best
        if loser >= 0:
            partner[loser] = -1
            waiting.append(loser)
