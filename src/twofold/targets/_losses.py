"""The losses: each is an equation and a line.

A pair loss is a function of one *measure* of two points, their squared distance or their inner
product. The lines below use nothing but operators and `clip`, so that they take NumPy arrays and
torch tensors alike; the Numba sweeps repeat them for single numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

TINY = 1e-12
"""Keeps the direction between coincident points finite (it is then zero)."""


class PairLoss(Protocol):
    """What a solver needs of a loss on pairs, built-in or your own.

    A loss is a function L(q, y) of one measure q of two points and of the statement about them, y
    in [0, 1], 1 for alike. The measure determines the direction: alike items have small distances,
    or large inner products. Any object with these four members is a loss; pass it as
    ``Targets(loss=mine)`` or ``solve_targets(relation, dim, loss=mine)``. It is called with arrays
    of all pairs, and checked when you pass it: its slope against finite differences, its direction
    by whether alike pairs have a lower loss when they are close.

    Examples
    --------
    >>> class Logistic:
    ...     uses_distance, length = False, 1.0
    ...
    ...     def value(self, measure, similar):
    ...         return np.logaddexp(0, 4 * measure - 2) - similar * (4 * measure - 2)
    ...
    ...     def slope(self, measure, similar):
    ...         return 4 / (1 + np.exp(2 - 4 * measure)) - 4 * similar
    """

    @property
    def uses_distance(self) -> bool:
        """Whether the measure q is ‖a − b‖² (else it is a·b)."""

    @property
    def length(self) -> float:
        """The scale of points under the loss: about how far apart items that are not alike are.

        For inner products, the length of a vector. First points and steps have this scale.
        """

    def value(self, measure: Any, similar: Any) -> Any:
        """L(q, y) of every pair."""

    def slope(self, measure: Any, similar: Any) -> Any:
        """dL/dq of every pair."""


@dataclass(frozen=True, slots=True)
class ContrastiveLoss:
    """L = y q + (1 − y) max(0, m − √q)², with q = ‖a − b‖²."""

    margin: float = 1.0
    uses_distance: ClassVar[bool] = True

    @property
    def length(self) -> float:
        """The margin: how far apart points have to be."""
        return self.margin

    def value(self, measure: Any, similar: Any) -> Any:
        """L(q, y) of every pair."""
        gap = (self.margin - measure**0.5).clip(min=0)
        return similar * measure + (1 - similar) * gap**2

    def slope(self, measure: Any, similar: Any) -> Any:
        """dL/dq = y − (1 − y) max(0, m − √q) / √q."""
        distance = measure**0.5
        gap = (self.margin - distance).clip(min=0)
        return similar - (1 - similar) * gap / distance.clip(min=TINY)


@dataclass(frozen=True, slots=True)
class DotLoss:
    """L = ½ (y − q)², with q = a·b."""

    uses_distance: ClassVar[bool] = False
    length: ClassVar[float] = 1.0

    def value(self, measure: Any, similar: Any) -> Any:
        """L(q, y) of every pair."""
        return 0.5 * (similar - measure) ** 2

    def slope(self, measure: Any, similar: Any) -> Any:
        """dL/dq = q − y."""
        return measure - similar


def compares_by_dot(loss: PairLoss | TripletLoss) -> bool:
    """Whether a loss is one of inner products."""
    return not isinstance(loss, TripletLoss) and not loss.uses_distance


@dataclass(frozen=True, slots=True)
class TripletLoss:
    """L = max(0, m + ‖a − p‖² − ‖a − n‖²)."""

    margin: float = 1.0

    @property
    def length(self) -> float:
        """√m, since the margin is one of squared distances."""
        return math.sqrt(self.margin)

    def value(self, to_positive: Any, to_negative: Any) -> Any:
        """L of every triplet, from the squared distances of the anchor to the other two."""
        return (self.margin + to_positive - to_negative).clip(min=0)
