"""A table as data: what stands in it, whatever it is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from twofold.report._standings import OURS, OURS_ON_UNSEEN
from twofold.report._titles import method_title
from twofold.report._wording import MISSING

Verdict = Literal["better", "worse", "equal"]
MOST_SPREADS = 4
"""Columns with a spread beside the figure that fit a screen."""
MARKS: dict[Verdict, str] = {"better": "▲", "worse": "▼", "equal": "="}


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure.

    Attributes
    ----------
    text, spread : str
        As it reads, and what stands after ±, if anything.
    is_best : bool
        Whether nothing in its column is better.
    note : str
        Small, below it.
    verdict, difference : str, optional
        Whether ours is better than this figure of the paper's, and by how much.
    """

    text: str = MISSING
    spread: str = ""
    is_best: bool = False
    note: str = ""
    verdict: Verdict | None = None
    difference: str = ""

    @property
    def mark(self) -> str:
        """The verdict without words or colour."""
        return "" if self.verdict is None else f"{MARKS[self.verdict]} {self.difference}".strip()


@dataclass(frozen=True, slots=True)
class Row:
    """A method: its name, a small note below it, its figures."""

    method: str
    cells: tuple[Cell, ...]
    note: str = ""

    @property
    def title(self) -> str:
        """The method as a reader knows it."""
        return method_title(self.method)

    @property
    def is_ours(self) -> bool:
        """Whether it is Twofold's."""
        return self.method in (OURS, *OURS_ON_UNSEEN)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that belong together, with a heading unless they are the whole table."""

    rows: tuple[Row, ...]
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of methods.

    Attributes
    ----------
    title, columns : str, tuple of str
        Above it, and the headings of the cells.
    groups : tuple of RowGroup
        Its rows.
    measured, notes : str, tuple of str
        Under it: machine, versions, seeds and items; what else must be known.
    """

    title: str
    columns: tuple[str, ...]
    groups: tuple[RowGroup, ...]
    measured: str
    notes: tuple[str, ...] = ()

    @property
    def is_crowded(self) -> bool:
        """Whether so many columns have a spread that a screen only holds it below the figures."""
        rows = [row.cells for group in self.groups for row in group.rows]
        return (
            sum(any(cell.spread for cell in column) for column in zip(*rows, strict=True))
            > MOST_SPREADS
        )


def best_marked(cells: Sequence[tuple[Cell, float | None]]) -> list[Cell]:
    """Mark the cells of a column that read like the best of them, whoever's row they are in.

    Each comes with what decides it, large is good; without that it is never best.
    """
    goodness = {cell.text: value for cell, value in cells if value is not None}
    best = max(goodness, key=lambda text: goodness[text], default=None)
    return [replace(cell, is_best=value is not None and cell.text == best) for cell, value in cells]
