"""Records of runs on kinds never seen in, statistics of every protocol, machine and method out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from twofold.evaluation import Interval
from twofold.experiments import KindScores, RunRecord, UnseenScores, best_score
from twofold.report._standings import OUR_ORIGIN, OURS_ON_UNSEEN, Standing
from twofold.report._summaries import Estimate, check_seeds, estimate, grouped, machine_of
from twofold.report._titles import Machine, method_origin, set_order, unseen_method_order
from twofold.report._wording import SCORE_DECIMALS

MEASURES = {
    "auroc": "AUROC",
    "recall_at_1": "recall@1",
    "map_at_r": "MAP@R",
    "one_shot": "one-shot, 20-way",
}
"""Scores that a page shows, by their names in a record."""
N_ERRORS = 2
"""A lead within so many standard errors is none."""


@dataclass(frozen=True, slots=True)
class UnseenSummary:
    """One method of an unseen group; a rival's scores are by the metric best for each.

    Attributes
    ----------
    method, records : str, tuple of RunRecord
        Its name, and its runs by seed.
    seconds : Estimate
        Of fitting, all steps.
    never_seen, seen : mapping of str to Estimate
        Over seeds, by measure: on kinds never seen, and on new items of kinds that were seen.
    """

    method: str
    records: tuple[RunRecord, ...] = field(repr=False)
    seconds: Estimate
    never_seen: Mapping[str, Estimate]
    seen: Mapping[str, Estimate]

    def interval(self, measure: str) -> Interval | None:
        """Return the bootstrap's interval of a score, where there is one seed and it has one."""
        if len(self.records) > 1:
            return None
        by_metric = unseen_scores(self.records[0]).never_seen
        best = max(by_metric, key=lambda scores: scores.find(measure) or 0.0)
        return best.intervals.get(measure)


@dataclass(frozen=True, slots=True)
class UnseenGroup:
    """What was run by one protocol for kinds never seen on one machine.

    Attributes
    ----------
    data_set, machine : str, Machine
        The protocol's name, and where.
    methods : tuple of UnseenSummary
        In the order they are listed in.
    """

    data_set: str
    machine: Machine
    methods: tuple[UnseenSummary, ...]

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """All runs of the group."""
        return tuple(record for summary in self.methods for record in summary.records)

    @property
    def ours(self) -> UnseenSummary | None:
        """The method of ours that stands beside the rivals."""
        named = {summary.method: summary for summary in self.methods}
        return next((named[name] for name in OURS_ON_UNSEEN if name in named), None)

    def ranked_rivals(self, measure: str) -> dict[str, UnseenSummary]:
        """Return the methods that are not Twofold's own by name, the highest mean first."""
        rivals = [
            summary
            for summary in self.methods
            if method_origin(summary.method) != OUR_ORIGIN and measure in summary.never_seen
        ]
        ranked = sorted(rivals, key=lambda rival: -rival.never_seen[measure].mean)
        return {rival.method: rival for rival in ranked}


def summarise_unseen(records: Iterable[RunRecord]) -> tuple[UnseenGroup, ...]:
    """Return the groups of some records: by protocol, then by machine.

    The order of the records makes no difference; a run that stands there twice is refused.
    """
    groups = grouped(records, lambda record: (record.data_set, machine_of(record)))
    ordered = sorted(groups, key=lambda key: (set_order(key[0]), key[1]))
    return tuple(_group(*key, groups[key]) for key in ordered)


def unseen_standings(groups: Iterable[UnseenGroup], measure: str) -> tuple[Standing, ...]:
    """Return a standing for every group where Twofold and a rival were run.

    A difference within two standard errors, of both means together, is no lead.
    """
    found = (_standing(group, measure) for group in groups)
    return tuple(standing for standing in found if standing is not None)


def unseen_scores(record: RunRecord) -> UnseenScores:
    """Return what a record of kinds never seen holds of them."""
    assert record.unseen is not None
    return record.unseen


def _group(data_set: str, machine: Machine, records: Sequence[RunRecord]) -> UnseenGroup:
    methods = grouped(records, lambda record: record.method)
    names = sorted(methods, key=unseen_method_order)
    return UnseenGroup(data_set, machine, tuple(_summary(methods[name]) for name in names))


def _summary(unordered: Sequence[RunRecord]) -> UnseenSummary:
    records = sorted(unordered, key=lambda record: record.seed)
    check_seeds(records)
    scores = [unseen_scores(record) for record in records]
    return UnseenSummary(
        method=records[0].method,
        records=tuple(records),
        seconds=estimate([math.fsum(record.seconds.values()) for record in records]),
        never_seen=_estimates([one.never_seen for one in scores]),
        seen=_estimates([one.seen for one in scores]),
    )


def _estimates(by_seed: Sequence[Sequence[KindScores]]) -> dict[str, Estimate]:
    """Return every measure that all seeds have."""
    values = {name: [best_score(scores, name) for scores in by_seed] for name in MEASURES}
    return {
        name: estimate(measured)
        for name, every in values.items()
        if len(measured := [value for value in every if value is not None]) == len(every)
    }


def _standing(group: UnseenGroup, measure: str) -> Standing | None:
    ours, rival = group.ours, next(iter(group.ranked_rivals(measure).values()), None)
    if ours is None or rival is None or measure not in ours.never_seen:
        return None
    mean, best = ours.never_seen[measure], rival.never_seen[measure]
    lead = round(mean.mean, SCORE_DECIMALS) - round(best.mean, SCORE_DECIMALS)
    error = math.hypot(mean.error or 0.0, best.error or 0.0)
    is_lead = abs(lead) > N_ERRORS * error
    return Standing(
        data_set=group.data_set,
        measure=measure,
        ours=mean.mean,
        rival=rival.method,
        best=best.mean,
        lead=round(lead, SCORE_DECIMALS) if is_lead else 0.0,
    )
