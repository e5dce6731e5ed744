"""Validation: how well rounds order statements whose items nothing was regressed on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twofold.feedback._candidate import Round
from twofold.feedback._problem import Statements
from twofold.relations import TripletRelation

MOST_HELD_OUT = 250
"""Statements of the rarer kind that one fold holds out, and that all together have to."""
MOST_NEW_ITEMS = 0.35
"""Share of the items that a fold does not regress on."""
MOST_FOLDS, PRECISION = 5, 0.01
"""Folds are added until the best score is known so well, by its standard error."""
FEWEST_HELD_OUT = 5
"""Statements of which fewer cannot tell one round from another."""

Ranks = list[NDArray[np.float64]]
"""Of each kind of statement, the share of the other kind that it is on the right side of."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Statements to learn from, and others to score rounds on.

    Attributes
    ----------
    kept : PairRelation or TripletRelation
        To learn from.
    held_out : PairRelation or TripletRelation
        To score rounds on.
    rows : ndarray of int64, or None
        The items that may be regressed on; all by default.
    half : ndarray of bool, shape (n_held_out,)
        Parts the statements held out at random in two, so that what one half selects can be
        scored on the other.
    """

    kept: Statements
    held_out: Statements
    rows: NDArray[np.int64] | None
    half: NDArray[np.bool_]


def hold_out_items(statements: Statements, share: float, rng: np.random.Generator) -> Fold | None:
    """Hold out statements about items that are then not regressed on, as if these were new.

    Parameters
    ----------
    statements : PairRelation or TripletRelation
        All of them.
    share : float
        The most that is held out.
    rng : Generator
        Draws what is held out.

    Returns
    -------
    Fold or None
        None where statements are too few.
    """
    ends = _ends(statements)
    share = min(share, MOST_HELD_OUT / max(1, n_rarer(statements)))
    order = _rarer_first(statements, share, rng)
    is_new = _new_items(ends, order, statements.n_items, round(share * len(ends)))
    return _fold(statements, is_new[ends].all(axis=1), np.flatnonzero(~is_new), rng)


def hold_out_statements(
    statements: Statements, share: float, rng: np.random.Generator
) -> Fold | None:
    """Hold out statements at random, about items that others tell of; see `hold_out_items`."""
    share = min(share, MOST_HELD_OUT / max(1, n_rarer(statements)))
    about = np.zeros(len(statements), dtype=bool)
    about[rng.permutation(len(statements))[: round(share * len(statements))]] = True
    return _fold(statements, about, None, rng)


def _fold(
    statements: Statements,
    is_held_out: NDArray[np.bool_],
    rows: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Fold | None:
    kept, held_out = _take(statements, ~is_held_out), _take(statements, is_held_out)
    if len(held_out) < FEWEST_HELD_OUT or not (n_rarer(kept) and n_rarer(held_out)):
        return None
    return Fold(kept, held_out, rows, rng.permutation(len(held_out)) % 2 == 0)


def _new_items(
    ends: NDArray[np.int64], order: NDArray[np.int64], n_items: int, n_held_out: int
) -> NDArray[np.bool_]:
    """Return which items are new if statements are held out one after the other.

    All statements about new items alone are held out, and they are at most `n_held_out`.
    """
    # When each item, and with it each statement, is drawn in.
    since = np.full(n_items, len(order))
    for role in ends.T:
        np.minimum.at(since, role[order], np.arange(len(order)))
    drawn_in = np.sort(since[ends].max(axis=1))
    n_drawn = int(drawn_in[n_held_out]) if n_held_out < len(drawn_in) else len(order)
    n_new = np.searchsorted(np.sort(since), np.arange(n_drawn + 1))
    n_drawn = int(np.searchsorted(n_new, MOST_NEW_ITEMS * n_items, "right")) - 1
    return since < n_drawn


def _rarer_first(
    statements: Statements, share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return statements in random order: a share of the rarer kind, then all of the other."""
    order = rng.permutation(len(statements))
    if isinstance(statements, TripletRelation):
        return order
    alike = statements.similar[order] > 0.5
    is_rarer = alike if alike.mean() <= 0.5 else ~alike
    is_first = is_rarer & (np.cumsum(is_rarer) <= math.ceil(share * is_rarer.sum()))
    return np.concatenate([order[is_first], order[~is_rarer]])


