"""How soon a method reaches the Siamese network's final quality."""

from __future__ import annotations

import math
from dataclasses import dataclass

from twofold.experiments import RunRecord
from twofold.report._summaries import MeanCurve, MethodSummary, RunGroup
from twofold.report._titles import UNTRAINED

SIAMESE = "siamese"


@dataclass(frozen=True, slots=True)
class Arrival:
    """When one method reaches the Siamese network's final AUROC.

    Attributes
    ----------
    method, best : str, float
        Its name, and the highest AUROC of its mean curve.
    seconds : float or None
        When its mean curve first reaches it; None if it does not.
    of_whole : float or None
        These seconds as a share of the Siamese network's whole training.
    of_arrival : float or None
        As a share of the seconds at which the Siamese network first was as good.
    of_whole_by_seed : float or None
        Geometric mean of `of_whole` over seeds, each beside the Siamese network of its own seed;
        None unless every seed reaches it.
    n_reached, n_seeds : int
        Seeds that reach it, and seeds that both were run with.
    """

    method: str
    best: float
    seconds: float | None
    of_whole: float | None
    of_arrival: float | None
    of_whole_by_seed: float | None
    n_reached: int
    n_seeds: int


@dataclass(frozen=True, slots=True)
class Finish:
    """Where the Siamese network's mean curve ends.

    Attributes
    ----------
    auroc, seconds : float
        Its final AUROC, and the seconds of its whole training.
    arrival : float
        Seconds at which it was first as good as in the end.
    """

    auroc: float
    seconds: float
    arrival: float


def siamese_finish(group: RunGroup) -> Finish | None:
    """Return where the Siamese network ends, None if it was not run or took no time."""
    siamese = group.find(SIAMESE)
    if siamese is None or siamese.curve is None or siamese.curve.seconds[0] <= 0:
        return None
    curve = siamese.curve
    arrival = curve.seconds_to_reach(curve.auroc[-1])
    assert arrival is not None
    return Finish(curve.auroc[-1], curve.seconds[-1], arrival)


def arrivals(group: RunGroup) -> tuple[Arrival, ...]:
    """Return the arrival of whatever trains, the Siamese network's own too; none without it."""
    finish, siamese = siamese_finish(group), group.find(SIAMESE)
    if finish is None or siamese is None:
        return ()
    return tuple(
        _arrival(summary, summary.curve, finish, siamese)
        for summary in group.methods
        if summary.curve is not None and summary.method not in UNTRAINED
    )


def _arrival(
    summary: MethodSummary, curve: MeanCurve, finish: Finish, siamese: MethodSummary
) -> Arrival:
    seconds = curve.seconds_to_reach(finish.auroc)
    rivals = {record.seed: record for record in siamese.records}
    shares = [
        _share(record, rivals[record.seed]) for record in summary.records if record.seed in rivals
    ]
    reached = [share for share in shares if share is not None]
    return Arrival(
        method=summary.method,
        best=max(curve.auroc),
        seconds=seconds,
        of_whole=None if seconds is None else seconds / finish.seconds,
        of_arrival=None if seconds is None else seconds / finish.arrival,
        of_whole_by_seed=_geometric_mean(reached) if len(reached) == len(shares) else None,
        n_reached=len(reached),
        n_seeds=len(shares),
    )


def _share(record: RunRecord, siamese: RunRecord) -> float | None:
    """Return the share of one Siamese training after which one run is as good as it in the end."""
    if not siamese.curve or siamese.curve[-1].seconds <= 0:
        return None
    last = siamese.curve[-1]
    for point in record.curve:
        if point.auroc >= last.auroc:
            return point.seconds / last.seconds
    return None


def _geometric_mean(values: list[float]) -> float | None:
    if not values:
        return None
    if min(values) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))
