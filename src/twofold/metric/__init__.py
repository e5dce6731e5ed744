"""The metric step: how the layers of a trained embedder are compared, solved in closed form.

Layers of training items and their classes come in; a map from layers to points that are compared
by their cosine goes out. What is open is chosen on classes that were held out.
"""

from twofold.metric._gate import GateCurve
from twofold.metric._layer_space import LayerSpace
from twofold.metric._selection import LayerSample, MetricSelection, equal_selection, select_metric
from twofold.metric._solving import ClassMetric, Read
from twofold.metric._step import MetricStep, fit_metric

__all__ = [
    "ClassMetric",
    "GateCurve",
    "LayerSample",
    "LayerSpace",
    "MetricSelection",
    "MetricStep",
    "Read",
    "equal_selection",
    "fit_metric",
    "select_metric",
]
