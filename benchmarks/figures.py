"""A measured figure beside its bar, printed and kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from twofold._core.files import write_text
from twofold.experiments import describe_commit, describe_machine


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
        The number.
    bar : float or None
        What it must reach; None if it only stands beside others.
    at_least : bool
        Whether the bar is a least or a most.
    note : str
        The quality reached, the spread, the rival's settings.
    """

    name: str
    value: float
    bar: float | None = None
    at_least: bool = True
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the bar is reached, None without one."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar


def show(title: str, figures: Iterable[Figure]) -> None:
    """Print figures as a table."""
    table = Table(title=title, title_justify="left")
    for heading, justify in (
        ("figure", "left"),
        ("measured", "right"),
        ("bar", "right"),
        ("", "center"),
        ("note", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for figure in figures:
        sign = "≥" if figure.at_least else "≤"
        verdict = {True: "[green]reached[/]", False: "[red]missed[/]", None: ""}[figure.passed]
        table.add_row(
            figure.name,
            f"{figure.value:,.4g}",
            "" if figure.bar is None else f"{sign} {figure.bar:,.4g}",
            verdict,
            figure.note,
        )
    Console(width=None if sys.stdout.isatty() else 150).print(table)


def keep(path: Path, name: str, figures: Iterable[Figure], **setting: object) -> None:
    """Write figures as a run record.

    Of figures that were measured elsewhere, the setting names `commit` and `machine`.
    """
    record = {
        "benchmark": name,
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": setting.pop("commit", None) or describe_commit(),
        "machine": setting.pop("machine", None) or describe_machine(),
        "setting": setting,
        "figures": [asdict(figure) | {"passed": figure.passed} for figure in figures],
    }
    path.mkdir(parents=True, exist_ok=True)
    write_text(path / f"{name}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
