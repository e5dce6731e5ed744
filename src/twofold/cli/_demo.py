"""`twofold demo`: the whole method on data that ships with scikit-learn; ends in a page to open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twofold.cli._console import show, table
from twofold.cli._epoch_bars import epoch_bars

if TYPE_CHECKING:
    from rich.console import Group

    from twofold.experiments import Demo, DemoMethod
    from twofold.regression import Epoch


def demo(
    out: Annotated[Path, typer.Option(help="The HTML page to write.")] = Path("twofold-demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of epochs; fewer than usual for a quick look.")
    ] = None,
) -> None:
    """Compare Twofold with a Siamese network on handwritten digits, and write a page."""
    from twofold._core.files import check_place, write_text
    from twofold.experiments import DEMO_METHODS, run_demo
    from twofold.report import demo_page

    check_place(out)  # before the work, not after it
    with epoch_bars(width=10) as progress:
        tasks = {
            method.name: progress.add_task(method.name, total=None, start=False, auroc="…")
            for method in DEMO_METHODS
        }

        def show_epoch(method: DemoMethod, epoch: Epoch, auroc: float) -> None:
            task = tasks[method.name]
            if epoch.number == 1:
                progress.start_task(task)
            progress.update(
                task, total=epoch.n_epochs, completed=epoch.number, auroc=f"{auroc:.4f}"
            )
            if epoch.number == epoch.n_epochs:
                progress.stop_task(task)

        record = run_demo(seed, show_epoch, epochs)
    show(_table(record))
    path = write_text(out, demo_page(record))
    show(f"Open {path} in a browser.")


def _table(record: Demo) -> Group:
    return table(
        ("method", "5-NN accuracy", "AUROC", "phase 1", "training"),
        [
            (
                run.method.name,
                f"{run.accuracy:.4f}",
                f"{run.auroc[-1]:.4f}",
                f"{1000 * targets:.1f} ms" if (targets := run.phase_seconds["targets"]) else "none",
                f"{run.phase_seconds['training']:.1f} s",
            )
            for run in record.runs
        ],
        title=f"{len(record.test_classes)} test digits",
        text=("method",),
    )
