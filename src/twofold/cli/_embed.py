"""`twofold embed MODEL DATA`: the points of all rows, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twofold.cli import _options as options


def embed(
    model: options.Model,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="A .parquet file with ids and points, or a .npy file.")],
    id_column: options.IdColumn = None,
    device: options.Device = "auto",
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Write the points of all rows, a piece at a time.

    Example: twofold embed model products.csv --out points.parquet
    """
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import EmbedRequest, embed_file

    request = EmbedRequest(
        model=model, data=data, out=out, id_column=id_column, device=device, overwrite=overwrite
    )
    with step_bars() as progress:
        result = embed_file(request, progress)
    if as_json:
        show_json(
            {
                "n_items": result.n_items,
                "n_components": result.n_components,
                "metric": result.metric,
                "out": str(result.out),
                "ids": None if result.ids_file is None else str(result.ids_file),
                "seconds": result.seconds,
            }
        )
        return
    ids = "" if result.ids_file is None else f", their ids in {result.ids_file}"
    show(
        f"{result.n_items:,} points of {result.n_components} numbers are in {result.out}{ids}. "
        f"Compare them by {COMPARISONS[result.metric]}."
    )


COMPARISONS = {
    "cosine": "their cosine",
    "euclidean": "Euclidean distance",
    "dot": "their dot product",
    "hamming": "Hamming distance",
}
