"""Bars of runs that train: how many epochs are done, and the AUROC of the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twofold.cli._console import progress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from twofold.experiments import Run, RunRecord

NOT_YET = "…"


def epoch_bars(width: int, transient: bool = True) -> Progress:
    """Return bars whose names have some width, and whose tasks have a field `auroc`."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    return progress(
        TextColumn(f"{{task.description:<{width}}}", markup=False),
        BarColumn(),
        TextColumn("epoch {task.completed:>4}   AUROC {task.fields[auroc]}"),
        TimeElapsedColumn(),
        transient=transient,
    )


class RunBars:
    """A bar for each run of a reproduction, made when the run is first told of."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[tuple[str, int], TaskID] = {}

    def show(self, run: Run, epoch: int, n_epochs: int, auroc: float | None) -> None:
        """Show where a run stands."""
        key = (run.method.name, run.seed)
        if key not in self._bars:
            title = f"{run.method.title}, seed {run.seed}"
            self._bars[key] = self._progress.add_task(title, total=None, auroc=NOT_YET)
        is_scored = auroc is not None
        self._progress.update(
            self._bars[key],
            completed=epoch,
            # A bar that is full stops its clock, and a run may go on after its last epoch.
            total=n_epochs if is_scored else n_epochs + 1,
            auroc=f"{auroc:.4f}" if is_scored else NOT_YET,
        )

    def stop(self, record: RunRecord) -> None:
        """Stop the clock of a run that is done."""
        bar = self._bars.get((record.method, record.seed))
        if bar is not None:
            self._progress.stop_task(bar)
