"""The demo's protocol: phase 1 on the labels of scikit-learn's digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from twofold.evaluation import pair_auroc, pair_similarity
from twofold.experiments._machine import describe_machine
from twofold.relations import LabelRelation, PairRelation
from twofold.targets import TargetSolution, solve_targets

DIM = 16
HELD_OUT = 0.2
MAX_EPOCHS = 200


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to get targets.

    Attributes
    ----------
    name, explanation : str
        What the reader sees.
    loss : {"contrastive", "dot"}
        The loss of phase 1.
    whole : bool
        Whether all labels are given, or only the sampled pairs that are not held out.
    init : "random" or None
        The paper's start, or Twofold's.
    """

    name: str
    explanation: str
    loss: Literal["contrastive", "dot"]
    whole: bool = False
    init: Literal["random"] | None = None

    @property
    def metric(self) -> Literal["euclidean", "dot"]:
        """What the targets are compared by."""
        return "euclidean" if self.loss == "contrastive" else "dot"


RECIPES = (
    Recipe("FML-C", "sampled pairs, contrastive loss", "contrastive"),
    Recipe("FML-DP", "sampled pairs, dot-product loss", "dot"),
    Recipe("FML-DP, random start", "the same from the paper's start", "dot", init="random"),
    Recipe("Whole relation", "all labels at once, solved exactly", "dot", whole=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class PhaseOneRun:
    """What one recipe gave.

    Attributes
    ----------
    recipe : Recipe
        How.
    solution : TargetSolution
        Targets, loss curve and seconds.
    own_auroc : float
        Pairwise AUROC on the pairs it was given.
    held_out_auroc : float or None
        The same on pairs it was not given; None if it was given the whole relation.
    """

    recipe: Recipe
    solution: TargetSolution
    own_auroc: float
    held_out_auroc: float | None


@dataclass(frozen=True, slots=True, eq=False)
class PhaseOneDemo:
    """The demo's record.

    Attributes
    ----------
    classes : ndarray of int64, shape (n_items,)
        The digits' classes.
    given, held_out : PairRelation
        The sampled pairs, parted.
    runs : tuple of PhaseOneRun
        One a recipe.
    machine : dict
        What it was measured on.
    seed : int
        Of everything random.
    """

    classes: NDArray[np.int64]
    given: PairRelation
    held_out: PairRelation
    runs: tuple[PhaseOneRun, ...]
    machine: dict[str, str]
    seed: int


def run_demo(
    seed: int = 0, callback: Callable[[Recipe, int, float], Any] | None = None
) -> PhaseOneDemo:
    """Solve the digits' targets by every recipe.

    Parameters
    ----------
    seed : int
        Of sampling, parting and starts.
    callback : callable (recipe, epoch, loss), optional
        Called through every solution, for a display of progress.
    """
    classes = load_digits().target.astype(np.int64)
    relation = LabelRelation(classes)
    given, held_out = relation.sample_pairs(random_state=seed).split(HELD_OUT, random_state=seed)
    _compile(given)
    runs = tuple(_run(recipe, relation, given, held_out, seed, callback) for recipe in RECIPES)
    return PhaseOneDemo(classes, given, held_out, runs, describe_machine(), seed)


def _run(
    recipe: Recipe,
    relation: LabelRelation,
    given: PairRelation,
    held_out: PairRelation,
    seed: int,
    callback: Callable[[Recipe, int, float], Any] | None,
) -> PhaseOneRun:
    def report(epoch: int, loss: float) -> None:
        if callback is not None:
            callback(recipe, epoch, loss)

    solution = solve_targets(
        relation if recipe.whole else given,
        DIM,
        loss=recipe.loss,
        init=recipe.init,
        max_epochs=MAX_EPOCHS,
        random_state=seed,
        device="cpu",
        callback=report,
    )
    return PhaseOneRun(
        recipe=recipe,
        solution=solution,
        own_auroc=_auroc(solution, given, recipe),
        held_out_auroc=None if recipe.whole else _auroc(solution, held_out, recipe),
    )


def _auroc(solution: TargetSolution, pairs: PairRelation, recipe: Recipe) -> float:
    similarity = pair_similarity(solution.points, pairs.left, pairs.right, recipe.metric)
    return pair_auroc(pairs.similar, similarity)


def _compile(relation: PairRelation) -> None:
    """Have Numba compile both losses before anything is timed."""
    for loss in ("contrastive", "dot"):
        solve_targets(
            relation, 2, loss=loss, device="cpu", random_state=0, callback=lambda *_: True
        )
