"""`twofold ask DATA`: a page that asks, and learns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twofold._core.own_names import LOOPBACK
from twofold.cli import _options as options

if TYPE_CHECKING:
    from twofold.ask import Closed, Opened


def ask(
    data: options.Data,
    right: options.Right = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="MATRIX",
            help="Your own features, one row per item (.npy or .npz); DATA is then only shown.",
        ),
    ] = None,
    id_column: options.IdColumn = None,
    text: options.Text = None,
    columns: options.OnlyColumns = None,
    image: options.Image = None,
    image_size: options.ImageSize = None,
    text_model: options.TextModel = None,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where to keep answers and the model; by default DATA.ask, next to the data.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="PAIRS", help="Only write the answers as pairs (CSV)."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page, or only print its link.")
    ] = True,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The first port to try.")] = 8737,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
) -> None:
    """Ask people what is the same, on a web page, and learn from their answers.

    Examples: twofold ask photographs/

    twofold ask left.csv --right right.csv --id id
    """
    from twofold.ask import AskRequest, project_folder
    from twofold.ask import ask as serve
    from twofold.cli._console import show, step_bars

    request = AskRequest(
        data=data,
        right=right,
        features=features,
        id_column=id_column,
        text=tuple(text or ()),
        columns=tuple(columns or ()),
        image=image,
        image_size=image_size,
        text_model=text_model,
        seed=seed,
    )
    if export is not None:
        _export(request, project_folder(data, project), export, overwrite)
        return
    if host not in LOOPBACK:
        show(
            f"--host {host}: anyone who can reach this machine and has the link with its token can "
            "see the items and answer. The connection is not encrypted."
        )
    with step_bars() as progress:
        closed = serve(
            request,
            project=project,
            host=host,
            port=port,
            on_open=lambda opened: _show_link(opened, browser),
            progress=progress,
        )
    _show_end(closed)


def _show_link(opened: Opened, browser: bool) -> None:
    import webbrowser

    from twofold.cli._console import show

    for note in opened.notes:
        show(note)
    before = f", {opened.n_looks:,} answered before" if opened.n_looks else ""
    show(
        f"{opened.n_items:,} items{before}. Answers are kept in {opened.project}.",
        f"  {opened.link}",
        "Press Ctrl-C to stop; the next `twofold ask` continues from here.",
    )
    if browser:
        webbrowser.open(opened.link)


def _show_end(closed: Closed) -> None:
    from twofold.cli._console import show

    if closed.model is None:
        show(f"{closed.n_looks:,} answers are in {closed.project}.")
        return
    show(
        f"{closed.n_looks:,} answers are in {closed.project}, and the latest model is in "
        f"{closed.model}. To get a threshold and scores:",
        f"  twofold fit --project {closed.project} --out model",
    )


def _export(request: object, folder: Path, file: Path, overwrite: bool) -> None:
    from twofold.ask import AskRequest, existing_project, export_pairs, read_ask_items
    from twofold.cli._console import show
    from twofold.tasks import check_new_file

    assert isinstance(request, AskRequest)
    existing_project(folder)
    check_new_file(file, overwrite)
    n_same, n_different = export_pairs(folder, read_ask_items(request), file)
    said = f"{n_same:,} pairs that are the same and {n_different:,} that are different"
    show(f"{said} are in {file}. Next:", f"  twofold fit --project {folder} --out model")
