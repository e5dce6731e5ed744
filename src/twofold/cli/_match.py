"""`twofold match MODEL LEFT [RIGHT]`: which rows are the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from twofold.cli import _options as options


def match(
    model: options.Model,
    left: Annotated[Path, typer.Argument(metavar="LEFT", help=options.DATA_HELP)],
    right: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RIGHT]", help="The other table; without it, LEFT is compared with itself."
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="A .csv or .parquet file for the matches.")],
    id_column: options.IdColumn = None,
    one_to_one: Annotated[
        bool,
        typer.Option("--one-to-one", help="Use each row at most once, by best assignment."),
    ] = False,
    clusters: Annotated[
        bool,
        typer.Option("--clusters", help="Write groups of rows of one table, instead of pairs."),
    ] = False,
    previous: Annotated[
        Path | None,
        typer.Option(help="Groups from an earlier run, so that they keep their names."),
    ] = None,
    threshold: options.Threshold = None,
    candidates: Annotated[
        int, typer.Option(min=1, help="Candidates per row for a pair model to decide on.")
    ] = 20,
    columns: options.Columns = None,
    device: options.Device = "auto",
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Find all pairs of rows that are alike.

    Example: twofold match model products.csv offers.csv --one-to-one --out matches.csv
    """
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import MatchRequest, match_files

    request = MatchRequest(
        model=model,
        left=left,
        right=right,
        out=out,
        id_column=id_column,
        one_to_one=one_to_one,
        clusters=clusters,
        previous=previous,
        threshold=threshold,
        n_candidates=candidates,
        columns=tuple(columns or ()),
        device=device,
        overwrite=overwrite,
    )
    with step_bars() as progress:
        result = match_files(request, progress)
    if as_json:
        plain: dict[str, Any] = {
            "n_items": list(result.n_items),
            "n_candidates": result.n_candidates,
            "n_matches": result.n_matches,
            "n_groups": result.n_groups,
            "by": result.by,
            "threshold": result.threshold,
            "out": str(result.out),
            "seconds": result.seconds,
        }
        show_json(plain)
        return
    rows = " and ".join(f"{n:,}" for n in result.n_items)
    what = "probability" if result.by == "pair model" else "similarity"
    groups = "" if result.n_groups is None else f" in {result.n_groups:,} groups"
    show(
        f"{rows} rows, {result.n_candidates:,} candidates: {result.n_matches:,} pairs are alike"
        f"{groups} ({what} of at least {result.threshold:.4g} by the {result.by}).",
        f"Wrote {result.out}.",
    )
