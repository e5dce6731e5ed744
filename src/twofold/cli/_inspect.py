"""`twofold inspect PAIRS`: whether pairs are enough, consistent and connected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twofold.cli._console import show, show_json, step_bars, table

if TYPE_CHECKING:
    from rich.console import Group

    from twofold.experiments import Inspection, Suggested, Suspect

SHOWN_CHAINS, SHOWN_FIELDS, SHOWN_LETTERS = 5, 6, 120
"""Chains, fields of an item and letters of a field that a terminal shows; a page shows more."""


def inspect(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet with the columns left, right, similar and optionally weight."
        ),
    ],
    features: Annotated[
        Path | None,
        typer.Option(
            help="Features to find suspicious pairs with, one row per item: CSV, Parquet or NumPy. "
            "Text, categories and dates are detected automatically."
        ),
    ] = None,
    right: Annotated[
        Path | None,
        typer.Option(help="A second table with the same columns, for the rows in `right`."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--id", "--key", help="The column of the features with the ids of the rows."),
    ] = None,
    suspicious: Annotated[
        int, typer.Option(min=0, help="Number of suspicious pairs to list.")
    ] = 20,
    suggest: Annotated[
        int, typer.Option(min=0, help="Number of pairs to suggest asking about; needs --features.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write an HTML page to this file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Check whether pairs are enough, consistent and connected, and which look wrong.

    Example: twofold inspect decisions.csv --features products.csv --out page.html
    """
    from twofold._core.files import check_place, write_text
    from twofold.experiments import inspect_pairs, read_inspected
    from twofold.report import inspect_page

    if out is not None:
        check_place(out)  # before the work, not after it
    if suggest and features is None:
        raise ValueError(
            f"--suggest {suggest} needs --features: questions are found by embedding them."
        )
    for option, given in (("--id", key), ("--right", right)):
        if features is None and given is not None:
            raise ValueError(f"{option} {given} refers to the table of items: give --features too.")
    files = read_inspected(pairs, features, right, key=key)
    with step_bars() as show_share:
        inspection = inspect_pairs(
            files.relation,
            files.features,
            keys=files.keys,
            fields=files.fields,
            notes=files.notes,
            n_left=files.n_left,
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


def _show(inspection: Inspection) -> None:
    from rich.text import Text

    show(Text(f"{inspection.headline}.", style="bold"))
    show(*map(Text, (*inspection.reading, *inspection.notes)), "")
    show(_counts(inspection), *([] if inspection.gauge is None else [_curve(inspection)]))
    if inspection.suspects:
        show(_suspects(inspection))
    if inspection.suggestions:
        show(_suggestions(inspection))
    if inspection.diagnosis.contradictions:
        show(_chains(inspection))


def _counts(inspection: Inspection) -> Group:
    from twofold.report import count_rows

    return table(
        ("what", "number"),
        count_rows(inspection),
        title="The statements",
        text=("what",),
        has_header=False,
    )


def _curve(inspection: Inspection) -> Group:
    points = inspection.gauge.curve if inspection.gauge is not None else ()
    return table(
        ("pairs used", "AUROC on others"),
        [(f"{one.n_pairs:,}", f"{one.auroc:.3f} ± {one.standard_error:.3f}") for one in points],
        title="How many pairs are needed",
    )


def _suspects(inspection: Inspection) -> Group:
    from twofold.report import stated

    title = "The most suspicious pairs, rows from 0"
    said = {
        one: (f"{one.row:,}", stated(one), f"{one.suspicion:.3f}") for one in inspection.suspects
    }
    if inspection.fields:
        return table(
            ("row", "stated", "suspicion", "", "left", "right"),
            [row for one in said for row in _side_by_side(inspection, one, said[one])],
            title=title,
            text=("stated", "", "left", "right"),
        )
    return table(
        ("row", "left", "right", "stated", "suspicion"),
        [(row, *_keys(inspection, one), *rest) for one, (row, *rest) in said.items()],
        title=title,
        text=("left", "right", "stated"),
    )


def _suggestions(inspection: Inspection) -> Group:
    title, suggested = "What to ask next", inspection.suggestions or ()
    said = {one: (f"{one.probability:.2f}",) for one in suggested}
    if inspection.fields:
        return table(
            ("probably alike", "", "left", "right"),
            [row for one in said for row in _side_by_side(inspection, one, said[one])],
            title=title,
            text=("", "left", "right"),
        )
    return table(
        ("left", "right", "probably alike"),
        [(*_keys(inspection, one), *said[one]) for one in suggested],
        title=title,
        text=("left", "right"),
    )


def _keys(inspection: Inspection, one: Suspect | Suggested) -> tuple[str, str]:
    return str(inspection.key(one.left)), str(inspection.key(one.right))


def _side_by_side(
    inspection: Inspection, one: Suspect | Suggested, said: tuple[str, ...]
) -> Iterator[tuple[str, ...] | None]:
    """Yield the rows of a pair: what is said of it, and its items' fields beside each other."""
    from twofold.report import side_by_side_fields

    yield None
    yield (*said, "", *_keys(inspection, one))
    for pair in side_by_side_fields(inspection, one, SHOWN_LETTERS)[:SHOWN_FIELDS]:
        yield (*[""] * len(said), pair.name, pair.left, pair.right)


def _chains(inspection: Inspection) -> Group:
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
