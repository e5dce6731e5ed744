"""A loss of the user's own, checked once when it is passed.

Its slope is compared with finite differences of its value, and its direction with what alike means:
a gradient that is wrong, or a sign that is flipped, would otherwise be minimised without a word.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.targets._losses import ContrastiveLoss, DotLoss, PairLoss

BUILT_IN = (ContrastiveLoss, DotLoss)
MEMBERS = ("uses_distance", "length", "value", "slope")
PLACES = (0.013, 0.11, 0.37, 0.83, 1.31, 2.7)
"""Where slopes are compared, in squared lengths; of inner products on both sides of 0."""
STEP = 1e-6
TOLERANCE = 1e-3


def check_pair_loss(loss: Any) -> PairLoss:
    """Return a loss that a solver can minimise, or say what is wrong with it, and where first."""
    name = type(loss).__name__
    if isinstance(loss, type):
        raise TypeError(f"loss is the class {loss.__name__}: pass an instance of it.")
    missing = [member for member in MEMBERS if not hasattr(loss, member)]
    if missing:
        raise TypeError(
            f"loss must be 'contrastive', 'dot' or a twofold.targets.PairLoss, an object with "
            f"{', '.join(MEMBERS)}; {name} has no {missing[0]}."
        )
    length = loss.length
    if not isinstance(length, int | float | np.number) or not 0 < length < math.inf:
        raise ValueError(f"{name}.length must be a finite number above 0, got {length!r}.")
    if isinstance(loss, BUILT_IN):
        return loss
    unit = float(length) ** 2
    with np.errstate(all="ignore"):  # what is not finite is said below
        _refuse_wrong_shapes(loss, name, unit)
        _refuse_wrong_slope(loss, name, unit)
        _refuse_wrong_direction(loss, name, unit)
    checked: PairLoss = loss
    return checked


def _grid(loss: Any, unit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return measures and grades of pairs that a loss is tried on."""
    places = np.array(PLACES)
    measures = unit * (places if loss.uses_distance else np.concatenate([-places[::-1], places]))
    grades = np.array([1.0, 0.0, 0.5])
    return np.tile(measures, grades.size), np.repeat(grades, measures.size)


def _refuse_wrong_shapes(loss: Any, name: str, unit: float) -> None:
    measures, grades = _grid(loss, unit)
    measures, grades = np.append(measures, [0.0, 0.0]), np.append(grades, [1.0, 0.0])
    for member in ("value", "slope"):
        numbers = np.asarray(getattr(loss, member)(measures, grades))
        if numbers.shape != measures.shape:
            raise ValueError(
                f"{name}.{member} must return one number per pair, here of shape "
                f"{measures.shape}, got shape {numbers.shape}."
            )
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if wrong.size:
            at = wrong[0]
            raise ValueError(
                f"{name}.{member} is {numbers[at]} {_where(measures[at], grades[at])}: it must be "
                "finite everywhere, also for points that coincide."
            )


def _refuse_wrong_slope(loss: Any, name: str, unit: float) -> None:
    """Compare the slope with the differences to either side: at a kink it may lie between them."""
    measures, grades = _grid(loss, unit)
    step = STEP * unit
    here, above, below = (loss.value(measures + by, grades) for by in (0.0, step, -step))
    sides = np.stack([np.asarray(above) - here, np.asarray(here) - below]) / step
    slope = np.asarray(loss.slope(measures, grades))
    room = TOLERANCE * (np.abs(sides).max(axis=0) + np.abs(sides).max())
    wrong = np.flatnonzero((slope < sides.min(axis=0) - room) | (slope > sides.max(axis=0) + room))
    if wrong.size:
        at = wrong[0]
        raise ValueError(
            f"{name}.slope is not the slope of {name}.value, first "
            f"{_where(measures[at], grades[at])}: it is {slope[at]:.4g}, but the value changes by "
            f"{sides[:, at].mean():.4g} per unit of q there. slope is dL/dq."
        )


def _refuse_wrong_direction(loss: Any, name: str, unit: float) -> None:
    """Alike pairs must lose less where they are close, others where they are not."""
    close, apart = (0.0, unit) if loss.uses_distance else (unit, 0.0)
    measures = np.array([close, apart, close, apart])
    values = np.asarray(loss.value(measures, np.array([1.0, 1.0, 0.0, 0.0])), dtype=np.float64)
    for alike, (at_close, at_apart) in ((True, values[:2]), (False, values[2:])):
        if (at_close > at_apart) if alike else (at_close < at_apart):
            kind = "an alike pair" if alike else "a pair that is not alike"
            raise ValueError(
                f"{name} points the wrong way: {kind} has a loss of {at_close:.4g} at q = "
                f"{close:.4g} and {at_apart:.4g} at q = {apart:.4g}, where q is "
                f"{'the squared distance' if loss.uses_distance else 'the inner product'}. Swap "
                "similar and 1 - similar, or set uses_distance."
            )
    if np.ptp(values[:2]) == 0 and np.ptp(values[2:]) == 0:
        raise ValueError(f"{name} is the same for close and for distant points: check its length.")


def _where(measure: float, grade: float) -> str:
    return f"at q = {measure:.4g}, similar = {grade:g}"
