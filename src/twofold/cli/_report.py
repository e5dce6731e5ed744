"""`twofold report`: the page, made again from run records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        Path, typer.Argument(help="A folder with run records, as `twofold reproduce` makes them.")
    ],
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path(
        "twofold-report.html"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Where the same tables are written as Markdown.")
    ] = None,
) -> None:
    """Make one page of run records: tables, curves and the paper's figures beside ours."""
    from twofold._core.files import check_place, write_text
    from twofold.experiments import read_records
    from twofold.report import paper_page, paper_tables, read_galleries

    places = [check_place(place) for place in (out, markdown) if place is not None]
    if len(set(places)) < len(places):  # before the work, not after it
        raise ValueError(f"--out and --markdown both name {out}: name two files.")
    records, galleries = read_records(runs), read_galleries(runs)
    page = write_text(out, paper_page(records, galleries))
    if markdown is not None:
        tables = write_text(markdown, paper_tables(records))
        typer.echo(f"Wrote the tables of {len(records)} records to {tables}.")
    typer.echo(f"Open {page} in a browser.")
