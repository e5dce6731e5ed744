"""The report's part on kinds never seen: what is said of it, and its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twofold.report import _wording as wording
from twofold.report._captions import measured_on, notes_on_spread, seeds_note
from twofold.report._groups import by_machine, leading_groups
from twofold.report._sentences import describe_standing, standing_sentence
from twofold.report._summaries import Estimate
from twofold.report._table import Cell, Row, RowGroup, Table, best_marked
from twofold.report._titles import UNTRAINED, set_title
from twofold.report._unseen_summaries import (
    MEASURES,
    UnseenGroup,
    UnseenSummary,
    unseen_scores,
    unseen_standings,
)

TEXT = (
    "Every method is trained on some kinds of a set and scored on others, whose items are searched "
    "for among themselves. All have the same network, batches and epochs. A rival has 512 "
    "components and, for each score, the best of its own metric, Euclidean distance and cosine on "
    "the test part, which favours it; Twofold is compared by its own metric alone.",
    "Mean ± standard error over seeds; with one seed, a bootstrap's 95 % interval stands below "
    "where there is one. AUROC is over all pairs, seconds are of fitting, all steps. The best of "
    "each column is bold. What is said of Twofold is said of its first row; it is level where the "
    "difference is within two standard errors.",
)
IN_SENTENCES = ("auroc", "recall_at_1", "map_at_r")


def unseen_sentences(groups: Sequence[UnseenGroup]) -> tuple[str, ...]:
    """Return where Twofold is ahead of every rival, level or behind, by each score and machine."""
    several = len(by_machine(groups)) > 1
    return tuple(
        standing_sentence(found, MEASURES[measure], machine.short if several else "")
        for machine, there in by_machine(groups)
        for measure in IN_SENTENCES
        if (found := unseen_standings(there, measure))
    )


def unseen_conclusion(groups: Sequence[UnseenGroup]) -> str:
    """Return in one sentence on how many sets Twofold is as good as any, and where it is not."""
    found = unseen_standings(leading_groups(groups), "map_at_r")
    if not found:
        return ""
    behind = [describe_standing(standing) for standing in found if standing.lead < 0]
    short = f"; it falls short on {wording.listing(behind)}" if behind else ""
    return (
        "Among things of kinds that were not in the training, Twofold finds the alike as well as "
        "its best rival or better, by MAP@R within two standard errors, on "
        f"{wording.of_all(len(found) - len(behind), len(found), 'split')}{short}."
    )


def unseen_tables(groups: Sequence[UnseenGroup]) -> tuple[Table, ...]:
    """Return a table a machine: the scores of every method by protocol."""
    return tuple(
        _table(f"Kinds never seen, {machine.short}", there) for machine, there in by_machine(groups)
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, what it holds of a method, and how that is shown."""

    title: str
    value: Callable[[UnseenSummary], Estimate | None]
    show: Callable[[UnseenSummary, Estimate], Cell]
    is_time: bool = False


def _columns() -> tuple[Column, ...]:
    scores = (_score_column(measure, title) for measure, title in MEASURES.items())
    seen = Column(
        "recall@1, kinds seen",
        lambda summary: summary.seen.get("recall_at_1"),
        lambda _, value: Cell(*wording.score_error(value)),
    )
    seconds = Column("seconds", lambda summary: summary.seconds, _seconds_cell, is_time=True)
    return (*scores, seen, seconds)


def _score_column(measure: str, title: str) -> Column:
    def show(summary: UnseenSummary, value: Estimate) -> Cell:
        interval = summary.interval(measure)
        note = "" if interval is None else "{:.3f}–{:.3f}".format(*interval)
        return Cell(*wording.score_error(value), note=note)

    return Column(title, lambda summary: summary.never_seen.get(measure), show)


def _seconds_cell(summary: UnseenSummary, value: Estimate) -> Cell:
    return Cell("none") if summary.method in UNTRAINED else Cell(*wording.seconds_error(value))


def _table(title: str, groups: Sequence[UnseenGroup]) -> Table:
    columns = [
        column
        for column in _columns()
        if any(column.value(s) is not None for group in groups for s in group.methods)
    ]
    return Table(
        title,
        tuple(column.title for column in columns),
        tuple(_row_group(group, columns) for group in groups),
        measured_on(groups),
        notes_on_spread(groups),
    )


def _row_group(group: UnseenGroup, columns: Sequence[Column]) -> RowGroup:
    cells = [best_marked([_cell(column, s) for s in group.methods]) for column in columns]
    rows = tuple(
        Row(
            summary.method,
            tuple(column[number] for column in cells),
            seeds_note(summary.records, group.records),
        )
        for number, summary in enumerate(group.methods)
    )
    return RowGroup(rows, set_title(group.data_set), _what_was_run(group))


def _what_was_run(group: UnseenGroup) -> str:
    """Return which kinds were trained on, how long, and which were scored."""
    record = group.records[0]
    scores, data = unseen_scores(record), record.data
    protocols = [run.configuration.get("protocol", {}) for run in group.records]
    epochs = [protocol["n_epochs"] for protocol in protocols if "n_epochs" in protocol]
    trained = f", {wording.counted(epochs)} epochs" if epochs else ""
    return (
        f"Trained on {scores.trained_on}: {data['n_labels']:,} kinds, {data['n_train']:,} items"
        f"{trained}. "
        f"Scored on {scores.tested_on}: {data['n_test_labels']:,} kinds, {data['n_test']:,} items."
    )


def _cell(column: Column, summary: UnseenSummary) -> tuple[Cell, float | None]:
    """Return a cell with what decides the best of its column, large is good."""
    value = column.value(summary)
    if value is None:
        return Cell(), None
    if not column.is_time:
        return column.show(summary, value), value.mean
    return column.show(summary, value), None if summary.method in UNTRAINED else -value.mean
