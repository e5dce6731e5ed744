"""`twofold index MODEL DATA --out INDEX`: an index of points, to search and serve."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from twofold.cli import _options as options


class Store(StrEnum):
    """Where points are kept."""

    folder = "folder"
    faiss = "faiss"
    lance = "lance"
    qdrant = "qdrant"


def index(
    model: options.Model,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV, Parquet, .npy or .npz, or files written by twofold embed. Also "
            "several files, or a pattern in quotes.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder of the index; if it exists, rows are added or replaced by id."),
    ],
    store: Annotated[
        Store | None,
        typer.Option(
            help="folder: Twofold's own, the default; faiss: with an additional file for FAISS; "
            "lance or qdrant: a database."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="COLUMNS",
            help="Columns to keep with the points: a,b, or the option once for each.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="URL of a Qdrant server; without it, Qdrant uses a local folder."),
    ] = None,
    factory: Annotated[
        str | None,
        typer.Option(help="Type of the FAISS index in FAISS's notation, e.g. OPQ16,IVF4096,PQ16."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help='Compress points, for instance to "64 bytes an item"; neighbours are then '
            "approximate. By default points are not compressed.",
        ),
    ] = None,
    id_column: options.IdColumn = None,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Build an index of points to search and serve, or add rows to one.

    Example: twofold index model products.csv --out products.index --columns title,price
    """
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import IndexRequest, index_files

    request = IndexRequest(
        model=model,
        data=tuple(data),
        out=out,
        store=None if store is None else store.value,
        columns=tuple(columns or ()),
        id_column=id_column,
        url=url,
        factory=factory,
        memory=memory,
        device=device,
    )
    with step_bars() as progress:
        result = index_files(request, progress)
    if as_json:
        show_json(
            {
                "n_taken_in": result.n_taken_in,
                "n_items": result.n_items,
                "store": result.store,
                "metric": result.metric,
                "out": str(result.out),
                "columns": result.columns,
                "seconds": result.seconds,
            }
        )
        return
    if result.columns:
        kept = ", ".join(f"{name} ({kind})" for name, kind in result.columns.items())
        show(f"Columns: {kept}.")
    show(
        f"Added {result.n_taken_in:,} rows; {result.out} now has {result.n_items:,} items. Next:",
        f"  twofold search {model} --index {result.out} --query ROWS",
        f"  twofold serve {model} --index {result.out}",
    )
