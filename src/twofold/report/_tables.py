"""The tables of a report, made from summaries: how figures are worded, which is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twofold.report import _wording as wording
from twofold.report._arrivals import Arrival, arrivals, siamese_finish
from twofold.report._captions import measured_on, notes_on, notes_on_spread, seeds_note
from twofold.report._groups import by_machine
from twofold.report._standings import Measure, measured
from twofold.report._summaries import (
    PAPER_DECIMALS,
    Comparison,
    Estimate,
    MethodSummary,
    RunGroup,
    paper_seconds,
)
from twofold.report._table import Cell, Row, RowGroup, Table, best_marked
from twofold.report._titles import (
    SCORES,
    UNTRAINED,
    method_order,
    set_title,
)


def phase_1_tables(groups: Sequence[RunGroup]) -> tuple[Table, ...]:
    """Return a table a machine: seconds of phase 1 by set, beside the paper's."""
    timed = [g for g in groups if any(s.targets_seconds is not None for s in g.methods)]
    return tuple(
        Table(
            f"Seconds of phase 1, {machine.short}",
            ("seconds, mean ± 95 % interval", "runs", "the paper's seconds", "ours"),
            tuple(
                RowGroup(
                    tuple(_phase_1_row(g, s) for s in g.methods if s.targets_seconds is not None),
                    set_title(g.data_set),
                )
                for g in there
            ),
            measured_on(there),
            notes_on(there),
        )
        for machine, there in by_machine(timed)
    )


def result_table(group: RunGroup) -> Table:
    """Return the scores of every method on one set and machine."""
    columns = [
        Column("AUROC", lambda s: _mean(s.auroc), lambda s: _score_cell(s.auroc)),
        Column(
            SCORES[group.score], lambda s: _mean(s.neighbours), lambda s: _score_cell(s.neighbours)
        ),
        Column("the paper's", None, lambda s: _paper_cell(s.comparison)),
        Column("nearness", None, lambda s: Cell(wording.listing(s.neighbour_metrics))),
        Column("MAP@R", lambda s: _mean(s.map_at_r), lambda s: _score_cell(s.map_at_r)),
        Column("epoch", None, lambda s: Cell(wording.span(s.epochs)) if s.epochs else Cell()),
        Column(
            "seconds",
            lambda s: None if s.method in UNTRAINED else -s.seconds.mean,
            lambda s: Cell("none" if s.method in UNTRAINED else wording.seconds(s.seconds.mean)),
        ),
    ]
    unneeded = {
        "the paper's": all(summary.comparison is None for summary in group.scored),
        "nearness": all(s.neighbour_metrics == ("euclidean",) for s in group.scored),
    }
    columns = [column for column in columns if not unneeded.get(column.title)]
    return Table(
        f"{set_title(group.data_set)}, {group.machine.short}",
        tuple(column.title for column in columns),
        (RowGroup(_filled(group, columns)),),
        measured_on([group]),
        notes_on_spread([group]),
    )


def arrival_tables(groups: Sequence[RunGroup]) -> tuple[Table, ...]:
    """Return a table a machine: seconds to the Siamese network's final AUROC, by set."""
    return tuple(
        Table(
            f"Time to the Siamese network's final AUROC, {machine.short}",
            (
                "seconds",
                "of its whole training",
                "of its own time to get there",
                "of its whole training, seed by seed",
            ),
            tuple(_arrival_rows(group) for group in there),
            measured_on(there),
            notes_on(there),
        )
        for machine, there in by_machine([group for group in groups if siamese_finish(group)])
    )


