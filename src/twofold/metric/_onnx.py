"""The metric step as nodes of an ONNX graph: what `MetricStep.transform` computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from twofold._core.onnx_graph import OnnxGraph, Value
from twofold.metric._gate import GateCurve
from twofold.metric._layer_space import LayerSpace
from twofold.metric._step import MetricStep


def write_metric(graph: OnnxGraph, step: MetricStep, layers: Mapping[str, Value]) -> Value:
    """Add a metric step to a graph; return points of length 1.

    Parameters
    ----------
    graph : OnnxGraph
        To be extended.
    step : MetricStep
        What is computed.
    layers : mapping of str to str
        The layers that it needs, by name.
    """
    joined = graph.unit_rows(
        graph.joined(
            [
                graph.times(_write_space(graph, space, layers[space.layer]), weight**0.5)
                for space, weight in zip(step.spaces, step.weights, strict=True)
            ]
        )
    )
    if step.gate is not None:
        cosines = graph.affine(joined, _array(step.class_means).T)
        share = _write_share(graph, step.gate, cosines)
        output = graph.plus(layers["output"], -_array(step.output_mean))
        joined = _write_gated(graph, joined, graph.unit_rows(output), share)
    return graph.unit_rows(graph.affine(joined, _array(step.components)))


def _write_space(graph: OnnxGraph, space: LayerSpace, vectors: Value) -> Value:
    centred = graph.plus(vectors, -_array(space.mean))
    points = graph.affine(centred, _array(space.matrix))
    if space.lift > 0:
        pads = graph.constant([0, 0, 0, 1], np.int64)
        points = graph.add("Pad", points, pads, graph.constant(space.lift))
    return graph.unit_rows(points)


def _write_share(graph: OnnxGraph, gate: GateCurve, cosines: Value) -> Value:
    """Share · σ(slope · largest cosine + offset), shape (n_items, 1)."""
    axes = graph.constant([1], np.int64)
    nearest = graph.add("ReduceMax", cosines, axes, attributes={"keepdims": 1})
    chance = graph.add("Sigmoid", graph.plus(graph.times(nearest, gate.slope), gate.offset))
    return graph.times(chance, gate.share)


def _write_gated(graph: OnnxGraph, points: Value, output: Value, share: Value) -> Value:
    """[√(1 − share) · points, √share · output]."""
    rest = graph.add("Sub", graph.constant(1.0), share)
    parts = [(points, rest), (output, share)]
    return graph.joined([graph.add("Mul", part, graph.add("Sqrt", size)) for part, size in parts])


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().cpu().numpy()
