"""Layers of torch as nodes of an ONNX graph: those that networks are usually made of.

They are written here one by one, in milliseconds and the same every time. Any other module goes
through torch's own exporter, which has to trace it.
"""

from __future__ import annotations

import copy
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold._core.onnx_graph import OPSET, Attribute, CannotExportError, OnnxGraph, Value
from twofold.regression._draws import Dropout
from twofold.regression._fast_networks import Residual
from twofold.regression._layers import watch_layers
from twofold.regression._maps import averaging_matrix, module_of
from twofold.regression._norm_gelu import Chain
from twofold.regression._pooling import MaxPool

Writer = Callable[[OnnxGraph, Any, Value], Value]


def array_of(tensor: Tensor) -> NDArray[Any]:
    """Return weights as an array."""
    return tensor.detach().cpu().contiguous().numpy()


def write_module(
    graph: OnnxGraph, module: nn.Module, items: Value, names: Sequence[str]
) -> tuple[Value, dict[str, Value]]:
    """Add a network, its input scaled already; return its output, and inner layers by name."""
    modules = list(dict.fromkeys(map(module_of, names)))
    if _is_plain(module):
        seen: dict[str, Value] = {}
        name_of = {id(inner): name for name, inner in module.named_modules()}
        output = _write_plain(graph, module, items, name_of, seen)
    else:
        output, seen = _write_traced(graph, module, items, modules)
    if not modules:
        return output, {}
    with watch_layers(module, modules) as watched, torch.no_grad():
        device = next(module.parameters()).device
        module.eval()(torch.zeros(2, *graph.input_shape, device=device))
    shapes = {name: tuple(value.shape[1:]) for name, _, value in watched}
    return output, {name: _write_vector(graph, name, seen, shapes) for name in names}


def _write_vector(
    graph: OnnxGraph, layer: str, seen: dict[str, Value], shapes: dict[str, tuple[int, ...]]
) -> Value:
    """Return a layer's vectors; those of a map are means over its places."""
    module = module_of(layer)
    value, shape = seen[module], shapes[module]
    if len(shape) != 3:
        return value
    n_channels, height, width = shape
    places = graph.constant(np.array([-1, n_channels, height * width]))
    means = graph.constant(array_of(averaging_matrix(layer, height, width)))
    return graph.flat(graph.add("MatMul", graph.add("Reshape", value, places), means))


def _write_plain(
    graph: OnnxGraph,
    module: nn.Module,
    value: Value,
    name_of: dict[int, str],
    seen: dict[str, Value],
) -> Value:
    if isinstance(module, Residual):
        return graph.add("Add", value, _write_plain(graph, module.inner, value, name_of, seen))
    if isinstance(module, nn.Sequential):
        for inner in module._modules.values():  # children() leaves out what stands in two places
            assert inner is not None
            value = _write_plain(graph, inner, value, name_of, seen)
        return value
    value = _WRITERS[type(module)](graph, module, value)
    seen[name_of[id(module)]] = value
    return value


def _is_plain(module: nn.Module) -> bool:
    """Whether a module is a chain of layers that are known here, as torch wrote them."""
    if module._forward_hooks or module._forward_pre_hooks:
        return False
    if type(module) is nn.Sequential or type(module) is Chain:
        return len(module) > 0 and all(map(_is_plain, module))
    if type(module) is Residual:
        return _is_plain(module.inner)
    return type(module) in _WRITERS and _is_usual(module)


def _is_usual(module: Any) -> bool:
    """Whether a known layer's settings are those that are written here."""
    if isinstance(module, nn.Conv2d):
        return isinstance(module.padding, tuple) and module.padding_mode == "zeros"
    if isinstance(module, nn.Flatten):
        return (module.start_dim, module.end_dim) == (1, -1)
    if isinstance(module, nn.MaxPool2d):
        return not module.return_indices
    if isinstance(module, nn.AdaptiveAvgPool2d):
        return module.output_size in (1, (1, 1))
    if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
        return bool(module.track_running_stats and module.affine)
    if isinstance(module, nn.LayerNorm):
        return module.elementwise_affine and module.bias is not None
    if isinstance(module, nn.GELU):
        return module.approximate == "none"
    return True


def _same(graph: OnnxGraph, module: nn.Module, value: Value) -> Value:
    return graph.add("Identity", value)


def _flatten(graph: OnnxGraph, module: nn.Flatten, value: Value) -> Value:
    return graph.flat(value)


def _linear(graph: OnnxGraph, module: nn.Linear, value: Value) -> Value:
    offset = None if module.bias is None else array_of(module.bias)
    return graph.affine(value, array_of(module.weight).T, offset)


def _convolution(graph: OnnxGraph, module: nn.Conv2d, value: Value) -> Value:
    weights = [tensor for tensor in (module.weight, module.bias) if tensor is not None]
    constants = [graph.constant(array_of(tensor)) for tensor in weights]
    padding = _both(module.padding)  # type: ignore[arg-type]
    attributes: dict[str, Attribute] = {
        "kernel_shape": module.kernel_size,
        "strides": module.stride,
        "pads": padding * 2,
        "dilations": module.dilation,
        "group": module.groups,
    }
    return graph.add("Conv", value, *constants, attributes=attributes)


