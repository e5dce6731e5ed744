"""`twofold report`: the page, made again from run records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        Path, typer.Argument(help="A folder with run records, as written by `twofold reproduce`.")
    ],
    out: Annotated[Path, typer.Option(help="The HTML page to write.")] = Path(
        "twofold-report.html"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables as Markdown to this file.")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(help="Also write the tables as LaTeX to this file.")
    ] = None,
) -> None:
    """Make a page of run records: tables, curves, and the paper's figures next to ours."""
    from twofold._core.files import check_place, write_text
    from twofold.experiments import read_records
    from twofold.report import latex_tables, paper_page, paper_tables, read_galleries

    outputs = {"--out": out, "--markdown": markdown, "--latex": latex}
    seen: dict[Path, str] = {}
    for option, place in outputs.items():
        if place is not None and (same := seen.setdefault(check_place(place), option)) != option:
            raise ValueError(f"{same} and {option} both name {place}: give different files.")
    records, galleries = read_records(runs), read_galleries(runs)
    page = write_text(out, paper_page(records, galleries))
    for place, written in ((markdown, paper_tables), (latex, latex_tables)):
        if place is not None:
            tables = write_text(place, written(records))
            typer.echo(f"Wrote the tables of {len(records)} records to {tables}.")
    typer.echo(f"Open {page} in a browser.")
