"""`twofold export MODEL --onnx FILE`: a model for places without Twofold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twofold.cli import _options as options


def export(
    model: options.Model,
    onnx: Annotated[Path, typer.Option(metavar="FILE", help="The .onnx file to write.")],
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Export a model to a single ONNX file, including its scaling and metric.

    Example: twofold export model --onnx model.onnx
    """
    from twofold.cli._console import show, show_json
    from twofold.tasks import export_model

    result = export_model(model, onnx, overwrite=overwrite)
    if as_json:
        show_json(
            {
                "out": str(result.out),
                "n_features": result.n_features,
                "n_components": result.n_components,
                "metric": result.metric,
                "note": result.note,
            }
        )
        return
    show(
        f"Wrote {result.out}. It gives points of {result.n_components} numbers, to be compared by "
        f"{result.metric}. {result.note}"
    )
