"""Whether to go on asking: a plain sentence from how the quality has grown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from twofold.asking import Quality

WORTHWHILE = 0.002
"""AUROC that has to be in reach for more answers to be asked for."""
FEWEST_POINTS = 3
"""Estimates that a trend needs."""
MOST_MORE = 500


@dataclass(frozen=True, slots=True)
class Advice:
    """What to tell a person who asks whether it is good enough.

    Attributes
    ----------
    enough : bool
        Whether they can stop.
    n_more : int or None
        About how many more looks will help; None where nobody can say yet, or none are needed.
    sentence : str
        The same in words.
    """

    enough: bool
    n_more: int | None
    sentence: str


def advice(history: Sequence[tuple[int, Quality | None]]) -> Advice:
    """Say whether more answers will help.

    What is still missing to an AUROC of 1 shrinks about as a power of the number of looks, so that
    it is a straight line in logarithms. More is worth while as long as, by that line, doubling the
    looks gains more than `WORTHWHILE`, and while the interval is wider than what could be gained.

    Parameters
    ----------
    history : sequence of (int, Quality or None)
        Looks so far and the estimate then, in their order.
    """
    known = [(n, quality) for n, quality in history if quality is not None and n > 0]
    if len(known) < FEWEST_POINTS:
        return Advice(False, None, "Continue: there are too few answers yet to say how good it is.")
    n_looks, latest = known[-1]
    gain, n_more = _gain_of_more(known)
    between = f"(an AUROC between {latest.low:.3f} and {latest.high:.3f})"
    if gain < WORTHWHILE and latest.high - latest.low <= 0.1:
        return Advice(True, None, f"You can stop: more answers will hardly help {between}.")
    if gain < WORTHWHILE:
        return Advice(
            False,
            n_looks,
            f"It seems good enough, but that is not certain yet {between}: about {n_looks} more "
            "answers will show.",
        )
    return Advice(False, n_more, f"Continue: about {n_more} more answers will help.")


def _gain_of_more(known: Sequence[tuple[int, Quality]]) -> tuple[float, int]:
    """Return the AUROC that twice the looks would add, and how many more are worth while."""
    n_looks, latest = known[-1]
    slope = min(0.0, _slope(known))
    missing = max(1e-6, 1 - latest.auroc)
    gain = missing * (1 - 2.0**slope)
    n_more = n_looks
    while n_more < MOST_MORE and missing * (1 - (1 + n_more / n_looks) ** slope) < WORTHWHILE:
        n_more += 10
    return gain, max(10, 10 * round(min(n_more, MOST_MORE) / 10))


def _slope(known: Sequence[tuple[int, Quality]]) -> float:
    """Return the slope of log missing AUROC by log looks, by weighted least squares."""
    rows = [
        (math.log(n), math.log(max(1e-4, 1 - one.auroc)), (max(1e-3, 1 - one.auroc)) ** 2)
        for n, one in known
    ]
    widths = [max(1e-3, one.high - one.low) for _, one in known]
    weights = [missing / width**2 for (_, _, missing), width in zip(rows, widths, strict=True)]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _, _) in zip(weights, rows, strict=True)) / total
    y_mean = sum(w * y for w, (_, y, _) in zip(weights, rows, strict=True)) / total
    spread = sum(w * (x - x_mean) ** 2 for w, (x, _, _) in zip(weights, rows, strict=True))
    shared = sum(
        w * (x - x_mean) * (y - y_mean) for w, (x, y, _) in zip(weights, rows, strict=True)
    )
    return shared / spread if spread > 0 else 0.0
