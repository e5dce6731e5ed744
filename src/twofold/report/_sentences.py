"""Sentences whose figures come from the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twofold.report import _wording as wording
from twofold.report._arrivals import Arrival, arrivals, siamese_finish
from twofold.report._groups import by_machine, leading_groups
from twofold.report._standings import Standing, standings
from twofold.report._summaries import MethodSummary, RunGroup, paper_seconds
from twofold.report._titles import SCORES, method_title, set_title

LEADING = "fml-c"
"""The method that the findings follow: the paper's first."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure to be seen first, and what it is."""

    figure: str
    text: str


def findings(groups: Sequence[RunGroup]) -> tuple[str, ...]:
    """Return what the records show of phase 1 and of each set with one label per item."""
    single = [group for group in leading_groups(groups) if group.score == "accuracy"]
    return tuple(filter(None, [_phase_1_sentence(groups), *map(_set_sentence, single)]))


def facts(groups: Sequence[RunGroup]) -> tuple[Fact, ...]:
    """Return up to three figures: phase 1, time to the Siamese network's level, neighbours."""
    single = [g for g in leading_groups(groups) if g.score == "accuracy" and g.find(LEADING)]
    found = [_phase_1_fact(groups)]
    if single:
        found += [_arrival_fact(single[0]), _neighbours_fact(single[0])]
    return tuple(fact for fact in found if fact is not None)


def standing_sentences(groups: Sequence[RunGroup]) -> tuple[str, ...]:
    """Return where Twofold is ahead of every rival, and where not, by each score and machine."""
    several = len(by_machine(groups)) > 1
    return tuple(
        standing_sentence(found, name, machine.short if several else "")
        for machine, there in by_machine(groups)
        for found, name in (
            (standings(there, "auroc"), "AUROC"),
            (standings(there, "neighbours"), SCORES["jaccard"]),
        )
        if found
    )


def phase_1_only_sentence(group: RunGroup) -> str:
    """Return the seconds of phase 1 where there is nothing else."""
    times = [
        f"{method_title(s.method)} "
        f"{wording.with_spread(*wording.seconds_interval(s.targets_seconds))} s{_paper(s)}"
        for s in group.methods
        if s.targets_seconds is not None
    ]
    return f"On {group.machine.short}: {wording.listing(times)}." if times else ""


def _paper(summary: MethodSummary) -> str:
    figure = paper_seconds(summary.records[0].data_set, summary.method)
    return "" if figure is None else f" (the paper: {figure:.2f} s)"


def _speed_ups(groups: Sequence[RunGroup]) -> list[MethodSummary]:
    return [s for group in groups for s in group.methods if s.speed_up is not None]


def _phase_1_sentence(groups: Sequence[RunGroup]) -> str:
    """Return the range of speed-ups on every kind of hardware, whatever it sits in."""
    kinds: dict[str, list[RunGroup]] = {}
    for machine, there in by_machine(groups):
        kinds.setdefault(machine.short, []).extend(there)
    parts = [
        f"{_span(timed)} times as fast on {kind} ({_sets_of(timed)})"
        for kind, there in kinds.items()
        if (timed := _speed_ups(there))
    ]
    return f"Phase 1 of FML is, beside the paper's seconds, {'; '.join(parts)}." if parts else ""


def _span(timed: Sequence[MethodSummary]) -> str:
    slowest, fastest = _extremes(timed)
    return slowest if slowest == fastest else f"{slowest} to {fastest}"


def _sets_of(timed: Sequence[MethodSummary]) -> str:
    return wording.listing([*dict.fromkeys(set_title(s.records[0].data_set) for s in timed)])


def _extremes(found: Sequence[MethodSummary]) -> tuple[str, str]:
    values = [s.speed_up for s in found if s.speed_up is not None]
    return wording.times(min(values)), wording.times(max(values))


def _set_sentence(group: RunGroup) -> str:
    """Return how soon and how well the leading method learns one set."""
    summary = group.find(LEADING)
    if summary is None or summary.neighbours is None:
        return ""
    name = method_title(LEADING)
    neighbours = f"{SCORES[group.score]} {summary.neighbours.mean:.3f}"
    if summary.comparison is not None:
        neighbours += f" (the paper: {summary.comparison.paper:.3f})"
    arrival, finish = _leading_arrival(group), siamese_finish(group)
    where = f"On {set_title(group.data_set)}"
    if arrival is None or finish is None:
        return f"{where} {name} has {neighbours}."
    if arrival.of_whole is None:
        return (
            f"{where} {name} does not reach the Siamese network's final AUROC "
            f"({wording.score(arrival.best)} against {wording.score(finish.auroc)}); {neighbours}."
        )
    return (
        f"{where} {name} reaches the Siamese network's final AUROC in "
        f"{wording.share(arrival.of_whole)} of its training time; {neighbours}."
    )


def _leading_arrival(group: RunGroup) -> Arrival | None:
    return next((a for a in arrivals(group) if a.method == LEADING), None)


def standing_sentence(found: Sequence[Standing], name: str, where: str) -> str:
    """Return where Twofold is ahead by one score, where level and where behind."""
    kinds = (
        ("ahead of every rival on", [s for s in found if s.lead > 0]),
        ("level with the best rival on", [s for s in found if s.lead == 0]),
        ("behind on", [s for s in found if s.lead < 0]),
    )
    parts = [
        f"{words} {wording.listing([describe_standing(s) for s in those])}"
        for words, those in kinds
        if those
    ]
    place = f" on {where}" if where else ""
    return f"By {name}{place} Twofold is {'; '.join(parts)}."


def describe_standing(standing: Standing) -> str:
    """Return the set, our mean and the best rival's."""
    return (
        f"{set_title(standing.data_set)} ({wording.score(standing.ours)}, "
        f"{method_title(standing.rival)} {wording.score(standing.best)})"
    )


def _phase_1_fact(groups: Sequence[RunGroup]) -> Fact | None:
    found = _speed_ups(groups)
    if not found:
        return None
    slowest, fastest = _extremes(found)
    figure = f"{slowest}×" if slowest == fastest else f"{slowest}–{fastest}×"
    return Fact(
        figure,
        "as fast as in the paper: phase 1 of FML, over all sets and machines, sampling of pairs "
        "included",
    )


def _arrival_fact(group: RunGroup) -> Fact | None:
    arrival = _leading_arrival(group)
    if arrival is None:
        return None
    name, where = method_title(LEADING), set_title(group.data_set)
    if arrival.of_whole is None:
        return Fact("not reached", f"the Siamese network's final AUROC, by {name} on {where}")
    return Fact(
        wording.share(arrival.of_whole),
        f"of the Siamese network's training time: what {name} needs for the same AUROC on {where}",
    )


def _neighbours_fact(group: RunGroup) -> Fact | None:
    summary = group.find(LEADING)
    if summary is None or summary.neighbours is None:
        return None
    paper = summary.comparison
    beside = "" if paper is None else f"; {paper.paper:.3f} in the paper"
    return Fact(
        f"{summary.neighbours.mean:.3f}",
        f"{SCORES[group.score]} of {method_title(LEADING)} on {set_title(group.data_set)}{beside}",
    )
