"""The report's part on codes: how a gallery is ranked by them, beside the rivals'."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from twofold.experiments import RunRecord
from twofold.report import _wording as wording
from twofold.report._captions import measured_on, notes_on_spread, seeds_note
from twofold.report._groups import by_machine
from twofold.report._summaries import check_seeds, estimate, grouped, machine_of
from twofold.report._table import Cell, Row, RowGroup, Table, best_marked
from twofold.report._titles import Machine, code_method_order, set_order, set_title

TEXT = (
    "Test items are looked for among the training items by codes of bits: mAP is of the 1,000 and "
    "5,000 nearest and of all, precision of what differs in at most two bits, and what is equally "
    "near comes in an order that was drawn once. The real-valued points are as many numbers as the "
    "codes have bits, 32 times as large, from the same network. Networks have the same batches and "
    "epochs for all; boosted trees have their own. Mean ± standard error over seeds; the best "
    "of each column is bold.",
)
MEASURES = {
    "mAP@1000": "map_at_1000",
    "mAP@5000": "map_at_5000",
    "mAP": "mean_average_precision",
    "precision, radius 2": "precision_within_2",
    "5-NN": "neighbours",
}


@dataclass(frozen=True, slots=True)
class CodeGroup:
    """What was run with codes of one length, of one set on one machine."""

    data_set: str
    machine: Machine
    records: tuple[RunRecord, ...] = field(repr=False)

    @property
    def by_method(self) -> dict[str, list[RunRecord]]:
        """The runs of each method by seed, methods in the order they are listed in."""
        methods = grouped(self.records, lambda record: record.method)
        for records in methods.values():
            check_seeds(records)
        return {
            name: sorted(methods[name], key=lambda record: record.seed)
            for name in sorted(methods, key=code_method_order)
        }


def summarise_codes(records: Iterable[RunRecord]) -> tuple[CodeGroup, ...]:
    """Return the groups of some records: by set and length, then by machine."""
    groups = grouped(records, lambda record: (record.data_set, machine_of(record)))
    ordered = sorted(groups, key=lambda key: (set_order(key[0]), key[1]))
    return tuple(CodeGroup(*key, tuple(groups[key])) for key in ordered)


def code_tables(groups: Sequence[CodeGroup]) -> tuple[Table, ...]:
    """Return a table a machine: the scores of every method by set and length."""
    return tuple(
        Table(
            f"Codes, {machine.short}",
            (*MEASURES, "seconds"),
            tuple(map(_row_group, there)),
            measured_on(there),
            notes_on_spread(there),
        )
        for machine, there in by_machine(groups)
    )


def _row_group(group: CodeGroup) -> RowGroup:
    methods = group.by_method
    columns = [
        best_marked([_score(records, name) for records in methods.values()])
        for name in MEASURES.values()
    ]
    columns.append([_seconds(records) for records in methods.values()])
    rows = tuple(
        Row(
            name,
            tuple(column[number] for column in columns),
            seeds_note(methods[name], group.records),
        )
        for number, name in enumerate(methods)
    )
    return RowGroup(rows, set_title(group.data_set), _what_was_run(group))


def _what_was_run(group: CodeGroup) -> str:
    """Return how many items were searched for, and among how many."""
    first = group.records[0]
    epochs = {
        record.configuration.get("protocol", {}).get("n_epochs") for record in group.records
    } - {None}
    trained = f", {wording.counted(sorted(epochs))} epochs" if epochs else ""
    return f"{first.data['n_test']:,} items looked for among {first.data['n_train']:,}{trained}."


def _score(records: Sequence[RunRecord], name: str) -> tuple[Cell, float | None]:
    every = [getattr(record.codes, name) for record in records]
    values = [value for value in every if value is not None]
    if not values:
        return Cell(), None
    mean = estimate(values)
    return Cell(*wording.score_error(mean)), mean.mean


def _seconds(records: Sequence[RunRecord]) -> Cell:
    seconds = estimate([math.fsum(record.seconds.values()) for record in records])
    return Cell(*wording.seconds_error(seconds))