def _ends(statements: Statements) -> NDArray[np.int64]:
    """Return the items of each statement, shape (n_statements, 2 or 3)."""
    if isinstance(statements, TripletRelation):
        return np.column_stack([statements.anchor, statements.positive, statements.negative])
    return np.column_stack([statements.left, statements.right])


def _take(statements: Statements, rows: NDArray[np.bool_]) -> Statements:
    if isinstance(statements, TripletRelation):
        roles = (statements.anchor, statements.positive, statements.negative)
        return TripletRelation(*(role[rows] for role in roles), statements.n_items)
    return statements.take_pairs(rows)


def n_rarer(statements: Statements) -> int:
    """Return how many pairs of the rarer kind there are, or triplets."""
    if isinstance(statements, TripletRelation):
        return len(statements)
    n_alike = int((statements.similar > 0.5).sum())
    return min(n_alike, len(statements) - n_alike)


class ValidationTrace:
    """How one candidate's rounds order the statements held out, fold by fold.

    Attributes
    ----------
    name : str
        Of the candidate.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._folds: list[Fold] = []
        self._rounds: list[list[tuple[Ranks, Ranks, Ranks]]] = []

    def open_fold(self, fold: Fold) -> None:
        """Begin to record the rounds of another fold."""
        self._folds.append(fold)
        self._rounds.append([])

    def record(self, round_: Round) -> None:
        """Record a round of the fold that is open."""
        fold = self._folds[-1]
        values = similarities(round_, fold.held_out)
        parts = (np.ones(len(values), dtype=bool), fold.half, ~fold.half)
        whole, one, other = (ranks(fold.held_out, values, part) for part in parts)
        self._rounds[-1].append((whole, one, other))

    @property
    def n_folds(self) -> int:
        """Folds that were recorded."""
        return len(self._rounds)

    def ranks(self, round_: int, half: int | None = None) -> Ranks:
        """Return the ranks of a round, those of all folds together.

        Parameters
        ----------
        round_ : int
            Which, from 0.
        half : {0, 1}, optional
            Of one half of the statements; of all by default.
        """
        part = 0 if half is None else 1 + half
        folds = [rounds[round_][part] for rounds in self._rounds]
        return [np.concatenate(kind) for kind in zip(*folds, strict=True)]

    def scores(self, half: int | None = None) -> NDArray[np.float64]:
        """Return the AUROC of each round, or of triplets the share in order; mean over folds."""
        part = 0 if half is None else 1 + half
        n_rounds = min(map(len, self._rounds))
        return np.array(
            [np.mean([fold[k][part][0].mean() for fold in self._rounds]) for k in range(n_rounds)]
        )

    @property
    def can_be_halved(self) -> bool:
        """Whether both halves of every fold hold statements of all kinds."""
        return all(kind.size for fold in self._rounds for part in fold[0] for kind in part)


def score_error(ranks: Ranks) -> float:
    """Return the standard error of a score (DeLong's)."""
    return math.sqrt(sum(float(kind.var()) / max(1, kind.size - 1) for kind in ranks))


def gain_error(before: Ranks, after: Ranks) -> float:
    """Return the standard error of how much one score is above another.

    Both are of the same statements, so that most of the chance is common to both.
    """
    return score_error([now - then for now, then in zip(after, before, strict=True)])


def similarities(round_: Round, statements: Statements) -> NDArray[np.float32]:
    """Return what a statement says to be large: a similarity, or of triplets a difference."""
    if isinstance(statements, TripletRelation):
        near = round_.similarity(statements.anchor, statements.positive)
        return near - round_.similarity(statements.anchor, statements.negative)
    return round_.similarity(statements.left, statements.right)


def ranks(
    statements: Statements, values: NDArray[np.float32], part: NDArray[np.bool_] | None = None
) -> Ranks:
    """Return the ranks of statements, or of a part of them, by their similarities."""
    part = np.ones(len(values), dtype=bool) if part is None else part
    if isinstance(statements, TripletRelation):
        return [(values[part] > 0) + 0.5 * (values[part] == 0)]
    alike = statements.similar[part] > 0.5
    similar, different = values[part][alike], values[part][~alike]
    return [_share_below(similar, different), _share_below(-different, -similar)]


def _share_below(values: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the share of `others` below each value; ties count one half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return below / (2 * max(1, ordered.size))
