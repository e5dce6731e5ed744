"""`twofold inspect PAIRS`: whether pairs are enough, consistent and connected."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twofold.cli._console import show, show_json, step_bars, table

if TYPE_CHECKING:
    from rich.table import Table

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
    from twofold._core.files import check_place, write_text
    from twofold.experiments import inspect_pairs
    from twofold.report import inspect_page

    if out is not None:
        check_place(out)  # before the work, not after it
    if suggest and features is None:
        raise ValueError(
            f"--suggest {suggest} needs --features: what to ask next is found by embeddings of "
            "them."
        )
    relation, rows, keys = _read(pairs, features, key)
    with step_bars() as show_share:
        inspection = inspect_pairs(
            relation,
            rows,
            keys=keys,
            n_suspicious=suspicious,
            n_suggested=suggest,
            random_state=seed,
            progress=show_share,
        )
    if as_json:
        show_json(inspection.to_json())
    else:
        _show(inspection)
    if out is not None:
        page = write_text(out, inspect_page(inspection, pairs.name))
        if not as_json:
            show(f"Open {page} in a browser.")


def _read(pairs: Path, features: Path | None, key: str | None) -> tuple[PairRelation, Any, Any]:
    """Return the relation, the features if there are any, and what the items are called."""
    from twofold._core.warnings import RelationWarning
    from twofold.datasets import load_pairs, load_table
    from twofold.relations import PairRelation

    if features is None and key is not None:
        raise ValueError(f"--key {key} names a column of --features: give these too.")
    items = None if features is None else load_table(features, key)
    stated = load_pairs(pairs, None if items is None else items.keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # all of it is told below
        relation = PairRelation(
            stated.left, stated.right, stated.similar, stated.n_items, stated.weight
        )
    return relation, None if items is None else items.features, stated.keys


def _show(inspection: Inspection) -> None:
    from rich.text import Text

    show(_counts(inspection), "", Text(f"{inspection.headline}.", style="bold"))
    show(*map(Text, inspection.reading), "")
    if inspection.gauge is not None:
        show(_curve(inspection))
    if inspection.suspects:
        show(_suspects(inspection))
    if inspection.suggestions:
        show(_suggestions(inspection))
    if inspection.diagnosis.contradictions:
        show(_chains(inspection))


def _counts(inspection: Inspection) -> Table:
    from twofold.report import count_rows

    return table(
        ("what", "number"),
        count_rows(inspection),
        title="What is stated",
        text=("what",),
        has_header=False,
    )


def _curve(inspection: Inspection) -> Table:
    points = inspection.gauge.curve if inspection.gauge is not None else ()
    return table(
        ("pairs used", "AUROC on others"),
        [(f"{one.n_pairs:,}", f"{one.auroc:.3f} ± {one.standard_error:.3f}") for one in points],
        title="How many pairs it takes",
    )


def _suspects(inspection: Inspection) -> Table:
    stated = {0.0: "not alike", 1.0: "alike"}
    return table(
        ("row", "left", "right", "stated", "suspicion"),
        [
            (
                f"{one.row:,}",
                str(inspection.key(one.left)),
                str(inspection.key(one.right)),
                stated.get(one.similar, f"{one.similar:.2g}"),
                f"{one.suspicion:.3f}",
            )
            for one in inspection.suspects
        ],
        title="The most suspicious pairs, rows from 0",
        text=("left", "right", "stated"),
    )


def _suggestions(inspection: Inspection) -> Table:
    return table(
        ("left", "right", "probably alike"),
        [
            (
                str(inspection.key(one.left)),
                str(inspection.key(one.right)),
                f"{one.probability:.2f}",
            )
            for one in inspection.suggestions or ()
        ],
        title="What to ask next",
        text=("left", "right"),
    )


def _chains(inspection: Inspection) -> Table:
    from twofold.report import shown_chain

    n_shown = min(SHOWN_CHAINS, len(inspection.diagnosis.contradictions))
    shown = [shown_chain(inspection, number) for number in range(n_shown)]
    return table(
        ("row", "not alike", "and yet"),
        [(f"{one.row:,}", f"{one.left}, {one.right}", one.text) for one in shown],
        title=f"{n_shown} of {inspection.diagnosis.n_contradictions:,} dissimilar pairs that a "
        "chain of similar ones joins",
        text=("not alike", "and yet"),
    )