def overview_tables(groups: Sequence[RunGroup], measure: Measure) -> tuple[Table, ...]:
    """Return a table a machine: one score of every method on every multi-label set."""
    title = "AUROC" if measure == "auroc" else SCORES["jaccard"]
    return tuple(
        Table(
            f"{title}, {machine.short}",
            tuple(set_title(group.data_set) for group in there),
            (RowGroup(_overview_rows(there, measure)),),
            measured_on(there),
            notes_on_spread(there),
        )
        for machine, there in by_machine(groups)
    )


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is filled: what decides the best of it, large is good, and what is shown."""

    title: str
    goodness: Callable[[MethodSummary], float | None] | None
    show: Callable[[MethodSummary], Cell]


def _filled(group: RunGroup, columns: Sequence[Column]) -> tuple[Row, ...]:
    cells = [_filled_column(group.scored, column) for column in columns]
    return tuple(
        Row(
            summary.method,
            tuple(column[number] for column in cells),
            seeds_note(summary.records, [r for s in group.scored for r in s.records]),
        )
        for number, summary in enumerate(group.scored)
    )


def _filled_column(methods: Sequence[MethodSummary], column: Column) -> list[Cell]:
    """Return the cells of a column, the best of them marked."""
    if column.goodness is None:
        return [column.show(summary) for summary in methods]
    return best_marked([(column.show(summary), column.goodness(summary)) for summary in methods])


def _phase_1_row(group: RunGroup, summary: MethodSummary) -> Row:
    value, paper = summary.targets_seconds, paper_seconds(group.data_set, summary.method)
    assert value is not None
    return Row(
        summary.method,
        (
            Cell(*wording.seconds_interval(value), note="" if value.n > 1 else "no interval"),
            Cell(str(value.n)),
            Cell() if paper is None else Cell(f"{paper:.2f}"),
            Cell() if summary.speed_up is None else Cell(wording.speed_up(summary.speed_up)),
        ),
    )


def _arrival_rows(group: RunGroup) -> RowGroup:
    finish, each = siamese_finish(group), arrivals(group)
    assert finish is not None
    columns = map(best_marked, zip(*map(_arrival_cells, each), strict=True))
    return RowGroup(
        tuple(
            Row(a.method, cells) for a, cells in zip(each, zip(*columns, strict=True), strict=True)
        ),
        set_title(group.data_set),
        f"The Siamese network ends at {wording.score(finish.auroc)} after "
        f"{wording.seconds(finish.seconds)} s and first is there after "
        f"{wording.seconds(finish.arrival)} s.",
    )


def _arrival_cells(arrival: Arrival) -> tuple[tuple[Cell, float | None], ...]:
    """Return a row's cells, each with what decides the best of its column: the soonest."""
    by_seed = (
        Cell(f"{arrival.n_reached} of {arrival.n_seeds} seeds")
        if arrival.of_whole_by_seed is None
        else Cell(wording.share(arrival.of_whole_by_seed))
    )
    seconds = (
        Cell("not reached", note=f"best {wording.score(arrival.best)}")
        if arrival.seconds is None
        else Cell(wording.seconds(arrival.seconds))
    )
    return (
        (seconds, _earliness(arrival.seconds)),
        (_share_cell(arrival.of_whole), _earliness(arrival.of_whole)),
        (_share_cell(arrival.of_arrival), _earliness(arrival.of_arrival)),
        (by_seed, _earliness(arrival.of_whole_by_seed)),
    )


def _earliness(time: float | None) -> float | None:
    return None if time is None else -time


def _share_cell(share: float | None) -> Cell:
    return Cell() if share is None else Cell(wording.share(share))


def _overview_rows(groups: Sequence[RunGroup], measure: Measure) -> tuple[Row, ...]:
    names = sorted({s.method for group in groups for s in group.scored}, key=method_order)
    column = Column(
        "", lambda s: _mean(measured(s, measure)), lambda s: _score_cell(measured(s, measure))
    )
    cells = [
        dict(
            zip(
                (summary.method for summary in group.scored),
                _filled_column(group.scored, column),
                strict=True,
            )
        )
        for group in groups
    ]
    return tuple(Row(name, tuple(there.get(name, Cell()) for there in cells)) for name in names)


def _mean(value: Estimate | None) -> float | None:
    return None if value is None else value.mean


def _score_cell(value: Estimate | None) -> Cell:
    return Cell() if value is None else Cell(*wording.score_spread(value))


def _paper_cell(comparison: Comparison | None) -> Cell:
    if comparison is None:
        return Cell()
    figure = f"{comparison.paper:.{PAPER_DECIMALS}f}"
    if comparison.difference == 0:
        return Cell(figure, verdict="equal")
    return Cell(
        figure,
        verdict="better" if comparison.difference > 0 else "worse",
        difference=wording.signed(comparison.difference, PAPER_DECIMALS),
    )
