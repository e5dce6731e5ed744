"""Cross-validated targets: how similar a statement's items are where it was held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from twofold._core.checks import check_callable, check_choice, check_count
from twofold._core.random import RandomState, as_generator
from twofold._core.warnings import unsaid
from twofold.evaluation import Metric, pair_similarity
from twofold.relations import Fold, PairRelation, split_folds
from twofold.targets._solve import Loss, solve_targets

ProgressCallback = Callable[[float], Any]
"""Called with the share of the work that is done."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores:
    """What targets solved without a fold say about the fold's statements.

    Attributes
    ----------
    similarity : ndarray of float32, shape (n_held_out,)
        Of the two targets of each statement; of no meaning where they are not connected.
    connected : ndarray of bool, shape (n_held_out,)
        Whether the statements kept join the two items at all.
    """

    similarity: NDArray[np.float32]
    connected: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HeldOutScorer:
    """How held-out statements are scored: see `cross_validated_similarity`."""

    n_components: int
    loss: Loss

    def __post_init__(self) -> None:
        check_count("n_components", self.n_components)
        check_choice("loss", self.loss, get_args(Loss))

    def score(
        self, kept: PairRelation, held_out: PairRelation, rng: np.random.Generator
    ) -> HeldOutScores:
        """Solve targets from the statements kept, and compare those of the statements held out."""
        with unsaid(ConvergenceWarning):
            # A loss that still falls a little is no matter here, and the user cannot change it.
            # On the CPU, which takes less time than torch to load.
            solution = solve_targets(
                kept, self.n_components, loss=self.loss, device="cpu", random_state=rng
            )
        metric: Metric = "dot" if self.loss == "dot" else "euclidean"
        return HeldOutScores(
            pair_similarity(solution.points, held_out.left, held_out.right, metric),
            _are_connected(kept, held_out),
        )

    def score_folds(
        self,
        relation: PairRelation,
        folds: list[Fold],
        rng: np.random.Generator,
        progress: ProgressCallback | None = None,
    ) -> list[HeldOutScores]:
        """Score every fold by targets of its other statements."""
        scores = []
        for number, fold in enumerate(folds, start=1):
            scores.append(self.score(fold.kept, relation.take_pairs(fold.held_out), rng))
            if progress is not None:
                progress(number / len(folds))
        return scores


def cross_validated_similarity(
    relation: PairRelation,
    *,
    n_components: int = 16,
    n_folds: int = 5,
    loss: Loss = "contrastive",
    random_state: RandomState = None,
    progress: ProgressCallback | None = None,
) -> NDArray[np.float32]:
    """Return how similar the targets of each stated pair are, solved without that statement.

    Parameters
    ----------
    relation : PairRelation
        At least `n_folds` different pairs of each kind.
    n_components : int
        Components of a target.
    n_folds : int
        Parts of the statements; each is held out once. Statements about the same two items, in
        either order, are in one fold.
    loss : {"contrastive", "dot"}
        Of phase 1; the contrastive one says more of unseen pairs at every density tried.
    random_state : int, Generator or None
        Seed of the folds and of phase 1's starts.
    progress : callable (share), optional
        Called after every fold.

    Returns
    -------
    similarity : ndarray of float32, shape (n_pairs,)
        −‖a − b‖ of two targets, or a·b with ``loss="dot"``. A pair whose items the other folds do
        not connect gets a value in the middle between both kinds, which speaks for neither.
    """
    check_callable("progress", progress)
    rng = as_generator(random_state)
    folds = split_folds(relation, n_folds, rng)
    scores = HeldOutScorer(n_components, loss).score_folds(relation, folds, rng, progress)
    return gather_folds(relation, folds, scores).similarity


def gather_folds(
    relation: PairRelation, folds: list[Fold], scores: list[HeldOutScores]
) -> HeldOutScores:
    """Return the scores of all statements, row by row; a neutral similarity where not connected."""
    similarity = np.empty(relation.n_pairs, dtype=np.float32)
    connected = np.empty(relation.n_pairs, dtype=bool)
    for fold, score in zip(folds, scores, strict=True):
        similarity[fold.held_out] = score.similarity
        connected[fold.held_out] = score.connected
    whole = HeldOutScores(similarity, connected)
    return HeldOutScores(neutral_similarity(whole, relation.similar), connected)


def neutral_similarity(scores: HeldOutScores, similar: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return similarities, half-way between the medians of the two kinds where not connected."""
    similarity, connected = scores.similarity, scores.connected
    kinds = (connected & (similar > 0.5), connected & (similar < 0.5))
    medians = [np.median(similarity[kind]) for kind in kinds if kind.any()]
    neutral = np.float32(np.mean(medians) if medians else 0.0)
    return np.where(connected, similarity, neutral)


def _are_connected(kept: PairRelation, held_out: PairRelation) -> NDArray[np.bool_]:
    """Return which pairs have both items in one connected part of the statements kept."""
    links = sparse.csr_array(
        (np.ones(kept.n_pairs, dtype=bool), (kept.left, kept.right)),
        shape=(kept.n_items, kept.n_items),
    )
    _, part = connected_components(links, directed=False)
    return np.asarray(part[held_out.left] == part[held_out.right])
