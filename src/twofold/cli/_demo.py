"""`twofold demo`: phase 1 on data that ships with scikit-learn; ends in a page to open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from twofold._core.files import check_place, write_text


def demo(
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path(
        "twofold-demo.html"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
) -> None:
    """Show phase 1 on the labels of scikit-learn's digits; ends in a page to open."""
    # Imported here, so that `twofold --help` does not wait for Numba and Matplotlib.
    from twofold.experiments import RECIPES, Recipe, run_demo
    from twofold.report import demo_page

    check_place(out)  # before the work, not after it
    console = Console()
    with Progress(
        TextColumn("{task.description:<22}"),
        BarColumn(),
        TextColumn("epoch {task.completed:>3}   loss {task.fields[loss]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        tasks = {
            recipe.name: progress.add_task(recipe.name, total=None, loss="…") for recipe in RECIPES
        }

        def show(recipe: Recipe, epoch: int, loss: float) -> None:
            progress.update(tasks[recipe.name], completed=epoch, loss=f"{loss:.5f}")

        record = run_demo(seed, show)

    table = Table(title="Targets from statements about pairs, no features seen")
    for heading in ("targets from", "AUROC own pairs", "AUROC held out", "epochs", "ms"):
        table.add_column(heading, justify="left" if heading == "targets from" else "right")
    for run in record.runs:
        held_out = run.held_out_auroc
        table.add_row(
            run.recipe.name,
            f"{run.own_auroc:.4f}",
            "knows all" if held_out is None else f"{held_out:.4f}",
            str(run.solution.n_epochs or "none"),
            f"{1000 * run.solution.seconds:.1f}",
        )
    console.print(table)
    path = write_text(out, demo_page(record))
    console.print(f"Open {path} in a browser.", markup=False, soft_wrap=True)
