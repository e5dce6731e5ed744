"""A fitted learner as one ONNX file, which embeds as `transform` does and needs no torch."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal, get_args

from twofold._core.checks import check_choice
from twofold._core.onnx_graph import OnnxGraph, require_onnx
from twofold._core.versions import package_versions
from twofold.estimators._model import Model
from twofold.metric import write_metric
from twofold.regression import write_embedder

FORMAT, FORMAT_VERSION = "twofold-onnx", 1
InputType = Literal["float32", "uint8"]


def write_onnx(
    model: Model, path: str | os.PathLike[str], input_type: InputType, has_unit_points: bool
) -> Path:
    """Write a model as ONNX, whole or not at all; see `EmbeddingLearner.to_onnx`.

    Parameters
    ----------
    model : Model
        What a learner saves.
    path : path
        Of the file.
    input_type : {"float32", "uint8"}
        Of the features.
    has_unit_points : bool
        Whether the embedder's points are brought to length 1.
    """
    require_onnx()
    check_choice("input_type", input_type, get_args(InputType))
    step = model.metric_step
    graph = OnnxGraph(_input_shape(model), input_type)
    layers = write_embedder(graph, model.embedder, ["output"] if step is None else step.layer_names)
    points = layers["output"] if step is None else write_metric(graph, step, layers)
    if step is None and has_unit_points:
        points = graph.normalised(points)
    if model.fitted.metric == "hamming":
        points = graph.packed_signs(points, model.fitted.n_components)
        return graph.write(path, points, -(-model.fitted.n_components // 8), _notes(model), "uint8")
    return graph.write(path, points, model.fitted.n_components, _notes(model))


def _input_shape(model: Model) -> tuple[int, ...]:
    """Return the shape of one item; regressors take rows of numbers."""
    shape = getattr(model.embedder, "input_shape", None)
    if shape is not None:
        return tuple(shape)
    n_features = model.fitted.n_features_in
    assert n_features is not None
    return (n_features,)


def _notes(model: Model) -> dict[str, str]:
    """Return what a reader of the file needs to compare its points."""
    fitted = model.fitted
    notes = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "twofold": package_versions(["twofold"])["twofold"],
        "learner": model.learner,
        "metric": fitted.metric,
        "n_components": str(fitted.n_components),
    }
    if fitted.threshold is not None:
        notes["threshold"] = repr(float(fitted.threshold))
    if fitted.feature_names_in is not None:
        notes["feature_names"] = json.dumps(fitted.feature_names_in)
    return notes
