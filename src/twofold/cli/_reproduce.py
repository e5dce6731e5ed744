"""`twofold reproduce SET`: the paper's protocol or, of kinds never seen, another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from twofold.cli._console import progress, show
from twofold.cli._epoch_bars import RunBars, epoch_bars
from twofold.cli._reproduce_tables import code_table, paper_table, unseen_table


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
    omniglot = "omniglot"


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for; without methods, the protocol's own."""

    set_name: SetName
    methods: tuple[str, ...] | None
    seeds: tuple[int, ...]
    epochs: int | None
    device: str
    data_dir: Path | None
    out: Path
    download: bool


def reproduce(
    set_name: Annotated[SetName, typer.Argument(metavar="SET", help="|".join(SetName))],
    unseen: Annotated[
        bool,
        typer.Option(
            "--unseen",
            help="Train on some kinds and score on others: digits, mnist, cifar10, pubfig83 and "
            "omniglot.",
        ),
    ] = False,
    bits: Annotated[
        str | None,
        typer.Option(
            help="Learn codes of these lengths, e.g. 16,32,48,64, and score how they rank.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas; by default fml-c, fml-dp, twofold, siamese; "
            "others twofold-squared, siamese-cosine, triplet, nonlinear-nca, nca, lmnn, itml, raw, "
            "cross-entropy, one-hot, simplex, supcon, proxy-anchor, multi-similarity, "
            "triplet-miner. With --unseen, all by default: twofold-unseen, twofold-auto, raw, "
            "siamese, supcon, proxy-anchor, multi-similarity, triplet-miner, cross-entropy, "
            "cross-entropy-whitened. With --bits by default codes, codes-trees, real-valued, lsh, "
            "itq, two-step, siamese-codes, fixed-codes; another codes-trees-overlap."
        ),
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="Number of seeds, or the seeds themselves, separated by commas.")
    ] = "1",
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of epochs instead of the protocol's, for a quick look."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; by default the one in TWOFOLD_DATA."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write the records to.")] = Path("runs"),
    download: Annotated[
        bool,
        typer.Option("--download", help="Download the set if it is missing, where it is public."),
    ] = False,
) -> None:
    """Run the paper's protocol on a set, or score kinds never seen.

    A run that was interrupted continues where it stopped.
    """
    chosen = None
    if methods is not None:
        chosen = tuple(name.strip() for name in methods.split(",") if name.strip())
    request = Request(set_name, chosen, _seeds(seeds), epochs, device, data_dir, out, download)
    from twofold._core.files import check_folder_place

    check_folder_place(out)  # before the work, not after it
    if unseen and bits is not None:
        raise ValueError("--unseen and --bits are different protocols: give only one of them.")
    if bits is not None:
        _reproduce_codes(request, _numbers("--bits", bits))
        return
    run = _reproduce_unseen if unseen else _reproduce_paper
    run(request)


def _reproduce_paper(request: Request) -> None:
    """Run the paper's protocol."""
    from twofold.experiments import DEFAULT_METHODS, PROTOCOLS
    from twofold.experiments import reproduce as run_all

    if request.set_name is SetName.omniglot:
        raise ValueError(
            "omniglot is not one of the paper's sets, and only has protocols for kinds never seen: "
            "add --unseen."
        )
    if request.download:
        _download(request)
    records = []
    with epoch_bars(width=24, transient=False) as drawn:
        bars = RunBars(drawn)
        for record in run_all(
            request.set_name.value,
            request.out,
            methods=DEFAULT_METHODS if request.methods is None else request.methods,
            seeds=request.seeds,
            epochs=request.epochs,
            device=request.device,
            data_dir=request.data_dir,
            watch=bars.show,
        ):
            records.append(record)
            bars.stop(record)
    show(paper_table(PROTOCOLS[request.set_name.value], records))
    _say_where(len(records), request.out / request.set_name.value, request.out)


def _reproduce_codes(request: Request, bits: tuple[int, ...]) -> None:
    """Run codes of several lengths."""
    from rich.text import Text

    from twofold.experiments import DEFAULT_CODE_METHODS, PROTOCOLS, reproduce_codes

    name = request.set_name.value
    if name not in PROTOCOLS:
        raise ValueError(f"{name} only has protocols for kinds never seen: add --unseen.")
    if request.download:
        _download(request)
    for n_bits in bits:
        records = []
        with epoch_bars(width=32, transient=False) as drawn:
            bars = RunBars(drawn)
            for record in reproduce_codes(
                name,
                request.out,
                bits=(n_bits,),
                methods=DEFAULT_CODE_METHODS if request.methods is None else request.methods,
                seeds=request.seeds,
                epochs=request.epochs,
                device=request.device,
                data_dir=request.data_dir,
                watch=bars.show,
            ):
                records.append(record)
                bars.stop(record)
        show(Text(f"{PROTOCOLS[name].title}, {n_bits} bits", style="bold"))
        show(code_table(records))
        _say_where(len(records), request.out / f"{name}-{n_bits}-bits", request.out)


def _reproduce_unseen(request: Request) -> None:
    """Run what is trained on some kinds and scored on others, each way there is."""
    from rich.text import Text

    from twofold.experiments import UNSEEN_METHODS, reproduce_unseen, unseen_protocols

    protocols = unseen_protocols(request.set_name.value)
    if request.download:
        _download(request)
    for protocol in protocols:
        show(Text(protocol.title, style="bold"))
        records = []
        with epoch_bars(width=32, transient=False) as drawn:
            bars = RunBars(drawn)
            for record in reproduce_unseen(
                protocol.name,
                request.out,
                methods=tuple(UNSEEN_METHODS) if request.methods is None else request.methods,
                seeds=request.seeds,
                epochs=request.epochs,
                device=request.device,
                data_dir=request.data_dir,
                watch=bars.show,
            ):
                records.append(record)
                bars.stop(record)
        show(unseen_table(records))
        _say_where(len(records), request.out / protocol.name, request.out)


def _say_where(n_records: int, place: Path, out: Path) -> None:
    show(f"{n_records} records are in {place}. `twofold report {out}` makes a page of them.")


def _download(request: Request) -> None:
    """Fetch a set, unless it is there."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    from twofold.datasets import download

    set_name = request.set_name
    try:
        _open(request)
        return
    except FileNotFoundError:
        pass  # what is missing is fetched
    name = "nus_wide" if set_name is SetName.nuswide else set_name.value
    with progress(
        TextColumn("{task.description:<24}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        transient=False,
    ) as drawn:
        bar = drawn.add_task(f"Downloading {name}", total=None)
        download(
            name,
            request.data_dir,
            progress=lambda done, total: drawn.update(bar, completed=done, total=total),
        )


def _open(request: Request) -> None:
    """Read a set, to see whether it is there."""
    from twofold.experiments import open_set, open_unseen, unseen_protocols

    if request.set_name is not SetName.omniglot:
        open_set(request.set_name.value, request.data_dir)
        return
    for protocol in unseen_protocols(request.set_name.value):
        open_unseen(protocol, request.data_dir)


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"{option} takes a number, or numbers separated by commas, got {text!r}."
        ) from None


def _seeds(text: str) -> tuple[int, ...]:
    """Read "3" as the seeds 0, 1, 2, and "4,7" as the seeds 4 and 7."""
    numbers = _numbers("--seeds", text)
    if min(numbers) < 0 or (len(numbers) == 1 and numbers[0] < 1):
        raise ValueError(
            f"--seeds takes a number of at least 1, or seeds of at least 0, got {text!r}."
        )
    return tuple(range(numbers[0])) if len(numbers) == 1 and "," not in text else numbers
