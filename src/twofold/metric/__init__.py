"""The metric step: how the layers of a trained embedder are compared, solved in closed form.

Layers of training items and a relation of them come in; a map from layers to points that are
compared by their cosine goes out. What is open is chosen on kinds that were held out.
"""

from twofold.metric._gate import GateCurve
from twofold.metric._kinds import ClassKinds, Kinds, PairKinds
from twofold.metric._layer_space import LayerSpace
from twofold.metric._onnx import write_metric
from twofold.metric._selection import (
    MAP_SHARE,
    HeldOut,
    LayerSample,
    MetricSelection,
    prior_selection,
    select_metric,
)
from twofold.metric._solving import MetricProblem, Read
from twofold.metric._step import MetricStep, fit_metric

__all__ = [
    "MAP_SHARE",
    "ClassKinds",
    "GateCurve",
    "HeldOut",
    "Kinds",
    "LayerSample",
    "LayerSpace",
    "MetricProblem",
    "MetricSelection",
    "MetricStep",
    "PairKinds",
    "Read",
    "fit_metric",
    "prior_selection",
    "select_metric",
    "write_metric",
]
