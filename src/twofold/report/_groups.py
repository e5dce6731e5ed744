"""Runs that were made of one set on one machine: what any summary of them has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from twofold.experiments import RunRecord
from twofold.report._titles import Machine


class MeasuredGroup(Protocol):
    """Runs of one set on one machine."""

    @property
    def data_set(self) -> str:
        """The set's name."""

    @property
    def machine(self) -> Machine:
        """Where."""

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """All runs of the group."""


Group = TypeVar("Group", bound=MeasuredGroup)


def by_machine(groups: Sequence[Group]) -> list[tuple[Machine, list[Group]]]:
    """Return the groups of every machine, in their order."""
    machines = sorted({group.machine for group in groups})
    return [(machine, [g for g in groups if g.machine == machine]) for machine in machines]


def leading_groups(groups: Sequence[Group]) -> list[Group]:
    """Return one group per set: the machine with the most runs."""
    chosen: dict[str, Group] = {}
    for group in groups:
        before = chosen.setdefault(group.data_set, group)
        if len(group.records) > len(before.records):
            chosen[group.data_set] = group
    return list(chosen.values())
