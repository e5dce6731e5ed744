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
    latex: Annotated[
        Path | None, typer.Option(help="Where they are written as LaTeX, for a paper.")
    ] = None,
) -> None:
    """Make one page of run records: tables, curves and the paper's figures beside ours."""
    from twofold._core.files import check_place, write_text
    from twofold.experiments import read_records
    from twofold.report import latex_tables, paper_page, paper_tables, read_galleries

    outputs = {"--out": out, "--markdown": markdown, "--latex": latex}
    seen: dict[Path, str] = {}
    for option, place in outputs.items():
        if place is not None and (same := seen.setdefault(check_place(place), option)) != option:
            raise ValueError(f"{same} and {option} both name {place}: name two files.")
    records, galleries = read_records(runs), read_galleries(runs)
    page = write_text(out, paper_page(records, galleries))
    for place, written in ((markdown, paper_tables), (latex, latex_tables)):
        if place is not None:
            tables = write_text(place, written(records))
            typer.echo(f"Wrote the tables of {len(records)} records to {tables}.")
    typer.echo(f"Open {page} in a browser.")
