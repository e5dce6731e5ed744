"""How a pair compares with others: whether either of its records has a better partner.

Tables alone say this, not labels. "microsoft office 2007" resembles many titles a little; what
counts is whether this one resembles it most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twofold.matching._neighbours import Neighbours

COMPETITION_NAMES = ("left margin", "left rank", "right margin", "right rank")
N_COMPETITORS = 10
"""Neighbours that are known of a record; a pair further down has this rank."""


def compete(
    similarity: NDArray[np.float64],
    pairs: NDArray[np.int64],
    of_left: Neighbours,
    of_right: Neighbours,
) -> NDArray[np.float64]:
    """Return by how much, and from what rank, each pair's similarity beats its competitors.

    Parameters
    ----------
    similarity : ndarray of float64, shape (n_pairs,)
        Of the pairs; NaN where there is none.
    pairs : ndarray of int64, shape (n_pairs, 2)
        Rows.
    of_left, of_right : Neighbours
        The nearest right rows of each left row, and the nearest left rows of each right row.

    Returns
    -------
    ndarray of float64, shape (n_pairs, 4)
        `COMPETITION_NAMES`: the similarity less that of the best other partner of the left row, and
        how many partners are better, at most 10; the same of the right row.
    """
    left, right = pairs.T
    return np.column_stack(
        [
            *standing(similarity, of_left, left, right),
            *standing(similarity, of_right, right, left),
        ]
    )


def standing(
    similarity: NDArray[np.float64],
    neighbours: Neighbours,
    record: NDArray[np.int64],
    partner: NDArray[np.int64],
    rounding: float = 1e-9,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the margin to the best other neighbour of a record, and how many are better.

    Equal records have equal similarities but for `rounding`: neither is better.
    """
    others = np.where(
        neighbours.rows[record] == partner[:, None], -np.inf, neighbours.similarity[record]
    )
    best = others.max(axis=1)
    best[np.isneginf(best)] = np.nan  # there is no other
    n_better = (others > similarity[:, None] + rounding).sum(axis=1).astype(np.float64)
    n_better[np.isnan(similarity)] = np.nan
    return similarity - best, n_better
