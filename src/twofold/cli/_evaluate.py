"""`twofold evaluate MODEL DATA`: how good a model is on what it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twofold.cli import _options as options

if TYPE_CHECKING:
    from twofold.tasks import Evaluation

SHOWN_ERRORS = 3


def evaluate(
    model: options.Model,
    data: options.Data,
    right: options.Right = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS", help="CSV or Parquet with the columns left, right and similar."
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows with the same value are alike.")
    ] = None,
    id_column: options.IdColumn = None,
    threshold: options.Threshold = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", "--out", help="Write an HTML page with curves and errors."),
    ] = None,
    device: options.Device = "auto",
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Score a model on rows and pairs that it has not seen.

    Example: twofold evaluate model left.csv --right right.csv --pairs test.csv --page page.html
    """
    from twofold.cli._console import show, show_json, step_bars
    from twofold.tasks import EvaluateRequest, check_new_file, evaluate_files

    if page is not None:
        check_new_file(page, overwrite)  # before the work, not after it
    request = EvaluateRequest(
        model=model,
        data=data,
        right=right,
        pairs=pairs,
        labels=labels,
        id_column=id_column,
        threshold=threshold,
        device=device,
        seed=seed,
    )
    with step_bars() as progress:
        evaluation = evaluate_files(request, progress)
    if page is not None:
        from twofold._core.files import write_text
        from twofold.report import evaluation_page

        write_text(page, evaluation_page(evaluation))
    if as_json:
        show_json(_plain(evaluation))
        return
    _print(evaluation)
    if page is not None:
        show(f"Open {page} in a browser.")


def _print(evaluation: Evaluation) -> None:
    from twofold.cli._console import show, table
    from twofold.cli._decision_tables import SCORES, figure, short

    scores = evaluation.decisions
    rows = [(title, figure(scores, name)) for title, name in SCORES.items()]
    rows.append(("equal error rate", short(scores.eer)))
    if evaluation.retrieval is not None:
        found = evaluation.retrieval
        rows += [(f"recall@{k}", short(share)) for k, share in found.recall_at.items()]
        rows += [("R-precision", short(found.r_precision)), ("MAP@R", short(found.map_at_r))]
    show(
        table(
            ("score", "value"),
            rows,
            title=f"{scores.n_similar + scores.n_dissimilar:,} pairs, {scores.n_similar:,} of them "
            f"alike; {evaluation.by} with threshold {scores.threshold:.4g}",
            text=("score",),
        )
    )
    for title, wrong, n_wrong in (
        ("Called alike, but are not", evaluation.false_alarms, evaluation.n_false_alarms),
        ("Alike, but not found", evaluation.misses, evaluation.n_misses),
    ):
        shown = [row for one in wrong[:SHOWN_ERRORS] for row in (*_side_by_side(one), None)]
        if shown:
            show(
                table(
                    ("", "left", "right"),
                    shown,
                    title=f"{title}: {n_wrong:,}, the worst of them",
                    text=("", "left", "right"),
                )
            )


def _side_by_side(wrong: Any) -> list[tuple[str, str, str]]:
    """Return the rows of a table that shows two records beside each other."""
    names = list(dict.fromkeys([*wrong.left, *wrong.right]))
    rows = [(f"{wrong.score:.3g}", wrong.left_id, wrong.right_id)]
    return rows + [(name, wrong.left.get(name, ""), wrong.right.get(name, "")) for name in names]


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    from dataclasses import asdict

    from twofold.cli._decision_tables import plain_scores

    retrieval = evaluation.retrieval
    return {
        "model": evaluation.model,
        "data": evaluation.data,
        "by": evaluation.by,
        "decisions": plain_scores(evaluation.decisions),
        "retrieval": None if retrieval is None else asdict(retrieval),
        "n_false_alarms": evaluation.n_false_alarms,
        "n_misses": evaluation.n_misses,
        "false_alarms": [asdict(one) for one in evaluation.false_alarms],
        "misses": [asdict(one) for one in evaluation.misses],
        "seconds": evaluation.seconds,
    }
