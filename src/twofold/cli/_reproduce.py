"""`twofold reproduce SET`: the paper's protocol, a record a method and seed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from twofold._core.files import check_folder_place
from twofold.cli._epoch_bars import epoch_bars

if TYPE_CHECKING:
    from twofold.experiments import Protocol, Run, RunRecord


class SetName(StrEnum):
    """The sets by name; the protocols themselves are read when one is run."""

    mnist = "mnist"
    cifar10 = "cifar10"
    pubfig83 = "pubfig83"
    nuswide = "nuswide"
    digits = "digits"
    scene = "scene"
    yeast = "yeast"
    corel5k = "corel5k"
    delicious = "delicious"


def reproduce(
    set_name: Annotated[SetName, typer.Argument(metavar="SET", help="|".join(SetName))],
    methods: Annotated[
        str,
        typer.Option(
            help="Methods, with commas between: fml-c, fml-dp, twofold, twofold-squared, siamese, "
            "siamese-cosine, triplet, nonlinear-nca, nca, lmnn, itml, raw, cross-entropy, one-hot, "
            "simplex, supcon, proxy-anchor, multi-similarity, triplet-miner."
        ),
    ] = "fml-c,fml-dp,twofold,siamese",
    seeds: Annotated[
        str, typer.Option(help="How many seeds, or the seeds with commas between.")
    ] = "1",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="In place of the protocol's, for a quick look.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the sets lie; by default what TWOFOLD_DATA names.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that gets the records.")] = Path("runs"),
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch the set if it is not there, where it is public."),
    ] = False,
) -> None:
    """Run the paper's protocol on a set; a run that was interrupted goes on where it was."""
    # Imported here, so that `twofold --help` does not wait for torch and Numba.
    from twofold.experiments import PROTOCOLS
    from twofold.experiments import reproduce as run_all

    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    numbers = _seeds(seeds)
    console = Console()
    check_folder_place(out)  # before the work, not after it
    if download:
        _download(set_name, data_dir, console)
    records = []
    with epoch_bars(console, width=24) as progress:
        bars: dict[tuple[str, int], TaskID] = {}

        def show(run: Run, epoch: int, n_epochs: int, auroc: float) -> None:
            key = (run.method.name, run.seed)
            if key not in bars:
                title = f"{run.method.title}, seed {run.seed}"
                bars[key] = progress.add_task(title, total=n_epochs, auroc="…")
            progress.update(bars[key], completed=epoch, auroc=f"{auroc:.4f}")

        for record in run_all(
            set_name.value,
            out,
            methods=chosen,
            seeds=numbers,
            epochs=epochs,
            device=device,
            data_dir=data_dir,
            watch=show,
        ):
            records.append(record)
            bar = bars.get((record.method, record.seed))
            if bar is not None:
                progress.stop_task(bar)
    console.print(_table(PROTOCOLS[set_name.value], records))
    console.print(
        f"{len(records)} records in {out / set_name.value}. `twofold report {out}` makes a page "
        "of them.",
        markup=False,
        soft_wrap=True,
    )


def _download(set_name: SetName, data_dir: Path | None, console: Console) -> None:
    from twofold.datasets import download
    from twofold.experiments import open_set

    try:
        open_set(set_name.value, data_dir)
        return
    except FileNotFoundError:
        pass  # what is missing is fetched
    name = "nus_wide" if set_name is SetName.nuswide else set_name.value
    with Progress(
        TextColumn("{task.description:<24}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
    ) as progress:
        bar = progress.add_task(f"Downloading {name}", total=None)
        download(
            name,
            data_dir,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )


def _seeds(text: str) -> list[int]:
    """Read "3" as the seeds 0, 1, 2, and "4,7" as the seeds 4 and 7."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--seeds takes a number, or numbers with commas between, got {text!r}."
        ) from None
    if min(numbers) < 0 or (len(numbers) == 1 and numbers[0] < 1):
        raise ValueError(f"--seeds takes a number from 1 on, or seeds from 0 on, got {text!r}.")
    return list(range(numbers[0])) if len(numbers) == 1 and "," not in text else numbers


def _table(protocol: Protocol, records: Sequence[RunRecord]) -> Table:
    """Show each run, the paper's figure beside it."""
    from twofold.experiments import METHODS

    table = Table(title=protocol.title, title_justify="left")
    score = "accuracy" if protocol.score == "accuracy" else "Jaccard"
    for heading in ("method", "seed", "AUROC", f"5-NN {score}", "paper", "phase 1", "training"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    published = {} if protocol.paper is None else protocol.paper.neighbours
    for record in records:
        scores, timed = record.scores, record.targets_seconds
        table.add_row(
            METHODS[record.method].title,
            str(record.seed),
            "–" if scores is None else f"{scores.auroc:.4f}",
            "–" if scores is None else f"{scores.neighbours:.4f}",
            f"{published[record.method]:.3f}" if record.method in published else "",
            f"{sum(timed) / len(timed):.3f} s" if timed else "none",
            f"{record.seconds['training']:.1f} s",
        )
    return table
