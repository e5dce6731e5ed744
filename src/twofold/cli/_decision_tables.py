"""Scores of decisions as they are shown: figures with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twofold.evaluation import DecisionScores

SCORES = {
    "AUROC": "auroc",
    "average precision": "average_precision",
    "precision": "precision",
    "recall": "recall",
    "F1": "f1",
}


def figure(scores: DecisionScores, name: str) -> str:
    """Return a score with its interval, as short as it can be told: .925 (.911–.940)."""
    value = short(getattr(scores, name))
    if name not in scores.intervals:
        return value
    low, high = map(short, scores.intervals[name])
    return f"{value} ({low}–{high})"


def short(share: float) -> str:
    """Return a share in four characters: .925, and 1.00 for what rounds to one."""
    return f"{share:.3f}".removeprefix("0")[:4]


def plain_scores(scores: DecisionScores) -> dict[str, Any]:
    """Return scores as JSON takes them."""
    from dataclasses import asdict

    return asdict(scores) | {"intervals": {k: list(v) for k, v in scores.intervals.items()}}
