"""`Targets`: how phase 1 finds target vectors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

from sklearn.base import BaseEstimator

from twofold._core.checks import check_choice, check_count, check_number
from twofold._core.model_card import OWN
from twofold.targets._losses import PairLoss
from twofold.targets._own_loss import check_pair_loss

Loss = Literal["auto", "contrastive", "dot"]
Pairs = Literal["all", "sampled"]
Grade = Literal["auto", "overlap", "jaccard"]
Init = Literal["auto", "random"]
Named = Literal["auto", "fml-c", "fml-dp"]


@dataclass(repr=False, eq=False)
class Targets(BaseEstimator):  # type: ignore[misc]
    """How phase 1 solves for a target vector for each item.

    Parameters
    ----------
    loss : {"auto", "dot", "contrastive"} or PairLoss
        What is minimised, and therefore how points are compared: by inner product or by distance.
        "auto" is the inner product, and with feedback the distance. A loss of your own is an object
        as described in `twofold.targets.PairLoss`; labels are then sampled, there is no feedback,
        and a saved model only keeps the name of the loss.
    pairs : {"all", "sampled"}
        For labels: the whole relation, solved exactly if it has an exact solution; or `n_similar`
        and `n_dissimilar` partners per item, as in the paper.
    n_similar, n_dissimilar : int
        Partners to sample per item.
    grade : {"auto", "overlap", "jaccard"}
        The similarity of two items with several labels: 1 if they share any, or the share of their
        labels that they have in common. "auto" is "jaccard" for the whole relation with the inner
        product, which was best in every trial, otherwise "overlap", as in the paper.
    margin : float
        How far apart the contrastive loss places items that are not alike; with feedback it
        multiplies the typical distance between features.
    init : {"auto", "random"}
        Where the targets of pairs and triplets start: "auto" from the relation's coarse shape;
        "random" as in the paper, with more patience, because it converges slowly.

    Examples
    --------
    >>> Targets("contrastive", pairs="sampled")
    Targets(loss='contrastive', pairs='sampled')
    """

    loss: Loss | PairLoss = "auto"
    _: KW_ONLY
    pairs: Pairs = "all"
    n_similar: int = 10
    n_dissimilar: int = 10
    grade: Grade = "auto"
    margin: float = 1.0
    init: Init = "auto"


def as_targets(targets: Named | Targets | Any) -> Targets:
    """Return the parameters that a learner's `targets` stands for, checked."""
    if isinstance(targets, Targets):
        return _checked(targets)
    if targets == "fml-c":
        return Targets("contrastive", pairs="sampled", init="random")
    if targets == "fml-dp":
        return Targets("dot", pairs="sampled", init="random")
    if targets != "auto":
        raise ValueError(
            f"targets must be 'auto', 'fml-c', 'fml-dp' or Targets(...), got {targets!r}."
        )
    return Targets()


def resolve_grade(targets: Targets) -> Literal["overlap", "jaccard"]:
    """Return how alike two items with several labels are."""
    if targets.grade != "auto":
        return targets.grade
    is_whole = targets.pairs == "all" and targets.loss in ("auto", "dot")
    return "jaccard" if is_whole else "overlap"


def _checked(targets: Targets) -> Targets:
    if not isinstance(targets.loss, str):
        check_pair_loss(targets.loss)
    elif targets.loss.startswith(OWN):
        raise ValueError(
            f"The loss {targets.loss.removeprefix(OWN)} is your own code, which is not saved with "
            "a model: set it again with set_params(targets__loss=...)."
        )
    else:
        check_choice("loss", targets.loss, get_args(Loss))
    check_choice("pairs", targets.pairs, get_args(Pairs))
    check_choice("grade", targets.grade, get_args(Grade))
    check_choice("init", targets.init, get_args(Init))
    check_count("n_similar", targets.n_similar, minimum=0)
    check_count("n_dissimilar", targets.n_dissimilar, minimum=0)
    check_number("margin", targets.margin, 0, strict=True)
    return targets
