"""Run records in, statistics of every set, machine and method out.

A *run group* is what was run of one set on one machine: within it seconds can be compared.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from scipy.special import stdtrit

from twofold.experiments import PROTOCOLS, RunRecord
from twofold.report._titles import Machine, method_order, set_order

CONFIDENCE = 0.95
PAPER_DECIMALS = 3
"""The paper's scores have so many: what is less is no difference."""

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Estimate:
    """Some values in short.

    Attributes
    ----------
    n, mean : int, float
        Number of values, and their mean.
    deviation : float or None
        Their sample standard deviation; None for one value.
    half_width : float or None
        Of the 95 % interval of the mean, t(0.975, n - 1) · deviation / √n; None for one value.
    """

    n: int
    mean: float
    deviation: float | None = None
    half_width: float | None = None

    @property
    def error(self) -> float | None:
        """The standard error of the mean, deviation / √n; None for one value."""
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and spread of at least one value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(n, mean)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    t = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return Estimate(n, mean, deviation, t * deviation / math.sqrt(n))


@dataclass(frozen=True, slots=True)
class MeanCurve:
    """AUROC against seconds, over seeds, at the epochs that all seeds were evaluated at.

    Attributes
    ----------
    epochs : tuple of int
        Where.
    seconds, auroc : tuple of float
        Means over seeds.
    lowest, highest : tuple of float
        AUROC of the worst and the best seed.
    """

    epochs: tuple[int, ...]
    seconds: tuple[float, ...]
    auroc: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    def seconds_to_reach(self, auroc: float) -> float | None:
        """Return when the mean first is at least `auroc`, None if it never is."""
        for seconds, reached in zip(self.seconds, self.auroc, strict=True):
            if reached >= auroc:
                return seconds
        return None


