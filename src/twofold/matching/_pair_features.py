"""The features of a pair of records: similarities of each column, and of all columns joined.

`fit_comparison` counts how rare words are in the tables; a `Comparison` then prepares tables and
compares pairs of their rows. Nothing here knows which pairs are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twofold._core.threads import Workers, allowed_threads
from twofold.matching._columns import Column, ColumnKind, read_column, tell_kind
from twofold.matching._competition import COMPETITION_NAMES, N_COMPETITORS, compete
from twofold.matching._directions import orderless, orderless_names
from twofold.matching._forest import LARGEST
from twofold.matching._neighbours import Neighbours, nearest_records
from twofold.matching._set_similarities import (
    SET_NAMES,
    Rarity,
    WeightedSets,
    compare_sets,
    fit_rarity,
    weigh,
)
from twofold.matching._spelling import SPELLING_NAMES, compare_spelling
from twofold.matching._texts import Texts, cut_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow

SETS = ("words", "codes_with_digits", "numbers", "grams")
COMPETING = ("words", "grams")
"""The codes by whose cosine a pair is compared with other partners of its records."""
JOINED = "*"
"""The name of all columns, joined."""
PAIRS_A_PART = 4096
"""Pairs that a thread compares at a time."""
NUMBER_NAMES = ("relative difference", "log ratio", "difference")


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """A column that is compared: its name and kind."""

    name: str
    kind: ColumnKind

    @property
    def competes(self) -> bool:
        """Whether a pair is also compared with other partners of its records."""
        return self.kind in ("text", "category")


@dataclass(frozen=True, slots=True, eq=False)
class CutTable:
    """The distinct records of a table, cut: texts and numbers by column, and each row's record."""

    columns: dict[str, tuple[Texts, NDArray[np.float64] | None]]
    record: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedColumn:
    """A column cut and weighed."""

    texts: Texts
    sets: dict[str, WeightedSets]
    numbers: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTables:
    """Two tables whose rows can be compared; one and the same where there is but one.

    Attributes
    ----------
    left, right : dict
        By name, the columns of either, of distinct records.
    left_record, right_record : ndarray of int64, shape (n_rows,)
        The record that each row of a table is: rows that say the same are one.
    of_left, of_right : dict
        By column and kind of code, the nearest right records of every left one, and the reverse.
    """

    left: dict[str, PreparedColumn]
    right: dict[str, PreparedColumn]
    left_record: NDArray[np.int64]
    right_record: NDArray[np.int64]
    of_left: dict[tuple[str, str], Neighbours]
    of_right: dict[tuple[str, str], Neighbours]

    def records(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the records that pairs of rows are about."""
        return np.column_stack([self.left_record[pairs[:, 0]], self.right_record[pairs[:, 1]]])


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """How rows are compared.

    Attributes
    ----------
    plans : tuple of ColumnPlan
        The columns, with all of them joined as the last.
    rarity : dict
        By column and kind of code, how rare a code is.
    one_table : bool
        Whether pairs are of rows of one table, so that their order does not matter.
    """

    plans: tuple[ColumnPlan, ...]
    rarity: dict[tuple[str, str], Rarity]
    one_table: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table has to have."""
        return tuple(plan.name for plan in self.plans if plan.name != JOINED)

    def prepare(self, left: pyarrow.Table, right: pyarrow.Table | None) -> PreparedTables:
        """Cut and weigh every column of both tables, and find each record's competitors."""
        cuts = [_cut(table, self.plans) for table in (left, right) if table is not None]
        return self.weigh(cuts)

    def weigh(self, cuts: list[CutTable]) -> PreparedTables:
        """Weigh tables that are cut: two, or the one."""
        weighed = [
            {
                name: PreparedColumn(
                    texts,
                    {kind: weigh(getattr(texts, kind), self.rarity[name, kind]) for kind in SETS},
                    numbers,
                )
                for name, (texts, numbers) in cut.columns.items()
            }
            for cut in cuts
        ]
        left, right = weighed[0], weighed[-1]
        of_left = self._nearest(left, right)
        of_right = of_left if len(cuts) == 1 else self._nearest(right, left)
        return PreparedTables(left, right, cuts[0].record, cuts[-1].record, of_left, of_right)

    def _nearest(
        self, these: dict[str, PreparedColumn], those: dict[str, PreparedColumn]
    ) -> dict[tuple[str, str], Neighbours]:
        """Return the nearest of those for each of these, by every column that competes."""
        return {
            (plan.name, kind): nearest_records(
                these[plan.name].sets[kind],
                those[plan.name].sets[kind],
                N_COMPETITORS,
                one_table=these is those,
            )
            for plan in self.plans
            if plan.competes
            for kind in COMPETING
        }

    def compare(self, tables: PreparedTables, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the similarities of pairs of rows, shape (n_pairs, n_features)."""
        records = tables.records(pairs)
        X = np.empty((len(records), len(self._features())), dtype=np.float32)

        def fill(first: int) -> None:
            part = slice(first, first + PAIRS_A_PART)
            blocks = (self._blocks(plan, tables, records[part]) for plan in self.plans)
            np.concatenate([*chain.from_iterable(blocks)], axis=1, out=X[part], casting="same_kind")

        with Workers(allowed_threads()) as workers:
            workers.run(fill, [(first,) for first in range(0, len(records), PAIRS_A_PART)])
        return orderless(X, self._directed_names()) if self.one_table else X

    def _blocks(
        self, plan: ColumnPlan, tables: PreparedTables, pairs: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """Give the similarities of one column, in the order of `feature_names`."""
        one, other = tables.left[plan.name], tables.right[plan.name]
        for kind in SETS:
            block = compare_sets(one.sets[kind], other.sets[kind], pairs)
            yield block
            if plan.competes and kind in COMPETING:
                key = plan.name, kind
                yield compete(block[:, 0], pairs, tables.of_left[key], tables.of_right[key])
        if plan.name != JOINED:
            words, other_words = one.sets["words"], other.sets["words"]
            yield compare_spelling(one.texts, words, other.texts, other_words, pairs)
        if one.numbers is not None and other.numbers is not None:
            yield compare_numbers(one.numbers, other.numbers, pairs)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The column that each feature is about."""
        return tuple(column for column, _ in self._features())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature: its column and what it compares."""
        names = self._directed_names()
        return orderless_names(names) if self.one_table else names

    def _directed_names(self) -> tuple[str, ...]:
        return tuple(f"{column}: {what}" for column, what in self._features())

    def _features(self) -> list[tuple[str, str]]:
        features = []
        for plan in self.plans:
            kinds = []
            for kind in SETS:
                competing = COMPETITION_NAMES if plan.competes and kind in COMPETING else ()
                kinds += [f"{kind} {what}" for what in (*SET_NAMES, *competing)]
            # Letter by letter, joined columns take most of the time and tell nothing more.
            kinds += SPELLING_NAMES if plan.name != JOINED else ()
            kinds += NUMBER_NAMES if plan.kind in ("number", "date") else ()
            features += [(plan.name, what) for what in kinds]
        return features


def fit_comparison(
    left: pyarrow.Table, right: pyarrow.Table | None, kinds: Mapping[str, str] | None = None
) -> tuple[Comparison, PreparedTables]:
    """Plan the columns that both tables have, count how rare their words are, and prepare them."""
    plans = _plan(left, right, dict(kinds or {}))
    cuts = [_cut(table, plans) for table in (left, right) if table is not None]
    rarity = {
        (plan.name, kind): fit_rarity(*(getattr(cut.columns[plan.name][0], kind) for cut in cuts))
        for plan in plans
        for kind in SETS
    }
    comparison = Comparison(plans, rarity, right is None)
    return comparison, comparison.weigh(cuts)


def compare_numbers(
    left: NDArray[np.float64], right: NDArray[np.float64], pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return |a − b| / max(|a|, |b|), log |a| / |b| and a − b of pairs; NaN if one is missing."""
    one, other = left[pairs[:, 0]], right[pairs[:, 1]]
    largest = np.maximum(np.abs(one), np.abs(other))
    difference = np.clip(one - other, -LARGEST, LARGEST)
    relative = np.abs(one - other) / np.where(largest > 0, largest, 1)
    smallest = 1e-9  # of a free article, whose ratio to any price is otherwise infinite
    ratio = np.log((np.abs(one) + smallest) / (np.abs(other) + smallest))
    return np.column_stack([relative, ratio, difference])


def _plan(
    left: pyarrow.Table, right: pyarrow.Table | None, kinds: dict[str, str]
) -> tuple[ColumnPlan, ...]:
    other = left if right is None else right
    names = [name for name in left.column_names if name in other.column_names]
    if not names:
        raise ValueError(
            f"The two tables have no column in common ({', '.join(left.column_names)} and "
            f"{', '.join(other.column_names)}): give columns that are to be compared the same "
            "name in both."
        )
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise ValueError(
            f"kinds names {unknown[0]!r}, which is not a column of both tables: "
            f"{', '.join(names)} are."
        )
    plans = []
    for name in names:
        told = {tell_kind(name, table[name], kinds.get(name)) for table in (left, other)}
        plans.append(ColumnPlan(name, told.pop() if len(told) == 1 else "text"))
    return (*plans, ColumnPlan(JOINED, "text"))


def _cut(table: pyarrow.Table, plans: tuple[ColumnPlan, ...]) -> CutTable:
    """Cut every planned column of a table's distinct records, and all columns joined."""
    for plan in plans:
        if plan.name != JOINED and plan.name not in table.column_names:
            raise ValueError(
                f"The table has no column {plan.name!r}, which was there when the model was "
                f"fitted: it has {', '.join(table.column_names)}."
            )
    read: dict[str, Column] = {
        plan.name: read_column(plan.name, table[plan.name], plan.kind)
        for plan in plans
        if plan.name != JOINED
    }
    rows = list(zip(*(column.texts for column in read.values()), strict=True))
    numbers: dict[tuple[str | None, ...], int] = {}
    record = np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)
    _, first = np.unique(record, return_index=True)
    columns = {}
    for name, column in read.items():
        texts = cut_texts(column.texts[row] for row in first)
        columns[name] = (texts, None if column.numbers is None else column.numbers[first])
    joined = cut_texts(" ".join(value for value in row if value is not None) for row in numbers)
    return CutTable(columns | {JOINED: (joined, None)}, record)
