"""`twofold fit DATA`: from a user's own files to a metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from twofold.cli import _options as options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twofold.preparation import ColumnPlan
    from twofold.tasks import FitRequest, FitResult

MOST_COLUMNS = 30
"""That are shown one by one."""


def fit(
    out: Annotated[Path, typer.Option(metavar="MODEL", help="Folder to write the model to.")],
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help=options.DATA_HELP, show_default=False)
    ] = None,
    right: options.Right = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value are alike. Rows with several labels, separated by ; or "
            "|, are alike if they share one.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS",
            help="CSV or Parquet with the columns left, right and similar (0/1, yes/no, grade).",
        ),
    ] = None,
    valid: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS",
            help="Pairs for scores and for the threshold; by default a fifth of the pairs is held "
            "out, and of triplets none.",
        ),
    ] = None,
    triplets: Annotated[
        Path | None,
        typer.Option(
            metavar="TRIPLETS",
            help="CSV or Parquet with the columns anchor, positive and negative.",
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Learn from the answers in this folder of `twofold ask`, without DATA and PAIRS.",
        ),
    ] = None,
    id_column: options.IdColumn = None,
    text: options.Text = None,
    columns: options.OnlyColumns = None,
    image: options.Image = None,
    image_size: options.ImageSize = None,
    text_model: options.TextModel = None,
    components: Annotated[
        int | None,
        typer.Option(min=1, help="Numbers per point; by default selected for you."),
    ] = None,
    metric: Annotated[
        Literal["auto", "seen", "unseen"],
        typer.Option(
            help="With classes: will you compare kinds seen in training, new kinds, or both (auto)?"
        ),
    ] = "auto",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of passes over the rows, for a network.")
    ] = None,
    device: options.Device = "auto",
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Learn a metric from your own files.

    Examples: twofold fit products.csv --right offers.csv --pairs decisions.csv --out model

    twofold fit photographs/ --out model (one subfolder per class)
    """
    from twofold.cli._console import show_json, step_bars
    from twofold.tasks import FitRequest, fit_files

    request = FitRequest(
        data=_data_of(data, project),
        out=out,
        right=right,
        labels=labels,
        pairs=pairs,
        valid=valid,
        triplets=triplets,
        id_column=id_column,
        text=tuple(text or ()),
        columns=tuple(columns or ()),
        image=image,
        image_size=image_size,
        text_model=text_model,
        n_components=components,
        metric=metric,
        max_epochs=epochs,
        device=device,
        seed=seed,
        overwrite=overwrite,
    )
    with step_bars() as progress:
        if project is None:
            result = fit_files(request, progress)
        else:
            from twofold.ask import fit_project

            request, result = fit_project(project, request, progress)
    if as_json:
        show_json(_plain(result))
    else:
        _print(result, request)


def _data_of(data: Path | None, project: Path | None) -> Path:
    """Return the data, or the project that knows them."""
    if (data is None) == (project is None):
        raise ValueError("Give either DATA or --project with a folder of `twofold ask`.")
    place = data if project is None else project
    assert place is not None
    return place


def _print(result: FitResult, request: FitRequest) -> None:
    from twofold.cli._console import show, table

    rows = " and ".join(f"{n:,}" for n in result.n_items)
    said = ", ".join(f"{n:,} {what}" for what, n in result.stated.items())
    show(f"{rows} rows; {said}.")
    if result.columns:
        show(
            table(
                ("column", "taken as", "missing", "features", "note"),
                [
                    (name, kind, f"{n_missing:,}", f"{n_features:,}", note)
                    for name, kind, n_missing, n_features, note in _column_rows(result.columns)
                ],
                text=("column", "taken as", "note"),
            )
        )
    for note in result.notes:
        show(note)
    if result.candidates:
        show(_scores(result))
    _print_decision(result)
    seconds = ", ".join(f"{name} {value:.1f} s" for name, value in result.seconds.items())
    if "pair model" in result.seconds:
        seconds += "; learning and pair model side by side"
    show(f"{result.n_features:,} features, {result.n_components:,} components. {seconds}.")
    show(f"The model is in {result.model}. Next:", f"  {_next_command(result, request)}")


def _column_rows(columns: Sequence[ColumnPlan]) -> list[tuple[str, str, int, int, str]]:
    """Return what became of each column; of very many, those of one kind are one row."""
    if len(columns) <= MOST_COLUMNS:
        return [(one.name, one.kind, one.n_missing, one.n_features, one.note) for one in columns]
    groups: dict[tuple[str, str], list[ColumnPlan]] = {}
    for column in columns:
        groups.setdefault((column.kind, column.note), []).append(column)
    return [
        (
            alike[0].name if len(alike) == 1 else f"{alike[0].name} and {len(alike) - 1:,} more",
            kind,
            sum(one.n_missing for one in alike),
            sum(one.n_features for one in alike),
            note,
        )
        for (kind, note), alike in groups.items()
    ]


def _scores(result: FitResult) -> Any:
    from twofold.cli._console import table
    from twofold.cli._decision_tables import SCORES, figure

    scores = result.candidates[0].scores
    n_pairs = scores.n_similar + scores.n_dissimilar
    return table(
        ("", *(one.name for one in result.candidates)),
        [
            (title, *(figure(one.scores, name) for one in result.candidates))
            for title, name in SCORES.items()
        ],
        title=f"On {n_pairs:,} held-out pairs, {scores.n_similar:,} alike, each at its own "
        "threshold (95 % intervals)",
        text=("",),
    )


def _print_decision(result: FitResult) -> None:
    from twofold.cli._console import show

    decision = result.decision
    if decision.threshold is None:
        return
    if decision.by == "pair model":
        limit = f"if its probability is at least {decision.threshold:.4g}"
    elif result.metric == "euclidean":
        limit = f"if its similarity (minus the distance) is at least {decision.threshold:.4g}"
    else:
        limit = f"if its similarity is at least {decision.threshold:.4g}"
    show(
        f"The {decision.by} decides: a pair is alike {limit}. "
        "This threshold was chosen on the held-out pairs, so their F1 is a little optimistic; "
        "score other pairs with `twofold evaluate`."
    )


def _next_command(result: FitResult, request: FitRequest) -> str:
    """Return what a user would most likely type next."""
    id_option = f" --id {request.id_column}" if request.id_column else ""
    if request.right is not None:
        return (
            f"twofold match {result.model} {request.data} {request.right}{id_option} "
            "--out matches.csv"
        )
    return (
        f"twofold search {result.model} --index {request.data} --query {request.data} -k 10"
        f"{id_option}"
    )


def _plain(result: FitResult) -> dict[str, Any]:
    from dataclasses import asdict

    from twofold.cli._decision_tables import plain_scores

    return {
        "n_items": list(result.n_items),
        "stated": result.stated,
        "columns": [asdict(column) for column in result.columns],
        "n_features": result.n_features,
        "n_components": result.n_components,
        "metric": result.metric,
        "held_out": {one.name: plain_scores(one.scores) for one in result.candidates},
        "decision": asdict(result.decision),
        "notes": list(result.notes),
        "seconds": result.seconds,
        "model": str(result.model),
    }
