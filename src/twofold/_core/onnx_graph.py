"""An ONNX graph that is written node by node, so that what is exported is known to the last node.

Only the package `onnx` is needed, and only while a graph is written. Values are known by name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from twofold._core.files import new_file

OPSET, IR_VERSION = 18, 8
"""Of 2022: what onnxruntime has read since 1.14, and all that is needed here."""
MOST_BYTES = 2**31 - 2**20
"""Of one file: Protocol Buffers' limit, less what is not weights."""
INPUT, OUTPUT = "features", "points"
TINY = 1e-12
"""Lengths up to which a row has none."""

Value = str
"""The name of a value in a graph."""
Attribute = int | float | str | Sequence[int]


class CannotExportError(TypeError):
    """What a model is made of has no form in ONNX that is known here."""


class OnnxGraph:
    """Nodes and constants, in the order of the work.

    Parameters
    ----------
    input_shape : tuple of int
        Of one item.
    input_type : {"float32", "uint8"}
        Of its numbers.

    Attributes
    ----------
    items : str
        The input as float32, shape (n_items, *input_shape).
    """

    def __init__(self, input_shape: tuple[int, ...], input_type: str = "float32") -> None:
        self.input_shape, self.input_type = input_shape, input_type
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._n_bytes = 0
        self.items = INPUT if input_type == "float32" else self.cast(INPUT, np.float32)

    def constant(self, array: Any, dtype: DTypeLike = np.float32) -> Value:
        """Return an array, or a number, as a value."""
        from onnx import numpy_helper

        numbers = np.ascontiguousarray(np.asarray(array), dtype=dtype).reshape(np.shape(array))
        self._n_bytes += numbers.nbytes
        if self._n_bytes > MOST_BYTES:
            raise CannotExportError(
                "The model has more than 2 GiB of weights, which is the most that an ONNX file "
                "can hold: use save, or a smaller embedder."
            )
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(numbers, name))
        return name

    def add(
        self, operator: str, *inputs: Value, attributes: Mapping[str, Attribute] | None = None
    ) -> Value:
        """Add a node with one output; return that."""
        from onnx import helper

        name = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], **dict(attributes or {})))
        return name

    def inline(self, graph: Any, value: Value, prefix: str) -> list[Value]:
        """Add all of another graph of one input; return its outputs."""
        from onnx import compose

        inner = compose.add_prefix_graph(graph, prefix)
        (given,) = inner.input
        for node in inner.node:
            read = [value if name == given.name else name for name in node.input]
            del node.input[:]
            node.input.extend(read)
        self._nodes.extend(inner.node)
        self._constants.extend(inner.initializer)
        return [output.name for output in inner.output]

    # What several kinds of maps are made of

    def cast(self, value: Value, dtype: DTypeLike) -> Value:
        """Return a value as another type."""
        from onnx import helper

        to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", value, attributes={"to": int(to)})

    def flat(self, value: Value) -> Value:
        """Return items as rows."""
        return self.add("Flatten", value, attributes={"axis": 1})

    def affine(
        self,
        value: Value,
        matrix: NDArray[Any],
        offset: Any = None,
        dtype: DTypeLike = np.float32,
    ) -> Value:
        """Return rows times a matrix, plus an offset."""
        product = self.add("MatMul", value, self.constant(matrix, dtype))
        return product if offset is None else self.plus(product, offset, dtype)

    def plus(self, value: Value, offset: Any, dtype: DTypeLike = np.float32) -> Value:
        """Return a value plus a constant."""
        return self.add("Add", value, self.constant(offset, dtype))

    def times(self, value: Value, factor: Any, dtype: DTypeLike = np.float32) -> Value:
        """Return a value times a constant."""
        return self.add("Mul", value, self.constant(factor, dtype))

    def joined(self, values: Sequence[Value]) -> Value:
        """Return rows side by side."""
        return (
            values[0] if len(values) == 1 else self.add("Concat", *values, attributes={"axis": 1})
        )

    def lengths(self, value: Value) -> Value:
        """Return the lengths of rows, shape (n_items, 1)."""
        axes = self.constant([1], np.int64)
        return self.add("ReduceL2", value, axes, attributes={"keepdims": 1})

    def unit_rows(self, value: Value) -> Value:
        """Return rows divided by their lengths; those of no length stay as they are."""
        lengths = self.lengths(value)
        is_long = self.add("Greater", lengths, self.constant(TINY))
        return self.add("Div", value, self.add("Where", is_long, lengths, self.constant(1.0)))

    def normalised(self, value: Value) -> Value:
        """Return rows divided by their lengths, or by `TINY` where these are less."""
        return self.add("Div", value, self.add("Max", self.lengths(value), self.constant(TINY)))

    def squared_distances(self, value: Value, points: NDArray[Any]) -> Value:
        """Return ‖row − point‖² of all rows and points, in double precision."""
        double = np.asarray(points, dtype=np.float64)
        squares = self.add("Mul", value, value)
        lengths = self.add("ReduceSum", squares, self.constant([1], np.int64))
        products = self.affine(value, -2 * double.T, np.square(double).sum(axis=1), np.float64)
        return self.add("Max", self.add("Add", products, lengths), self.constant(0.0, np.float64))

    def packed_signs(self, value: Value, n_bits: int) -> Value:
        """Return a set bit for each number that is at least 0, the first of a byte its largest."""
        weights = np.zeros((n_bits, -(-n_bits // 8)), dtype=np.float32)
        numbers = np.arange(n_bits)
        weights[numbers, numbers // 8] = 2.0 ** (7 - numbers % 8)
        is_set = self.cast(self.add("GreaterOrEqual", value, self.constant(0.0)), np.float32)
        return self.cast(self.affine(is_set, weights), np.uint8)

    def write(
        self,
        path: str | os.PathLike[str],
        points: Value,
        n_components: int,
        notes: Mapping[str, str],
        output_type: str = "float32",
    ) -> Path:
        """Write the file whose output is `points`, whole or not at all, with notes inside."""
        from onnx import TensorProto, checker, helper

        self._nodes.append(helper.make_node("Identity", [points], [OUTPUT]))
        kind = TensorProto.FLOAT if self.input_type == "float32" else TensorProto.UINT8
        given = helper.make_tensor_value_info(INPUT, kind, ["n_items", *self.input_shape])
        out = TensorProto.FLOAT if output_type == "float32" else TensorProto.UINT8
        made = helper.make_tensor_value_info(OUTPUT, out, ["n_items", n_components])
        graph = helper.make_graph(self._nodes, "twofold", [given], [made], self._constants)
        model = helper.make_model(
            graph,
            producer_name="twofold",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(model, dict(notes))
        checker.check_model(model)
        with new_file(path) as beside:
            beside.write_bytes(model.SerializeToString(deterministic=True))
        return Path(path)


def require_onnx() -> None:
    """Say what to install where `onnx` is missing."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Writing ONNX needs the package onnx: pip install 'twofold[onnx]'."
        ) from error
