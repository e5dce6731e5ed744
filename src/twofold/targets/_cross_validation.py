"""Statements judged by the others: the similarity of two targets that were solved without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from twofold._core.checks import check_choice, check_count
from twofold._core.random import RandomState, as_generator
from twofold.evaluation import pair_similarity
from twofold.relations import Fold, PairRelation, split_folds
from twofold.targets._solve import Loss, solve_targets

Progress = Callable[[float], Any]
"""Called with the share of the work that is done."""


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What the statements of all other folds say about a fold's.

    Attributes
    ----------
    similarity : ndarray of float32, shape (n_held_out,)
        Of the two targets of each statement held out; of no meaning where it is not decided.
    decided : ndarray of bool, shape (n_held_out,)
        Whether the other statements join the two items at all.
    """

    similarity: NDArray[np.float32]
    decided: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Judge:
    """How held-out statements are judged: see `cross_validated_similarity`."""

    n_components: int
    loss: Loss

    def __post_init__(self) -> None:
        check_count("n_components", self.n_components)
        check_choice("loss", self.loss, get_args(Loss))

    def judge(
        self, known: PairRelation, held_out: PairRelation, rng: np.random.Generator
    ) -> Judgement:
        """Solve targets from what is known, and compare those of the statements held out."""
        with warnings.catch_warnings():
            # A loss that still falls a little is no matter here, and the user cannot change it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # On the CPU, which takes less time than torch to load, and always gives the same.
            solution = solve_targets(
                known, self.n_components, loss=self.loss, device="cpu", random_state=rng
            )
        metric: Literal["dot", "euclidean"] = "dot" if self.loss == "dot" else "euclidean"
        return Judgement(
            pair_similarity(solution.points, held_out.left, held_out.right, metric),
            _are_joined(known, held_out),
        )


def cross_validated_similarity(
    relation: PairRelation,
    *,
    n_components: int = 16,
    n_folds: int = 5,
    loss: Loss = "contrastive",
    random_state: RandomState = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return how similar the targets of each stated pair are, solved without that statement.

    Parameters
    ----------
    relation : PairRelation
        At least `n_folds` different pairs of each kind.
    n_components : int
        Components of a target.
    n_folds : int
        Parts of the statements; each is judged by all others. Statements about the same two items,
        in either order, are in one part.
    loss : {"contrastive", "dot"}
        Of phase 1; the contrastive one says more of unseen pairs at every density tried.
    random_state : int, Generator or None
        Seed of the parts and of phase 1's starts.
    progress : callable (share), optional
        Called after every part.

    Returns
    -------
    similarity : ndarray of float32, shape (n_pairs,)
        −‖a − b‖ of two targets, or a·b with ``loss="dot"``. A pair whose items the other parts do
        not join gets a value in the middle between both kinds, which speaks for neither.
    """
    rng = as_generator(random_state)
    folds = split_folds(relation, n_folds, rng)
    judgements = judge_folds(relation, folds, Judge(n_components, loss), rng, progress)
    return gather(relation, folds, judgements)[0]


def judge_folds(
    relation: PairRelation,
    folds: list[Fold],
    judge: Judge,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Judgement]:
    """Judge every fold by all others."""
    judgements = []
    for number, fold in enumerate(folds, start=1):
        judgements.append(judge.judge(fold.kept, relation.take_pairs(fold.held_out), rng))
        if progress is not None:
            progress(number / len(folds))
    return judgements


def gather(
    relation: PairRelation, folds: list[Fold], judgements: list[Judgement]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the similarity of every statement, and whether the other folds decide it."""
    similarity = np.empty(relation.n_pairs, dtype=np.float32)
    decided = np.empty(relation.n_pairs, dtype=bool)
    for fold, judgement in zip(folds, judgements, strict=True):
        similarity[fold.held_out] = judgement.similarity
        decided[fold.held_out] = judgement.decided
    return with_neutral(similarity, decided, relation.similar), decided


def with_neutral(
    similarity: NDArray[np.float32], decided: NDArray[np.bool_], similar: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return similarities, those not decided half-way between the medians of the two kinds."""
    kinds = (decided & (similar > 0.5), decided & (similar < 0.5))
    middles = [np.median(similarity[kind]) for kind in kinds if kind.any()]
    neutral = np.float32(np.mean(middles) if middles else 0.0)
    return np.where(decided, similarity, neutral)


def _are_joined(known: PairRelation, held_out: PairRelation) -> NDArray[np.bool_]:
    """Return which pairs have both items in one connected part of what is known."""
    links = sparse.csr_array(
        (np.ones(known.n_pairs, dtype=bool), (known.left, known.right)),
        shape=(known.n_items, known.n_items),
    )
    _, part = connected_components(links, directed=False)
    return np.asarray(part[held_out.left] == part[held_out.right])
