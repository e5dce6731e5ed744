"""What stands under a table: machine, versions, seeds, state of the code, day and items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twofold.experiments import RunRecord
from twofold.report import _wording as wording
from twofold.report._groups import MeasuredGroup
from twofold.report._titles import ALIGNED_NOTE, ALIGNED_PUBFIG83, set_title

NOT_VERSIONS = ("processor", "cores", "system", "gpu")
COUNTS = (("n_train", "training"), ("n_validation", "validation"), ("n_test", "test"))


def measured_on(groups: Sequence[MeasuredGroup]) -> str:
    """Return what figures of one machine stand on: the same groups, the same words."""
    records = [record for group in groups for record in group.records]
    seeds = sorted({record.seed for record in records})
    facts = [
        groups[0].machine.full,
        _versions(records),
        f"{'seeds' if len(seeds) > 1 else 'seed'} {wording.ranges(seeds)}",
        f"commit {_several(record.commit for record in records)}",
        _several(record.measured for record in records),
    ]
    items = "; ".join(f"{set_title(group.data_set)} {_items(group)}" for group in groups)
    return f"{'; '.join(filter(None, facts))}. Items: {items}."


def notes_on(groups: Sequence[MeasuredGroup]) -> tuple[str, ...]:
    """Return what must be known to read the sets' figures."""
    return (ALIGNED_NOTE,) if any(map(is_aligned_pubfig83, groups)) else ()


def is_aligned_pubfig83(group: MeasuredGroup) -> bool:
    """Whether a group is of the aligned PubFig83, which is not quite the paper's."""
    return group.data_set == "pubfig83" and any(
        record.data["n_train"] + record.data["n_validation"] == ALIGNED_PUBFIG83
        for record in group.records
    )


def notes_on_spread(groups: Sequence[MeasuredGroup]) -> tuple[str, ...]:
    """Return the same, and where a mean over seeds is of one seed only."""
    alone = [set_title(g.data_set) for g in groups if len({r.seed for r in g.records}) == 1]
    if not alone:
        return notes_on(groups)
    return (*notes_on(groups), f"One seed only, so no spread: {wording.listing(alone)}.")


def seeds_note(records: Iterable[RunRecord], every: Iterable[RunRecord]) -> str:
    """Return a method's seeds where they are not those of all."""
    seeds = {record.seed for record in records}
    is_everyone = seeds == {record.seed for record in every}
    return "" if is_everyone else f"seeds {wording.ranges(sorted(seeds))}"


def _versions(records: Sequence[RunRecord]) -> str:
    names = dict.fromkeys(name for record in records for name in sorted(record.machine))
    return ", ".join(
        f"{name} {_several(r.machine[name] for r in records if name in r.machine)}"
        for name in sorted(names)
        if name not in NOT_VERSIONS
    )


def _items(group: MeasuredGroup) -> str:
    """Return how many items and pairs there were."""
    counts = {
        name: [record.data[name] for record in group.records]
        for name, _ in (*COUNTS, ("n_pairs", ""))
    }
    parts = [f"{wording.counted(counts[n])} {word}" for n, word in COUNTS if any(counts[n])]
    pairs = f" ({wording.counted(counts['n_pairs'])} pairs)" if any(counts["n_pairs"]) else ""
    return ", ".join([parts[0] + pairs, *parts[1:]]) if parts else "none"


def _several(values: Iterable[str]) -> str:
    return " / ".join(sorted(set(values)))
