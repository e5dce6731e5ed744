"""What Adam's loop needs of an engine, wherever the engine runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from twofold.relations import PairRelation, TripletRelation
from twofold.targets._losses import PairLoss, TripletLoss


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """What is minimised: F(T) = 1/W Σ w L + λ/2n Σ ‖t − p‖².

    Attributes
    ----------
    relation : PairRelation or TripletRelation
        The statements; W is their total weight.
    loss : PairLoss or TripletLoss
        L, for pairs or for triplets as the relation is.
    prior : ndarray of float32, shape (n_items, dim), or None
        p.
    prior_weight : float
        λ; 0 without a prior.
    """

    relation: PairRelation | TripletRelation
    loss: PairLoss | TripletLoss
    prior: NDArray[np.float32] | None = None
    prior_weight: float = 0.0

    @property
    def total_weight(self) -> float:
        """W."""
        if isinstance(self.relation, TripletRelation) or self.relation.weight is None:
            return float(len(self.relation))
        return float(self.relation.weight.sum(dtype=np.float64))

    @property
    def loss_at_zero(self) -> float:
        """The statements' mean loss where all points are 0: what knowing nothing costs."""
        zero = np.zeros(1, dtype=np.float32)
        if isinstance(self.loss, TripletLoss):
            return float(self.loss.value(zero, zero)[0])
        assert isinstance(self.relation, PairRelation)
        losses = self.loss.value(zero, self.relation.similar)
        return float(np.average(losses, weights=self.relation.weight))


@dataclass(frozen=True, slots=True)
class AdamStep:
    """The numbers of one Adam step.

    Attributes
    ----------
    rate : float
        Step size.
    keep_first, keep_second : float
        β₁ and β₂.
    epoch : int
        Counted from 1, for the correction of the moments' start at zero.
    forgotten : int
        The epoch after which the first moment was last set to zero.
    """

    rate: float
    keep_first: float
    keep_second: float
    epoch: int
    forgotten: int = 0

    @property
    def corrections(self) -> tuple[float, float]:
        """1 / (1 − β₁ᵗ) and 1 / (1 − β₂ᵗ), t counted from where the moment was zero."""
        return (
            1 / (1 - self.keep_first ** (self.epoch - self.forgotten)),
            1 / (1 - self.keep_second**self.epoch),
        )


class Engine(Protocol):
    """Points and moments on one device, made from an objective and first points.

    Adam sees the gradient of n F, whose entries do not shrink as items are added.
    """

    def spread(self, n_passes: int, momentum: float) -> None:
        """Replace each point by the signed mean of its partners, `n_passes` times.

        A pass is D⁻¹ S T − momentum · (T one pass before), with S = w (2y − 1) over the pairs and
        D the absolute sums of its rows.
        """

    def blend(self, factor: float, offset: NDArray[np.float32]) -> None:
        """Replace the points T by factor · T + offset."""

    def zero_unlinked(self) -> None:
        """Move the items that are in no statement to 0."""

    def sweep(self, step: AdamStep) -> float:
        """Return F at the present points, and work out the points after them."""

    def advance(self) -> None:
        """Go on to the points that the last sweep worked out."""

    def retreat(self) -> None:
        """Go back to the points before the last advance, and forget the first moment."""

    def points(self) -> NDArray[np.float32]:
        """Return the present points, shape (n_items, dim)."""

    def rows(self, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the present points of some items, shape (len(items), dim)."""
