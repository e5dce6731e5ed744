"""Where Twofold stands beside its rivals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from twofold.report._summaries import Estimate, MethodSummary, RunGroup
from twofold.report._titles import method_origin
from twofold.report._wording import SCORE_DECIMALS

OURS = "twofold"
OURS_ON_UNSEEN = ("twofold-unseen", "twofold-auto")
"""On kinds never seen: the first of these that was run stands beside the rivals."""
OUR_ORIGIN = "twofold"

Measure = Literal["auroc", "neighbours"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True, slots=True)
class Standing:
    """Twofold beside the best of its rivals on one set.

    Attributes
    ----------
    data_set, measure : str
        Where, and by what.
    ours : float
        Twofold's mean over seeds.
    rival : str
        The method with the highest mean of those that are not Twofold's own.
    best : float
        That mean.
    lead : float
        The difference, of the precision that a page shows.
    """

    data_set: str
    measure: str
    ours: float
    rival: str
    best: float
    lead: float


def measured(summary: MethodSummary, measure: Measure) -> Estimate | None:
    """Return a method's AUROC, or its neighbours' score."""
    return summary.auroc if measure == "auroc" else summary.neighbours


def standings(groups: Iterable[RunGroup], measure: Measure) -> tuple[Standing, ...]:
    """Return a standing for every group where Twofold and a rival were run."""
    found = (_standing(group, measure) for group in groups)
    return tuple(standing for standing in found if standing is not None)


def _standing(group: RunGroup, measure: Measure) -> Standing | None:
    means = {
        summary.method: value.mean
        for summary in group.methods
        if (value := measured(summary, measure)) is not None
    }
    rivals = [name for name in means if method_origin(name) != OUR_ORIGIN]
    if OURS not in means or not rivals:
        return None
    rival = max(rivals, key=lambda name: means[name])
    lead = round(means[OURS], SCORE_DECIMALS) - round(means[rival], SCORE_DECIMALS)
    return Standing(
        data_set=group.data_set,
        measure=measure,
        ours=means[OURS],
        rival=rival,
        best=means[rival],
        lead=round(lead, SCORE_DECIMALS),
    )