def _max_pool(graph: OnnxGraph, module: nn.MaxPool2d, value: Value) -> Value:
    attributes: dict[str, Attribute] = {
        "kernel_shape": _both(module.kernel_size),
        "strides": _both(module.stride),
        "pads": _both(module.padding) * 2,
        "dilations": _both(module.dilation),
        "ceil_mode": int(module.ceil_mode),
    }
    return graph.add("MaxPool", value, attributes=attributes)


def _both(size: int | Sequence[int]) -> tuple[int, ...]:
    return (size, size) if isinstance(size, int) else tuple(size)


def _mean_pool(graph: OnnxGraph, module: nn.AdaptiveAvgPool2d, value: Value) -> Value:
    return graph.add("GlobalAveragePool", value)


def _batch_norm(graph: OnnxGraph, module: nn.BatchNorm1d, value: Value) -> Value:
    tensors = (module.weight, module.bias, module.running_mean, module.running_var)
    constants = [graph.constant(array_of(tensor)) for tensor in tensors if tensor is not None]
    attributes = {"epsilon": module.eps}
    return graph.add("BatchNormalization", value, *constants, attributes=attributes)


def _layer_norm(graph: OnnxGraph, module: nn.LayerNorm, value: Value) -> Value:
    constants = [graph.constant(array_of(tensor)) for tensor in (module.weight, module.bias)]
    attributes = {"epsilon": module.eps, "axis": -len(module.normalized_shape)}
    return graph.add("LayerNormalization", value, *constants, attributes=attributes)


def _relu(graph: OnnxGraph, module: nn.ReLU, value: Value) -> Value:
    return graph.add("Relu", value)


def _leaky_relu(graph: OnnxGraph, module: nn.LeakyReLU, value: Value) -> Value:
    return graph.add("LeakyRelu", value, attributes={"alpha": module.negative_slope})


def _elu(graph: OnnxGraph, module: nn.ELU, value: Value) -> Value:
    return graph.add("Elu", value, attributes={"alpha": module.alpha})


def _sigmoid(graph: OnnxGraph, module: nn.Sigmoid, value: Value) -> Value:
    return graph.add("Sigmoid", value)


def _tanh(graph: OnnxGraph, module: nn.Tanh, value: Value) -> Value:
    return graph.add("Tanh", value)


def _silu(graph: OnnxGraph, module: nn.SiLU, value: Value) -> Value:
    return graph.add("Mul", value, graph.add("Sigmoid", value))


def _gelu(graph: OnnxGraph, module: nn.GELU, value: Value) -> Value:
    """X (1 + erf(x / √2)) / 2."""
    error = graph.add("Erf", graph.times(value, 1 / math.sqrt(2)))
    return graph.times(graph.add("Mul", value, graph.plus(error, 1.0)), 0.5)


_WRITERS: dict[type[nn.Module], Writer] = {
    nn.Identity: _same,
    nn.Dropout: _same,
    nn.Dropout2d: _same,
    Dropout: _same,
    nn.Flatten: _flatten,
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.MaxPool2d: _max_pool,
    MaxPool: _max_pool,
    nn.AdaptiveAvgPool2d: _mean_pool,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.LayerNorm: _layer_norm,
    nn.ReLU: _relu,
    nn.LeakyReLU: _leaky_relu,
    nn.ELU: _elu,
    nn.Sigmoid: _sigmoid,
    nn.Tanh: _tanh,
    nn.SiLU: _silu,
    nn.GELU: _gelu,
}


class _Reading(nn.Module):
    """A network that gives its output and some inner layers."""

    def __init__(self, network: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.network, self.names = network, tuple(names)

    def forward(self, items: Tensor) -> tuple[Tensor, ...]:
        with watch_layers(self.network, self.names) as seen:
            output = self.network(items)
        layers = {name: value for name, _, value in seen}
        return (output, *(layers[name] for name in self.names))


def _write_traced(
    graph: OnnxGraph, module: nn.Module, items: Value, names: Sequence[str]
) -> tuple[Value, dict[str, Value]]:
    """Add a module of any kind, as torch's exporter sees it."""
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{type(module).__name__} is not a plain chain of known layers, and torch needs the "
            "package onnxscript to export it: pip install 'twofold[onnx]'."
        ) from error
    example = torch.zeros(2, *graph.input_shape)
    try:
        with _quietly(), torch.no_grad():
            program = torch.onnx.export(
                _Reading(copy.deepcopy(module).cpu(), names).eval(),
                (example,),
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                dynamic_shapes=({0: torch.export.Dim("n_items", min=1)},),
            )
            assert program is not None
            traced = _without_functions(program.model_proto)
    except Exception as error:  # torch has a type of error for every stage
        reason = " ".join(str(error).split())[:200]
        raise CannotExportError(
            f"torch cannot export {type(module).__name__} for any number of items ({reason}). "
            "Write its forward without branches that depend on values, or use an nn.Sequential."
        ) from error
    output, *layers = graph.inline(traced.graph, items, "own_")
    return output, dict(zip(names, layers, strict=True))


def _without_functions(model: Any) -> Any:
    from onnx.inliner import inline_local_functions

    other = {entry.domain for entry in model.opset_import} - {"", "ai.onnx"}
    model = inline_local_functions(model) if model.functions else model
    used = {node.domain for node in model.graph.node} & other
    if used:
        raise ValueError(f"it needs operators of {', '.join(sorted(used))}")
    return model


@contextmanager
def _quietly() -> Iterator[None]:
    """Have torch's exporter keep what it logs, prints and warns of to itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
