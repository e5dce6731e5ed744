"""Bars of runs that train: how many epochs are done, and the AUROC of the moment."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def epoch_bars(console: Console, width: int, transient: bool = False) -> Progress:
    """Return bars whose names have some width, and whose tasks have a field `auroc`."""
    return Progress(
        TextColumn(f"{{task.description:<{width}}}"),
        BarColumn(),
        TextColumn("epoch {task.completed:>4}   AUROC {task.fields[auroc]}"),
        TimeElapsedColumn(),
        console=console,
        transient=transient,
    )
