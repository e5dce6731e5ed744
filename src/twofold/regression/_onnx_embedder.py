"""Embedders as nodes of an ONNX graph: input scaling, network or map, targets' own coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from torch import nn

from twofold._core.onnx_graph import CannotExportError, OnnxGraph, Value
from twofold.regression._bit_classifiers import BitClassifiers
from twofold.regression._bit_layer import BitLayer
from twofold.regression._embedder_files import Embedder
from twofold.regression._expected_target import ExpectedTarget
from twofold.regression._feature_skip import SKIP_RATE, FeatureSkip
from twofold.regression._joint_signs import LEAST_GAIN, SMALLEST, JointSigns
from twofold.regression._layers import FEATURES, OUTPUT
from twofold.regression._network_embedder import NetworkEmbedder, OutputScale
from twofold.regression._onnx_layers import array_of, write_module
from twofold.regression._onnx_regressors import write_regressor
from twofold.regression._projection import FeaturesAsGiven, ProjectionLayer
from twofold.regression._ridge_map import RidgeMap
from twofold.regression._scaling import InputScaling
from twofold.regression._target_direction import TargetDirection

Layers = dict[str, Value]


def write_embedder(graph: OnnxGraph, embedder: Embedder, names: Sequence[str]) -> Layers:
    """Add an embedder to a graph; return layers of it by name, as `read_layers` does.

    Parameters
    ----------
    graph : OnnxGraph
        To be extended.
    embedder : NetworkEmbedder, RegressorEmbedder or BitClassifiers
        Trained.
    names : sequence of str
        The layers that are needed: "features", "output" or inner ones.
    """
    layers: Layers = {}
    if isinstance(embedder, NetworkEmbedder):
        _refuse_views(embedder.n_views)
        inner = [name for name in names if name not in (FEATURES, OUTPUT)]
        output, layers = _write_network(graph, embedder.network, inner)
    elif not isinstance(embedder, BitClassifiers):
        output = write_regressor(graph, embedder.regressor, graph.flat(graph.items))
    else:
        raise CannotExportError(
            "Codes that are predicted by classifiers cannot be exported to ONNX; those of "
            "networks and of some regressors can. Use save, or another embedder."
        )
    layers[OUTPUT] = _write_scale(graph, embedder.output_scale, output)
    if FEATURES in names:
        layers[FEATURES] = graph.flat(graph.items)
    return {name: layers[name] for name in names}


def _refuse_views(n_views: int) -> None:
    if n_views > 1:
        raise CannotExportError(
            f"This model averages {n_views} views of an image, which an ONNX file cannot do: set "
            "learner.embedder_.n_views = 1 to export a single view, or fit with views=1."
        )


def _write_scale(graph: OnnxGraph, scale: OutputScale | None, output: Value) -> Value:
    return output if scale is None else graph.plus(graph.times(output, scale.scale), scale.mean)


def _write_network(
    graph: OnnxGraph, network: nn.Module, names: Sequence[str]
) -> tuple[Value, Layers]:
    """Add a prepared network or a map; return its output and inner layers."""
    if isinstance(network, FeaturesAsGiven):
        return graph.flat(graph.items), {}
    if isinstance(network, RidgeMap):
        return _write_ridge_map(graph, network), {}
    if isinstance(network, FeatureSkip):
        return _write_skip(graph, network), {}
    assert isinstance(network, nn.Sequential)
    scaling, body, *head = network
    assert isinstance(scaling, InputScaling)
    output, layers = write_module(graph, body, _write_scaling(graph, scaling), names)
    for last in head:
        output = _write_head(graph, last, output)
    return output, layers


def _write_scaling(graph: OnnxGraph, scaling: InputScaling) -> Value:
    shift, scale = array_of(scaling.shift), array_of(scaling.scale)
    value = graph.add("Sub", graph.items, graph.constant(shift))
    value = graph.add("Div", value, graph.constant(scale))
    limit = float(scaling.limit)
    if math.isinf(limit):
        return value
    return graph.add("Clip", value, graph.constant(-limit), graph.constant(limit))


def _write_head(graph: OnnxGraph, head: nn.Module, output: Value) -> Value:
    """Add what comes after a network: the expected target, the direction, or what makes bits."""
    if isinstance(head, TargetDirection):
        return graph.times(graph.normalised(output), float(head.length))
    if isinstance(head, BitLayer):
        return graph.affine(output, array_of(head.weight).T, array_of(head.bias))
    if isinstance(head, JointSigns):
        return _write_joint_signs(graph, head, output)
    assert isinstance(head, ExpectedTarget)
    targets = array_of(head.targets)
    log_odds = graph.affine(output, targets.T / np.float32(math.sqrt(targets.shape[1])))
    return graph.affine(graph.add("Softmax", log_odds, attributes={"axis": 1}), targets)


def _write_joint_signs(graph: OnnxGraph, head: JointSigns, expected: Value) -> Value:
    """Add z · |e|: the steps of `JointSigns.signs`, each of which may flip a bit of every item."""
    matrix = array_of(head.agreement)
    agreement, diagonal = graph.constant(matrix), graph.constant(matrix.diagonal())
    axes, tiny = graph.constant([1], np.int64), graph.constant(SMALLEST)
    least = graph.constant(LEAST_GAIN)

    def along_rows(operator: str, value: Value) -> Value:
        return graph.add(operator, value, axes, attributes={"keepdims": 1})

    is_set = graph.add("GreaterOrEqual", expected, graph.constant(0.0))
    signs = graph.add("Where", is_set, graph.constant(1.0), graph.constant(-1.0))
    asked = graph.add("MatMul", expected, agreement)
    held = graph.add("MatMul", signs, agreement)
    along = graph.add("Max", along_rows("ReduceSum", graph.add("Mul", signs, asked)), tiny)
    length = graph.add("Div", along_rows("ReduceSum", graph.add("Mul", signs, held)), along)
    length = graph.add("Max", length, graph.constant(1.0))
    pull = graph.add("Sub", held, graph.add("Mul", length, asked))
    for _ in range(head.most_flips):
        gains = graph.add("Sub", graph.add("Mul", signs, pull), diagonal)
        best = along_rows("ReduceMax", gains)
        is_best = graph.add("GreaterOrEqual", gains, graph.add("Sub", best, least))
        which = graph.cast(is_best, np.float32)
        which = graph.add("ArgMax", which, attributes={"axis": 1, "keepdims": 1})
        is_worth = graph.add("Greater", best, least)
        present = graph.add("GatherElements", signs, which, attributes={"axis": 1})
        change = graph.add("Where", is_worth, graph.times(present, -2.0), graph.constant(0.0))
        signs = graph.add(
            "ScatterElements", signs, which, change, attributes={"axis": 1, "reduction": "add"}
        )
        rows = graph.add("Gather", agreement, which, attributes={"axis": 0})
        rows = graph.add("Flatten", rows, attributes={"axis": 2})
        pull = graph.add("Add", pull, graph.add("Mul", change, rows))
    sizes = graph.add("Max", graph.add("Abs", expected), tiny)
    return graph.add("Mul", signs, sizes)


def _write_centred(graph: OnnxGraph, projection: ProjectionLayer) -> Value:
    value = graph.flat(graph.items)
    if projection.is_unit:
        value = graph.normalised(value)
    if projection.limits is not None:
        least, most = (graph.constant(row) for row in array_of(projection.limits))
        value = graph.add("Min", graph.add("Max", value, least), most)
    return graph.add("Sub", value, graph.constant(array_of(projection.shift)))


def _write_skip(graph: OnnxGraph, skip: FeatureSkip) -> Value:
    """P (x − m) + gain · f(x)."""
    matrix = array_of(skip.projection.matrix + SKIP_RATE * skip.change)
    points = graph.affine(_write_centred(graph, skip.projection), matrix.T)
    output, _ = _write_network(graph, skip.body, ())
    if skip.gain is not None:
        output = graph.times(output, float(skip.gain.detach()))
    return graph.add("Add", points, output)


def _write_ridge_map(graph: OnnxGraph, ridge: RidgeMap) -> Value:
    """Z A + k(z) H, the kernel in double precision as it was fitted."""
    matrix, landmarks = array_of(ridge.projection.matrix), array_of(ridge.landmarks)
    points = graph.affine(_write_centred(graph, ridge.projection), matrix.T)
    squares = graph.squared_distances(graph.cast(points, np.float64), landmarks)
    width = float(ridge.width)
    kernel = graph.add("Exp", graph.times(squares, -0.5 / (width * width), np.float64))
    bent = graph.affine(graph.cast(kernel, np.float32), array_of(ridge.dual_coef))
    return graph.add("Add", graph.affine(points, array_of(ridge.linear_weights)), bent)
