"""How numbers and lists read on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from twofold.report._summaries import Estimate

SCORE_DECIMALS = 4
LEAST_SECONDS = 0.001
MISSING = "–"


def score(value: float) -> str:
    """Return an AUROC or another score in [0, 1]."""
    return f"{value:.{SCORE_DECIMALS}f}"


def score_spread(value: Estimate) -> tuple[str, str]:
    """Return the mean and the standard deviation; nothing for that if there is one value."""
    return score(value.mean), "" if value.deviation is None else score(value.deviation)


def seconds(value: float) -> str:
    """Return seconds to three digits."""
    if 0 < value < LEAST_SECONDS:
        return f"< {LEAST_SECONDS}"
    return f"{value:,.{_decimals(value)}f}"


def seconds_interval(value: Estimate) -> tuple[str, str]:
    """Return the mean and half its 95 % interval; nothing for that if there is one value."""
    decimals = _decimals(value.mean)
    mean = f"{value.mean:,.{decimals}f}"
    return mean, "" if value.half_width is None else f"{value.half_width:,.{decimals}f}"


def seconds_error(value: Estimate) -> tuple[str, str]:
    """Return the mean and its standard error; nothing for that if there is one value."""
    error = "" if value.error is None else f"{value.error:,.{_decimals(value.mean)}f}"
    return seconds(value.mean), error


def score_error(value: Estimate) -> tuple[str, str]:
    """Return the mean and its standard error; nothing for that if there is one value."""
    return score(value.mean), "" if value.error is None else score(value.error)


def with_spread(value: str, spread: str) -> str:
    """Return a ± b, or a."""
    return f"{value} ± {spread}" if spread else value


def share(value: float) -> str:
    """Return a share of a time: 1/25, 1/3.4, 0.92, 1.30."""
    if value >= 0.5 or value == 0:
        return f"{value:.2f}"
    inverse = 1 / value
    return f"1/{times(inverse)}"


def times(value: float) -> str:
    """Return how often: 27, 3.4."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def speed_up(value: float) -> str:
    """Return paper / ours in words: 27× faster, 1.5× slower."""
    return f"{times(value)}× faster" if value >= 1 else f"{times(1 / value)}× slower"


def signed(value: float, decimals: int) -> str:
    """Return a difference with its sign, a true minus."""
    return f"{value:+.{decimals}f}".replace("-", "−")


def span(values: Sequence[int]) -> str:
    """Return the least and the largest: 54–60, or 57."""
    return str(min(values)) if min(values) == max(values) else f"{min(values)}–{max(values)}"


def ranges(values: Sequence[int]) -> str:
    """Return whole numbers in short: 0–2, 4."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(span(run) for run in runs)


def listing(words: Sequence[str]) -> str:
    """Return a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def of_all(n: int, n_all: int, noun: str = "set") -> str:
    """Return how many of all: all 3 sets, 2 of 3 sets, none of 3 sets, the one set there is."""
    if n == n_all:
        return f"all {n_all} {noun}s" if n > 1 else f"the one {noun} there is"
    return f"{n or 'none'} of {n_all} {noun}s"


def counted(values: Sequence[int]) -> str:
    """Return a number with its thousands apart; several of them with strokes between."""
    return "/".join(f"{value:,}" for value in sorted(set(values)))


def _decimals(value: float) -> int:
    if value <= 0:
        return 0
    return min(6, max(0, 2 - math.floor(math.log10(value))))
