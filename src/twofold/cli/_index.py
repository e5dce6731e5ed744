"""`twofold index MODEL DATA --out INDEX`: points that are kept, to be searched and served."""

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
            help="CSV, TSV, Parquet, .npy or .npz; or what twofold embed wrote. Several, or a "
            "pattern in quotes.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="The folder of the index; one that is there takes in the rows, by id."),
    ],
    store: Annotated[
        Store | None,
        typer.Option(
            help="folder: ours, the default. faiss: ours and a file for FAISS. lance, qdrant: a "
            "database."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns", metavar="COLUMN", help="Columns to keep beside; may be given again."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Of a Qdrant server; without it Qdrant keeps a folder by itself."),
    ] = None,
    factory: Annotated[
        str | None,
        typer.Option(help="FAISS's own description of its index, as OPQ16,IVF4096,PQ16."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help='What a point may take, as "64 bytes an item": neighbours are then approximate. '
            "By default points are kept as they are.",
        ),
    ] = None,
    id_column: options.IdColumn = None,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Keep the points of all rows, to be searched and served. Again, it takes in new rows.

    Example: twofold index model products.csv --out products.index --columns title --columns price
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
                "seconds": result.seconds,
            }
        )
        return
    show(
        f"{result.n_taken_in:,} rows were taken in; {result.n_items:,} items are in {result.out}. "
        "Next:",
        f"  twofold serve {model} --index {result.out}",
    )
