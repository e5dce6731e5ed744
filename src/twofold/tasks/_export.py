"""`twofold export`: a model as one ONNX file, for places without Twofold and torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from twofold.tasks._places import check_new_file
from twofold.tasks._prepared_model import PreparedModel


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written.

    Attributes
    ----------
    out : Path
        The file.
    n_features, n_components : int or None
        Numbers of features of an item, and of components of a point.
    metric : str
        How to compare points.
    note : str
        What the file takes as input, and what it does not contain.
    """

    out: Path
    n_features: int | None
    n_components: int
    metric: str
    note: str


def export_model(model: Path, out: Path, *, overwrite: bool = False) -> ExportResult:
    """Export the embedding of a model to ONNX, including its scaling and the metric step.

    Parameters
    ----------
    model : Path
        The folder.
    out : Path
        The file, which ends in .onnx.
    overwrite : bool
        Whether a file that is there may be replaced.
    """
    if out.suffix.lower() != ".onnx":
        raise ValueError(f"{out} must end in .onnx.")
    check_new_file(out, overwrite)
    opened = PreparedModel.open(model, device="cpu")
    opened.learner.to_onnx(out)
    notes = {
        "features": "It takes rows of features like those it was fitted on.",
        "images": "It takes images as bytes, all of the same size, (n, channels, height, width).",
        "table": "It takes features prepared from a table by the model's own preparation, which it "
        "does not contain: use twofold.tasks.PreparedModel.open(MODEL).features(records).",
    }
    return ExportResult(
        out,
        getattr(opened.learner, "n_features_in_", None),
        opened.learner.n_components_,
        opened.learner.metric_,
        notes[opened.source],
    )
