"""What a pair of records says: similarities of each column, and of all columns joined.

`fit_comparison` counts how rare words are in the tables; a `Comparison` then prepares tables and
compares pairs of their rows. Nothing here knows which pairs are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twofold.matching._columns import Column, ColumnKind, read_column, tell_kind
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
    from collections.abc import Mapping

    import pyarrow

SETS = ("words", "codes_with_digits", "numbers", "grams")
JOINED = "*"
"""The name of all columns, joined."""
NUMBER_NAMES = ("relative difference", "log ratio", "difference")


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """A column that is compared: its name and kind."""

    name: str
    kind: ColumnKind


@dataclass(frozen=True, slots=True, eq=False)
class PreparedColumn:
    """A column cut and weighed."""

    texts: Texts
    sets: dict[str, WeightedSets]
    numbers: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTable:
    """A table whose rows can be compared."""

    columns: dict[str, PreparedColumn]
    n_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """How rows are compared.

    Attributes
    ----------
    plans : tuple of ColumnPlan
        The columns.
    rarity : dict
        By column and kind of code, how rare a code is.
    """

    plans: tuple[ColumnPlan, ...]
    rarity: dict[tuple[str, str], Rarity]

    def prepare(self, table: pyarrow.Table) -> PreparedTable:
        """Cut and weigh every column of a table, and all of them joined."""
        cut = _cut(table, self.plans)
        columns = {
            name: PreparedColumn(
                texts,
                {kind: weigh(getattr(texts, kind), self.rarity[name, kind]) for kind in SETS},
                numbers,
            )
            for name, (texts, numbers) in cut.items()
        }
        return PreparedTable(columns, table.num_rows)

    def compare(
        self, left: PreparedTable, right: PreparedTable, pairs: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the similarities of pairs of rows, shape (n_pairs, n_features)."""
        blocks = []
        for name, one in left.columns.items():
            other = right.columns[name]
            blocks += [compare_sets(one.sets[kind], other.sets[kind], pairs) for kind in SETS]
            blocks.append(
                compare_spelling(
                    one.texts, one.sets["words"], other.texts, other.sets["words"], pairs
                )
            )
            if one.numbers is not None and other.numbers is not None:
                blocks.append(compare_numbers(one.numbers, other.numbers, pairs))
        return np.hstack(blocks).astype(np.float32)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The column that each feature is about."""
        return tuple(column for column, _ in self._features())

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature: its column and what it compares."""
        return tuple(f"{column}: {what}" for column, what in self._features())

    def _features(self) -> list[tuple[str, str]]:
        features = []
        for plan in (*self.plans, ColumnPlan(JOINED, "text")):
            kinds = [f"{kind} {what}" for kind in SETS for what in SET_NAMES]
            kinds += SPELLING_NAMES
            kinds += NUMBER_NAMES if plan.kind in ("number", "date") else ()
            features += [(plan.name, what) for what in kinds]
        return features


def fit_comparison(
    left: pyarrow.Table, right: pyarrow.Table | None, kinds: Mapping[str, str] | None = None
) -> Comparison:
    """Plan the columns that both tables have, and count how rare their words are."""
    tables = [left] if right is None else [left, right]
    plans = _plan(left, right, dict(kinds or {}))
    cuts = [_cut(table, plans) for table in tables]
    rarity = {
        (name, kind): fit_rarity(*(getattr(cut[name][0], kind) for cut in cuts))
        for name in cuts[0]
        for kind in SETS
    }
    return Comparison(plans, rarity)


def compare_numbers(
    left: NDArray[np.float64], right: NDArray[np.float64], pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return |a − b| / max(|a|, |b|), log |a| / |b| and a − b of pairs; NaN if one is missing."""
    one, other = left[pairs[:, 0]], right[pairs[:, 1]]
    largest = np.maximum(np.abs(one), np.abs(other))
    difference = one - other
    relative = np.abs(difference) / np.where(largest > 0, largest, 1)
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
            f"{', '.join(other.column_names)}): give what is compared one name in both."
        )
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise ValueError(
            f"kinds names {unknown[0]!r}, which is no column of both tables: {', '.join(names)} "
            "are."
        )
    plans = []
    for name in names:
        told = {tell_kind(name, table[name], kinds.get(name)) for table in (left, other)}
        plans.append(ColumnPlan(name, told.pop() if len(told) == 1 else "text"))
    return tuple(plans)


def _cut(
    table: pyarrow.Table, plans: tuple[ColumnPlan, ...]
) -> dict[str, tuple[Texts, NDArray[np.float64] | None]]:
    """Return every planned column's texts and numbers, and the texts of all columns joined."""
    read: dict[str, Column] = {
        plan.name: read_column(plan.name, table[plan.name], plan.kind) for plan in plans
    }
    cut = {name: (cut_texts(column.texts), column.numbers) for name, column in read.items()}
    rows = zip(*(column.texts for column in read.values()), strict=True)
    joined = [" ".join(value for value in row if value is not None) for row in rows]
    return cut | {JOINED: (cut_texts(joined), None)}
