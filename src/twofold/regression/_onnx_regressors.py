"""Some of scikit-learn's regressors as nodes of an ONNX graph, in double precision as they compute.

Linear ones, kernel ridge, multi-layer perceptrons, one for each output, and a pipeline of scalers
or PCA before any of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twofold._core.onnx_graph import CannotExportError, OnnxGraph, Value

DOUBLE = np.float64
LINEAR = (
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "BayesianRidge",
    "HuberRegressor",
    "SGDRegressor",
    "LinearSVR",
)
"""Whose prediction is x coef_ᵀ + intercept_."""
ACTIVATIONS = {"identity": "Identity", "relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def write_regressor(graph: OnnxGraph, regressor: Any, features: Value) -> Value:
    """Add a fitted regressor to a graph; return its outputs, float32 of shape (n_items, dim)."""
    outputs = _write(graph, regressor, graph.cast(features, DOUBLE))
    return graph.cast(outputs, np.float32)


def _write(graph: OnnxGraph, regressor: Any, value: Value) -> Value:
    kind = type(regressor)
    if kind.__name__ in _WRITERS and kind.__module__.startswith("sklearn."):
        return _WRITERS[kind.__name__](graph, regressor, value)
    raise CannotExportError(
        f"{type(regressor).__name__} cannot be exported to ONNX; linear models, KernelRidge (rbf, "
        "linear or polynomial kernel), MLPRegressor and pipelines of StandardScaler or PCA with "
        "one of these can, and so can networks. Use save, or another embedder."
    )


def _linear(graph: OnnxGraph, model: Any, value: Value) -> Value:
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=DOUBLE))
    return graph.affine(value, coefficients.T, np.atleast_1d(model.intercept_), DOUBLE)


def _kernel_ridge(graph: OnnxGraph, model: Any, value: Value) -> Value:
    """K(x, X_fit_) dual_coef_."""
    fitted = np.asarray(
        model.X_fit_.toarray() if hasattr(model.X_fit_, "toarray") else model.X_fit_, dtype=DOUBLE
    )
    gamma = 1.0 / fitted.shape[1] if model.gamma is None else float(model.gamma)
    if model.kernel_params is None and model.kernel == "rbf":
        squares = graph.squared_distances(value, fitted)
        kernel = graph.add("Exp", graph.times(squares, -gamma, DOUBLE))
    elif model.kernel_params is None and model.kernel in ("linear", "polynomial", "poly"):
        kernel = graph.affine(value, fitted.T, dtype=DOUBLE)
        if model.kernel != "linear":
            kernel = graph.plus(graph.times(kernel, gamma, DOUBLE), model.coef0, DOUBLE)
            kernel = graph.add("Pow", kernel, graph.constant(model.degree, DOUBLE))
    else:
        raise CannotExportError(
            f"KernelRidge with kernel={model.kernel!r} cannot be exported to ONNX; 'rbf', 'linear' "
            "and 'polynomial' can."
        )
    dual_coef = np.asarray(model.dual_coef_, dtype=DOUBLE).reshape(len(fitted), -1)
    return graph.affine(kernel, dual_coef, dtype=DOUBLE)


def _perceptron(graph: OnnxGraph, model: Any, value: Value) -> Value:
    layers = list(zip(model.coefs_, model.intercepts_, strict=True))
    for number, (matrix, offset) in enumerate(layers, start=1):
        value = graph.affine(value, matrix, offset, DOUBLE)
        activation = model.activation if number < len(layers) else model.out_activation_
        value = graph.add(ACTIVATIONS[activation], value)
    return value


def _one_each(graph: OnnxGraph, model: Any, value: Value) -> Value:
    return graph.joined([_write(graph, one, value) for one in model.estimators_])


def _pipeline(graph: OnnxGraph, model: Any, value: Value) -> Value:
    for _, step in model.steps:
        if step is not None and step != "passthrough":
            value = _write(graph, step, value)
    return value


def _scaler(graph: OnnxGraph, scaler: Any, value: Value) -> Value:
    if scaler.with_mean:
        value = graph.add("Sub", value, graph.constant(scaler.mean_, DOUBLE))
    if scaler.with_std:
        value = graph.add("Div", value, graph.constant(scaler.scale_, DOUBLE))
    return value


def _pca(graph: OnnxGraph, model: Any, value: Value) -> Value:
    value = graph.add("Sub", value, graph.constant(model.mean_, DOUBLE))
    value = graph.affine(value, model.components_.T, dtype=DOUBLE)
    if model.whiten:
        least = np.finfo(model.explained_variance_.dtype).eps
        deviations = np.sqrt(model.explained_variance_).clip(least)
        value = graph.add("Div", value, graph.constant(deviations, DOUBLE))
    return value


_WRITERS: dict[str, Callable[[OnnxGraph, Any, Value], Value]] = {
    **dict.fromkeys(LINEAR, _linear),
    "KernelRidge": _kernel_ridge,
    "MLPRegressor": _perceptron,
    "MultiOutputRegressor": _one_each,
    "Pipeline": _pipeline,
    "StandardScaler": _scaler,
    "PCA": _pca,
}
