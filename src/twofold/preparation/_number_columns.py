"""Numbers and dates to features: scaled by median and quartiles, missing values marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from twofold.preparation._stored import Arrays, Facts, Stored
from twofold.preparation._values import as_days, as_numbers

QUARTILES_OF_NORMAL = 1.349
"""The distance of the quartiles of a normal distribution of variance 1."""
LARGEST_SCORE = 10.0
"""A value so many standard deviations out counts as this: one slip of a comma is no direction."""
SKEWED = 4.0
"""Prices and counts: the upper tail is so many times longer than the lower, so logs are taken."""
DAYS_A_YEAR = 365.2425


@dataclass(frozen=True, slots=True)
class Scale:
    """Robust scaling of one number: z = (f(x) - centre) / spread, f the identity or log(1 + x)."""

    centre: float
    spread: float
    is_log: bool

    @classmethod
    def fit(cls, values: NDArray[np.float64]) -> Self:
        """Fit to numbers among which NaN is a missing one; at least one is there."""
        there = values[~np.isnan(values)]
        is_log = _is_skewed(there)
        there = np.log1p(there) if is_log else there
        centre = float(np.median(there))
        lower, upper = np.percentile(there, [25, 75])
        spread = float(upper - lower) / QUARTILES_OF_NORMAL or float(there.std()) or 1.0
        return cls(centre, spread, is_log)

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return scores; a missing value has that of the median, 0."""
        if self.is_log:
            values = np.log1p(np.maximum(values, 0.0))
        scores = np.nan_to_num((values - self.centre) / self.spread, nan=0.0)
        return np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE).astype(np.float32)

    def facts(self) -> Facts:
        """Return what is saved."""
        return {"centre": self.centre, "spread": self.spread, "is_log": self.is_log}

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what was saved, checked."""
        spread = stored.fact("spread", float)
        if spread <= 0:
            stored.refuse(f"'spread' is {spread}")
        return cls(stored.fact("centre", float), spread, stored.fact("is_log", bool))


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """One number, and whether it is missing if it ever was."""

    scale: Scale
    marks_missing: bool

    @classmethod
    def fit(cls, column: Any, written: str = "") -> Self:
        """Fit to an Arrow array."""
        del written
        values = as_numbers(column)
        missing = np.isnan(values)
        if missing.all():
            raise ValueError("it holds no number")
        return cls(Scale.fit(values), bool(missing.any()))

    def names(self) -> list[str]:
        """Return what the features are called, behind the column's name."""
        return ["", "missing"] if self.marks_missing else [""]

    def transform(self, column: Any) -> NDArray[np.float32]:
        """Return features, shape (n_rows, 1 or 2)."""
        values = as_numbers(column)
        blocks = [self.scale.apply(values)]
        if self.marks_missing:
            blocks.append(np.isnan(values).astype(np.float32))
        return np.column_stack(blocks)

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        return {"scale": self.scale.facts(), "marks_missing": self.marks_missing}, {}

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what was saved, checked."""
        scale = Scale.restore(stored.within("scale", stored.name))
        return cls(scale, stored.fact("marks_missing", bool))


@dataclass(frozen=True, slots=True)
class DateColumn:
    """A moment: when it was, the time of the year and of the week, and whether it is missing.

    Year and week are circles, so each is a sine and a cosine, and only there if the dates tell
    more than one.
    """

    scale: Scale
    written: str
    cycles: tuple[float, ...]
    marks_missing: bool

    @classmethod
    def fit(cls, column: Any, written: str = "") -> Self:
        """Fit to an Arrow array of moments, or of texts as `written` says."""
        days = as_days(column, written)
        missing = np.isnan(days)
        if missing.all():
            raise ValueError("it holds no date")
        span = float(np.ptp(days[~missing]))
        cycles = tuple(cycle for cycle in (DAYS_A_YEAR, 7.0) if span > cycle / 2)
        return cls(Scale.fit(days), written, cycles, bool(missing.any()))

    def names(self) -> list[str]:
        """Return what the features are called, behind the column's name."""
        called = {DAYS_A_YEAR: "year", 7.0: "week"}
        circles = [f"{part}_{called[cycle]}" for cycle in self.cycles for part in ("sin", "cos")]
        return ["", *circles, *(["missing"] if self.marks_missing else [])]

    def transform(self, column: Any) -> NDArray[np.float32]:
        """Return features, shape (n_rows, n_features)."""
        days = as_days(column, self.written)
        missing = np.isnan(days)
        blocks = [self.scale.apply(days)]
        for cycle in self.cycles:
            angle = 2 * np.pi * np.where(missing, 0.0, days) / cycle
            blocks += [np.where(missing, 0.0, circle(angle)) for circle in (np.sin, np.cos)]
        if self.marks_missing:
            blocks.append(missing)
        return np.column_stack(blocks).astype(np.float32)

    def save(self) -> tuple[Facts, Arrays]:
        """Return what is saved."""
        facts = {
            "scale": self.scale.facts(),
            "written": self.written,
            "cycles": list(self.cycles),
            "marks_missing": self.marks_missing,
        }
        return facts, {}

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what was saved, checked."""
        cycles = stored.fact("cycles", list)
        if any(cycle not in (DAYS_A_YEAR, 7.0) for cycle in cycles) or len(cycles) > 2:
            stored.refuse("'cycles' are not of a year or a week")
        scale = Scale.restore(stored.within("scale", stored.name))
        written, marks = stored.fact("written", str), stored.fact("marks_missing", bool)
        return cls(scale, written, tuple(map(float, cycles)), marks)


def _is_skewed(values: NDArray[np.float64]) -> bool:
    """Whether numbers, none negative, have a far longer tail above than below."""
    low, middle, high = np.percentile(values, [5, 50, 95])
    return bool(values.min() >= 0 and high - middle > SKEWED * (middle - low) and high > 1)
