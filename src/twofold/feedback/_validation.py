"""Validation: how well rounds order statements about items that nothing was regressed on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from twofold.evaluation import Ranks, pair_ranks, triplet_ranks
from twofold.feedback._candidate import Round
from twofold.relations import ItemFold, Statements, TripletRelation

Similarity = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]


class ValidationTrace:
    """How one candidate's rounds order the statements held out, fold by fold.

    The statements of a fold are parted in two halves, so that what one half selects can be scored
    on the other.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._held_out: Statements
        self._rounds: list[list[list[Ranks]]] = []
        self._means: list[list[list[float]]] = []  # of the first kind: asked for after every round

    def open_fold(self, fold: ItemFold) -> None:
        """Begin to record the rounds of another fold."""
        self._held_out = fold.held_out
        self._rounds.append([])
        self._means.append([])

    def record(self, round_: Round) -> None:
        """Record a round of the fold that is open."""
        half = np.arange(len(self._held_out)) % 2 == 0
        parts = (np.ones(len(half), dtype=bool), half, ~half)
        rank = _ranker(self._held_out, round_.similarity)
        ranks = [rank(part) for part in parts]
        self._rounds[-1].append(ranks)
        self._means[-1].append([kinds[0].mean() if kinds[0].size else np.nan for kinds in ranks])

    @property
    def n_folds(self) -> int:
        """Folds that were recorded."""
        return len(self._rounds)

    @property
    def can_be_halved(self) -> bool:
        """Whether both halves of every fold hold statements of all kinds."""
        return all(kind.size for fold in self._rounds for part in fold[0] for kind in part)

    def ranks(self, round_: int, half: int | None = None) -> Ranks:
        """Return the ranks of a round, from 0, over all folds; of all statements or of a half."""
        part = 0 if half is None else 1 + half
        folds = [fold[round_][part] for fold in self._rounds]
        return [np.concatenate(kind) for kind in zip(*folds, strict=True)]

    def best_ranks(self, half: int | None = None) -> Ranks:
        """Return the ranks of the best round."""
        return self.ranks(int(self.scores(half).argmax()), half)

    def scores(self, half: int | None = None) -> NDArray[np.float64]:
        """Return the AUROC of each round, or of triplets the share in order; mean over folds."""
        part = 0 if half is None else 1 + half
        n_rounds = min(map(len, self._means))
        of_part = [[means[part] for means in fold[:n_rounds]] for fold in self._means]
        return np.asarray(np.mean(of_part, axis=0))


def ranks_of(statements: Statements, similarity: Similarity) -> Ranks:
    """Return the ranks of statements by the similarities of their items."""
    return _ranker(statements, similarity)(np.ones(len(statements), dtype=bool))


def _ranker(statements: Statements, similarity: Similarity) -> Callable[[NDArray[np.bool_]], Ranks]:
    """Return what ranks a part of some statements among each other."""
    if isinstance(statements, TripletRelation):
        near = similarity(statements.anchor, statements.positive)
        far = similarity(statements.anchor, statements.negative)
        return lambda part: triplet_ranks(near[part], far[part])
    alike, values = statements.similar > 0.5, similarity(statements.left, statements.right)
    return lambda part: pair_ranks(alike[part], values[part])
