"""`twofold embed MODEL DATA`: the points of all rows, in a file, or a file for each of many."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twofold.cli import _options as options

if TYPE_CHECKING:
    from twofold.tasks import EmbedRequest, EmbedResult, EmbedShardsRequest, EmbedShardsResult


class Engine(StrEnum):
    """Who embeds many files."""

    local = "local"
    ray = "ray"


def embed(
    model: options.Model,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA", help=f"{options.DATA_HELP} Also several files, or 'in/*.parquet'."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="A .parquet file for ids and points, or a .npy file; for several files, a folder "
            "that gets a .parquet file for each."
        ),
    ],
    id_column: options.IdColumn = None,
    engine: Annotated[
        Engine, typer.Option(help="Embed several files one by one here, or in parallel on Ray.")
    ] = Engine.local,
    device: options.Device = "auto",
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Write the points of all rows. Files that are already embedded are skipped.

    Examples: twofold embed model products.csv --out points.parquet

    twofold embed model 'in/*.parquet' --out out/ --engine ray
    """
    from twofold.tasks import EmbedRequest, EmbedShardsRequest, is_pattern

    if len(data) > 1 or is_pattern(data[0]):
        shards = EmbedShardsRequest(
            model=model,
            data=tuple(data),
            out=out,
            id_column=id_column,
            device=device,
            engine=engine.value,
            overwrite=overwrite,
        )
        _embed_shards(shards, as_json)
        return
    if engine is Engine.ray:
        raise ValueError("--engine ray is for several files: give a pattern as 'in/*.parquet'.")
    request = EmbedRequest(
        model=model,
        data=data[0],
        out=out,
        id_column=id_column,
        device=device,
        overwrite=overwrite,
    )
    _embed_file(request, as_json)


def _embed_file(request: EmbedRequest, as_json: bool) -> None:
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import embed_file

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
    ids = "" if result.ids_file is None else f", and their ids to {result.ids_file}"
    show(
        f"Wrote {result.n_items:,} {_what(result)} to {result.out}{ids}. "
        f"Compare them by {COMPARISONS[result.metric]}."
    )


def _embed_shards(request: EmbedShardsRequest, as_json: bool) -> None:
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import embed_shards

    with step_bars() as progress:
        result = embed_shards(request, progress)
    if as_json:
        show_json(
            {
                "n_items": result.n_items,
                "n_components": result.n_components,
                "metric": result.metric,
                "out": str(result.out),
                "n_shards": result.n_shards,
                "n_done_before": result.n_done_before,
                "failures": {str(one.shard.source): one.why_not for one in result.failures},
                "seconds": result.seconds,
            }
        )
    else:
        before = f" {result.n_done_before} files were already done." if result.n_done_before else ""
        ids = "" if result.are_ids_compared else " There are too many rows to compare their ids."
        n_now = result.n_shards - result.n_done_before - len(result.failures)
        show(
            f"Wrote {result.n_items:,} {_what(result)}, from {n_now} "
            f"files, to {result.out}.{before}{ids} Compare them by {COMPARISONS[result.metric]}."
        )
    if result.why_incomplete is not None:
        raise ValueError(result.why_incomplete)


COMPARISONS = {
    "cosine": "their cosine",
    "euclidean": "Euclidean distance",
    "dot": "their dot product",
    "hamming": "Hamming distance",
}


def _what(result: EmbedResult | EmbedShardsResult) -> str:
    """Return what was written: points, or codes packed into bytes."""
    if result.metric == "hamming":
        return f"codes of {result.n_components} bits, packed into bytes"
    return f"points of {result.n_components} numbers"
