"""Embedders that are linear maps of the features, as a matrix and an offset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from twofold.regression._draws import Dropout
from twofold.regression._embedder_files import Embedder
from twofold.regression._network_embedder import NetworkEmbedder, OutputScale
from twofold.regression._onnx_regressors import LINEAR
from twofold.regression._projection import FeaturesAsGiven
from twofold.regression._scaling import InputScaling

UNCHANGED = (nn.Identity, nn.Flatten, nn.Dropout, Dropout)
"""Layers that leave the numbers of a trained network as they are."""

LINEAR_STEPS = ("StandardScaler", "PCA")
"""Of a pipeline."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearMap:
    """L x + offset.

    Attributes
    ----------
    matrix : ndarray of float64, shape (dim, n_features)
        L.
    offset : ndarray of float64, shape (dim,)
        What is added.
    """

    matrix: NDArray[np.float64]
    offset: NDArray[np.float64]

    def scaled(self, scale: OutputScale | None) -> LinearMap:
        """Return the map to the targets' own coordinates."""
        if scale is None:
            return self
        return LinearMap(scale.scale * self.matrix, scale.scale * self.offset + scale.mean)


def linear_map(embedder: Embedder, n_features: int) -> LinearMap | None:
    """Return an embedder as a linear map of flat features, None if it is none.

    Linear are scikit-learn's linear models, alone, one for each output or after scalers or PCA in a
    pipeline; chains of linear layers of a user's own; and the features as given.
    """
    if isinstance(embedder, NetworkEmbedder):
        return _of_network(embedder.network, n_features, embedder.output_scale)
    if not _is_linear(embedder.regressor):
        return None
    # The images of no feature and of one at a time are the offset and the columns.
    every = np.concatenate([np.zeros((1, n_features)), np.eye(n_features)])
    images = np.asarray(embedder.regressor.predict(every), dtype=np.float64)
    images = images.reshape(len(every), -1)
    found = LinearMap(np.ascontiguousarray((images[1:] - images[0]).T), images[0])
    return found.scaled(embedder.output_scale)


def describe_embedder(embedder: Embedder) -> str:
    """Return what an embedder is, in a word or two."""
    if not isinstance(embedder, NetworkEmbedder):
        return type(embedder.regressor).__name__
    kind = type(embedder.network).__name__
    names = {"RidgeMap": "a ridge map with a kernel", "FeaturesAsGiven": "the features as given"}
    return names.get(kind, "a network")


def _is_linear(regressor: Any) -> bool:
    kind = type(regressor)
    if not kind.__module__.startswith("sklearn."):
        return False
    if kind.__name__ == "Pipeline":
        *before, (_, last) = regressor.steps
        names = {type(step).__name__ for _, step in before if step != "passthrough"}
        return names <= {*LINEAR_STEPS} and _is_linear(last)
    if kind.__name__ == "MultiOutputRegressor":
        return all(map(_is_linear, regressor.estimators_))
    return kind.__name__ in LINEAR


def _of_network(network: nn.Module, n_features: int, scale: OutputScale | None) -> LinearMap | None:
    if isinstance(network, FeaturesAsGiven):
        return LinearMap(np.eye(n_features), np.zeros(n_features)).scaled(scale)
    if not isinstance(network, nn.Sequential) or len(network) != 2:
        return None
    scaling, body = network
    layers = list(body) if type(body) is nn.Sequential else [body]
    is_known = all(type(layer) in (nn.Linear, *UNCHANGED) for layer in layers)
    assert isinstance(scaling, InputScaling)
    if not is_known or not math.isinf(float(scaling.limit)):
        return None
    shift, size = (
        np.broadcast_to(_double(part), n_features) for part in (scaling.shift, scaling.scale)
    )
    found = LinearMap(np.diag(1 / size), -shift / size)
    for layer in layers:
        if isinstance(layer, nn.Linear):
            weight = _double(layer.weight)
            offset = weight @ found.offset
            found = LinearMap(
                weight @ found.matrix,
                offset if layer.bias is None else offset + _double(layer.bias),
            )
    return found.scaled(scale)


def _double(tensor: Any) -> NDArray[np.float64]:
    return np.asarray(tensor.detach().cpu().double().numpy())
