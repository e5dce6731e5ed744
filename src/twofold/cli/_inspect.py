"""`twofold inspect PAIRS`: whether pairs are enough, consistent and connected."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from twofold._core.files import check_place, write_text
from twofold._core.warnings import RelationWarning

if TYPE_CHECKING:
    from twofold.experiments import Inspection
    from twofold.relations import PairRelation

SHOWN_CHAINS = 5


def inspect(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet with the columns left, right, similar and, if wanted, weight."
        ),
    ],
    features: Annotated[
        Path | None,
        typer.Option(
            help="NumPy, CSV or Parquet with a row an item, to find suspicious pairs by too."
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The column of the features that names the rows.")
    ] = None,
    suspicious: Annotated[
        int, typer.Option(min=0, help="How many suspicious pairs are listed.")
    ] = 20,
    suggest: Annotated[
        int, typer.Option(min=0, help="How many pairs to ask next are listed; needs --features.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was found as JSON, and nothing else.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Where a page is written.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
) -> None:
    """Say whether pairs are enough, consistent and connected, and which are suspicious."""
    # Imported here, so that `twofold --help` does not wait for torch and Numba.
    from twofold.experiments import inspect_pairs
    from twofold.report import inspect_page

    if out is not None:
        check_place(out)  # before the work, not after it
    if suggest and features is None:
        raise ValueError(
            f"--suggest {suggest} needs --features: what to ask next is found by embeddings of "
            "them."
        )
    relation, table, keys = _read(pairs, features, key)
    console = Console()
    with _progress() as progress:
        bars: dict[str, TaskID] = {}

        def show(what: str, share: float) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=1.0)
            progress.update(bars[what], completed=share)

        inspection = inspect_pairs(
            relation,
            table,
            keys=keys,
            n_suspicious=suspicious,
            n_suggested=suggest,
            random_state=seed,
            progress=show,
        )
    if as_json:
        typer.echo(json.dumps(inspection.to_json(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _print(console, inspection)
    if out is not None:
        page = write_text(out, inspect_page(inspection, pairs.name))
        if not as_json:
            console.print(f"Open {page} in a browser.", markup=False, soft_wrap=True)


def _read(pairs: Path, features: Path | None, key: str | None) -> tuple[PairRelation, Any, Any]:
    """Return the relation, the features if there are any, and what the items are called."""
    from twofold.datasets import load_pairs, load_table
    from twofold.relations import PairRelation

    if features is None and key is not None:
        raise ValueError(f"--key {key} names a column of --features: give these too.")
    table = None if features is None else load_table(features, key)
    stated = load_pairs(pairs, None if table is None else table.keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # all of it is told below
        relation = PairRelation(
            stated.left, stated.right, stated.similar, stated.n_items, stated.weight
        )
    return relation, None if table is None else table.features, stated.keys


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,  # else an empty line is left
    )


def _print(console: Console, inspection: Inspection) -> None:
    console.print(_counts(inspection))
    console.print()
    console.print(Text(f"{inspection.headline}.", style="bold"))
    for sentence in inspection.reading:
        console.print(Text(sentence))
    console.print()
    if inspection.gauge is not None:
        console.print(_curve(inspection))
    if inspection.suspects:
        console.print(_suspects(inspection))
    if inspection.suggestions:
        console.print(_suggestions(inspection))
    if inspection.diagnosis.contradictions:
        console.print(_chains(inspection))


def _counts(inspection: Inspection) -> Table:
    from twofold.report import count_rows

    table = Table(title="What is stated", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, figure in count_rows(inspection):
        table.add_row(name, figure)
    return table


def _curve(inspection: Inspection) -> Table:
    table = Table(title="How many pairs it takes", title_justify="left")
    table.add_column("pairs used", justify="right")
    table.add_column("AUROC on others", justify="right")
    for point in inspection.gauge.curve if inspection.gauge is not None else ():
        table.add_row(f"{point.n_pairs:,}", f"{point.auroc:.3f} ± {point.standard_error:.3f}")
    return table


def _suspects(inspection: Inspection) -> Table:
    table = Table(title="The most suspicious pairs, rows from 0", title_justify="left")
    for heading in ("row", "left", "right", "stated", "suspicion"):
        table.add_column(heading, justify="right" if heading in ("row", "suspicion") else "left")
    for one in inspection.suspects:
        stated = {0.0: "not alike", 1.0: "alike"}.get(one.similar, f"{one.similar:.2g}")
        left, right = (Text(str(inspection.key(item))) for item in (one.left, one.right))
        table.add_row(f"{one.row:,}", left, right, stated, f"{one.suspicion:.3f}")
    return table


def _suggestions(inspection: Inspection) -> Table:
    table = Table(title="What to ask next", title_justify="left")
    for heading in ("left", "right", "probably alike"):
        table.add_column(heading, justify="right" if heading == "probably alike" else "left")
    for one in inspection.suggestions or ():
        left, right = (Text(str(inspection.key(item))) for item in (one.left, one.right))
        table.add_row(left, right, f"{one.probability:.2f}")
    return table


def _chains(inspection: Inspection) -> Table:
    from twofold.report import shown_chain

    shown = min(SHOWN_CHAINS, len(inspection.diagnosis.contradictions))
    table = Table(
        title=f"{shown} of {inspection.diagnosis.n_contradictions:,} dissimilar pairs that a chain "
        "of similar ones joins",
        title_justify="left",
    )
    for heading in ("row", "not alike", "and yet"):
        table.add_column(heading, justify="right" if heading == "row" else "left")
    for number in range(shown):
        one = shown_chain(inspection, number)
        table.add_row(f"{one.row:,}", Text(f"{one.left}, {one.right}"), Text(one.text))
    return table
