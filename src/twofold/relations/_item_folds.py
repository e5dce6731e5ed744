"""Held-out statements: about items that are held out with them, or about known ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.relations._pairs import PairRelation
from twofold.relations._triplets import TripletRelation

Statements = PairRelation | TripletRelation


@dataclass(frozen=True, slots=True, eq=False)
class ItemFold:
    """Statements to learn from, and others to score what was learnt.

    Attributes
    ----------
    kept, held_out : PairRelation or TripletRelation
        To learn from, and to score.
    known : ndarray of int64, or None
        The items that `held_out` is not about; None if it is about items like any other.
    """

    kept: Statements
    held_out: Statements
    known: NDArray[np.int64] | None


def hold_out_items(
    statements: Statements, share: float, rng: np.random.Generator, most: int | None = None
) -> ItemFold | None:
    """Hold out items, and all statements about these alone, as if they were new.

    Parameters
    ----------
    statements : PairRelation or TripletRelation
        All of them.
    share : float
        Of the items that are held out at most, and of the statements.
    rng : Generator
        Draws what is held out, of pairs both kinds in turn.
    most : int, optional
        About how many pairs of the rarer kind, or triplets, are held out at most.

    Returns
    -------
    ItemFold or None
        None where too few statements of a kind would be in a part.
    """
    ends = _ends(statements)
    n_held_out = round(_bounded(share, statements, most) * len(ends))
    order = _in_turn(statements, share, rng)
    # When each item, and with it each statement, is drawn in: statements are drawn one by one, and
    # bring with them all that are about items drawn so far.
    since = np.full(statements.n_items, len(order))
    for role in ends.T:
        np.minimum.at(since, role[order], np.arange(len(order)))
    drawn_in = np.sort(np.max(since[ends], axis=1))
    n_drawn = int(drawn_in[n_held_out]) if n_held_out < len(drawn_in) else len(order)
    n_new = np.searchsorted(np.sort(since), np.arange(n_drawn + 1))
    n_drawn = int(np.searchsorted(n_new, share * statements.n_items, "right")) - 1
    is_new = since < n_drawn
    return _fold(statements, np.all(is_new[ends], axis=1), np.flatnonzero(~is_new))


def hold_out_statements(
    statements: Statements, share: float, rng: np.random.Generator, most: int | None = None
) -> ItemFold | None:
    """Hold out statements at random, about items that others may tell of."""
    share = _bounded(share, statements, most)
    is_held_out = np.zeros(len(statements), dtype=bool)
    is_held_out[rng.permutation(len(statements))[: round(share * len(statements))]] = True
    return _fold(statements, is_held_out, None)


def n_rarer(statements: Statements) -> int:
    """Return how many pairs of the rarer kind there are, or triplets."""
    if isinstance(statements, TripletRelation):
        return len(statements)
    n_alike = int((statements.similar > 0.5).sum())
    return min(n_alike, len(statements) - n_alike)


def _bounded(share: float, statements: Statements, most: int | None) -> float:
    return share if most is None else min(share, most / max(1, n_rarer(statements)))


def _fold(
    statements: Statements, is_held_out: NDArray[np.bool_], known: NDArray[np.int64] | None
) -> ItemFold | None:
    if is_held_out.all() or not is_held_out.any():
        return None
    kept, held_out = _take(statements, ~is_held_out), _take(statements, is_held_out)
    # Two of a kind are the fewest that have a standard error.
    can_be_scored = n_rarer(kept) > 0 and n_rarer(held_out) > 1
    return ItemFold(kept, held_out, known) if can_be_scored else None


def _in_turn(statements: Statements, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return statements in random order, of pairs both kinds in turn, a share of each first."""
    order = rng.permutation(len(statements))
    if isinstance(statements, TripletRelation):
        return order
    alike = statements.similar[order] > 0.5
    place = np.where(alike, np.cumsum(alike), np.cumsum(~alike))
    n_kind = np.where(alike, alike.sum(), (~alike).sum())
    # More than its share of a rare kind would leave too little of it to learn from.
    return order[np.lexsort((place, place > np.ceil(share * n_kind)))]


def _ends(statements: Statements) -> NDArray[np.int64]:
    """Return the items of each statement, shape (n_statements, 2 or 3)."""
    if isinstance(statements, TripletRelation):
        return np.column_stack([statements.anchor, statements.positive, statements.negative])
    return np.column_stack([statements.left, statements.right])


def _take(statements: Statements, rows: NDArray[np.bool_]) -> Statements:
    if isinstance(statements, PairRelation):
        return statements.take_pairs(rows)
    return TripletRelation(
        statements.anchor[rows],
        statements.positive[rows],
        statements.negative[rows],
        statements.n_items,
    )