def mean_curve(records: Sequence[RunRecord]) -> MeanCurve | None:
    """Return the curve of one method's runs, None if there is no epoch in common."""
    curves = [{point.epoch: point for point in record.curve} for record in records]
    epochs = sorted(set.intersection(*(set(curve) for curve in curves)))
    if not epochs:
        return None
    points = [[curve[epoch] for curve in curves] for epoch in epochs]
    return MeanCurve(
        epochs=tuple(epochs),
        seconds=tuple(estimate([p.seconds for p in seeds]).mean for seeds in points),
        auroc=tuple(estimate([p.auroc for p in seeds]).mean for seeds in points),
        lowest=tuple(min(p.auroc for p in seeds) for seeds in points),
        highest=tuple(max(p.auroc for p in seeds) for seeds in points),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A score beside the paper's: the difference is of the paper's precision."""

    paper: float
    difference: float


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """One method in a run group.

    Attributes
    ----------
    method, records : str, tuple of RunRecord
        Its name, and its runs by seed.
    seconds : Estimate
        Of both phases.
    targets_seconds : Estimate or None
        Of phase 1 alone, over all times it was measured.
    speed_up : float or None
        The paper's seconds of phase 1 over ours.
    auroc, neighbours, map_at_r : Estimate or None
        Over seeds; None where there was phase 1 only.
    comparison : Comparison or None
        The neighbours' score beside the paper's.
    neighbour_metrics : tuple of str
        How nearness was measured, without repetition.
    epochs : tuple of int
        Those chosen, one a seed; empty for a method without epochs.
    curve : MeanCurve or None
        AUROC against seconds.
    """

    method: str
    records: tuple[RunRecord, ...] = field(repr=False)
    seconds: Estimate
    targets_seconds: Estimate | None
    speed_up: float | None
    auroc: Estimate | None
    neighbours: Estimate | None
    map_at_r: Estimate | None
    comparison: Comparison | None
    neighbour_metrics: tuple[str, ...]
    epochs: tuple[int, ...]
    curve: MeanCurve | None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds it was run with."""
        return tuple(record.seed for record in self.records)


@dataclass(frozen=True, slots=True)
class RunGroup:
    """What was run of one set on one machine.

    Attributes
    ----------
    data_set : str
        The set's name.
    machine : Machine
        Where.
    score : {"accuracy", "jaccard"}
        What its neighbours' score is.
    methods : tuple of MethodSummary
        In the order they are listed in.
    """

    data_set: str
    machine: Machine
    score: str
    methods: tuple[MethodSummary, ...]

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """All runs of the group."""
        return tuple(record for summary in self.methods for record in summary.records)

    @property
    def scored(self) -> tuple[MethodSummary, ...]:
        """The methods that went through both phases."""
        return tuple(summary for summary in self.methods if summary.auroc is not None)

    def find(self, method: str) -> MethodSummary | None:
        """Return a method's summary, None if it was not run."""
        return next((s for s in self.methods if s.method == method), None)


def summarise(records: Iterable[RunRecord]) -> tuple[RunGroup, ...]:
    """Return the run groups of some records: by set, then by machine.

    The order of the records makes no difference; a run that stands there twice is refused.
    """
    groups = grouped(records, lambda record: (record.data_set, machine_of(record)))
    ordered = sorted(groups, key=lambda key: (set_order(key[0]), key[1]))
    return tuple(_run_group(*key, groups[key]) for key in ordered)


def machine_of(record: RunRecord) -> Machine:
    """Return where a record was made; versions are no part of a machine."""
    facts = record.machine
    processor = facts.get("processor", "unknown processor")
    hardware = f"{processor}, {facts.get('cores', '?')} cores"
    system = facts.get("system", "unknown system")
    if record.device.startswith("cuda"):
        return Machine("cuda", facts.get("gpu", "unknown GPU"), f"{hardware}, {system}")
    return Machine("cpu", hardware, system)


def paper_seconds(data_set: str, method: str) -> float | None:
    """Return the paper's seconds of phase 1, None where it has none."""
    paper = PROTOCOLS[data_set].paper if data_set in PROTOCOLS else None
    return None if paper is None else paper.targets_seconds.get(method)


def compare_with_paper(data_set: str, method: str, score: float) -> Comparison | None:
    """Return a neighbours' score beside the paper's, None where it has none."""
    paper = PROTOCOLS[data_set].paper if data_set in PROTOCOLS else None
    if paper is None or method not in paper.neighbours:
        return None
    figure = paper.neighbours[method]
    # Adding zero turns a negative zero into a plain one.
    return Comparison(figure, round(score - figure, PAPER_DECIMALS) + 0.0)


def _run_group(data_set: str, machine: Machine, records: Sequence[RunRecord]) -> RunGroup:
    methods = grouped(records, lambda record: record.method)
    return RunGroup(
        data_set,
        machine,
        records[0].score,
        tuple(_method_summary(methods[name]) for name in sorted(methods, key=method_order)),
    )


def _method_summary(unordered: Sequence[RunRecord]) -> MethodSummary:
    records = sorted(unordered, key=lambda record: record.seed)
    check_seeds(records)
    data_set, method = records[0].data_set, records[0].method
    timed = [seconds for record in records for seconds in record.targets_seconds]
    targets_seconds = estimate(timed) if timed else None
    paper = paper_seconds(data_set, method)
    scores = [record.scores for record in records if record.scores is not None]
    neighbours = estimate([s.neighbours for s in scores]) if scores else None
    ranked = [s.retrieval["map_at_r"] for s in scores if "map_at_r" in s.retrieval]
    return MethodSummary(
        method=method,
        records=tuple(records),
        seconds=estimate([math.fsum(record.seconds.values()) for record in records]),
        targets_seconds=targets_seconds,
        speed_up=paper / targets_seconds.mean
        if paper is not None and targets_seconds is not None and targets_seconds.mean > 0
        else None,
        auroc=estimate([s.auroc for s in scores]) if scores else None,
        neighbours=neighbours,
        map_at_r=estimate(ranked) if ranked else None,
        comparison=None
        if neighbours is None
        else compare_with_paper(data_set, method, neighbours.mean),
        neighbour_metrics=tuple(sorted({s.neighbour_metric for s in scores})),
        epochs=tuple(s.epoch for s in scores if s.epoch is not None),
        curve=mean_curve(records),
    )


def check_seeds(records: Sequence[RunRecord]) -> None:
    """Refuse a seed that stands twice, and seeds that were run by different protocols."""
    for earlier, later in pairwise(records):
        if earlier.seed == later.seed:
            raise ValueError(
                f"{later.method} on {later.data_set} with seed {later.seed} occurs twice in the "
                f"records of {machine_of(later).short}: keep one of them."
            )
        if _without_seed(earlier) != _without_seed(later):
            raise ValueError(
                f"{later.method} on {later.data_set} was run with other settings for seed "
                f"{later.seed} than for seed {earlier.seed}: they cannot be averaged; run one of "
                "them again."
            )


def _without_seed(record: RunRecord) -> dict[str, Any]:
    """Return a run's settings but for what follows its seed."""
    settings = dict(record.configuration)
    parameters = {
        name: value
        for name, value in settings.get("parameters", {}).items()
        if name.rpartition("__")[2] != "random_state"
    }
    return settings | {"parameters": parameters}


def grouped(
    records: Iterable[RunRecord], key: Callable[[RunRecord], Key]
) -> dict[Key, list[RunRecord]]:
    """Return the records of every key."""
    groups: dict[Key, list[RunRecord]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return dict(groups)
