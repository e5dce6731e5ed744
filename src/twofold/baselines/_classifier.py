"""A plain classifier, whose last hidden layer is the embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from twofold._core.checks import check_number
from twofold.baselines._batch_task import BatchLoss
from twofold.baselines._hidden_layer import hidden_layer, hidden_width, refuse_other_heads
from twofold.baselines._label_trained import BatchTrainedLearner
from twofold.regression import NetworkEmbedder, TrainingConfig, as_network
from twofold.relations import LabelRelation, Relation


class CrossEntropy:
    """−mean_i log softmax(z_i)_c of each item's class c, from the network's outputs z.

    Of the chance wanted, `smoothing` is spread over all classes.
    """

    is_recordable = True

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = smoothing

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        return functional.cross_entropy(points, labels, label_smoothing=self.smoothing)


class BinaryCrossEntropy:
    """−mean_{i,k} log σ(±z_ik), + where item i has label k, − where not."""

    is_recordable = True

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        return functional.binary_cross_entropy_with_logits(points, labels.to(points.dtype))


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierLearner(BatchTrainedLearner):
    """A network trained to classify; the input of its last layer is the embedding.

    The loss is cross-entropy for classes, and binary cross-entropy per label for items with
    several. The network has one output per class; the embedding is its last hidden layer, after
    ReLU, so that `n_components_` is the width of that layer (512 for "mlp"). Points are compared by
    distance; comparing them by cosine, as many do, is the same as distance between points of unit
    length.

    Parameters
    ----------
    smoothing : float
        Label smoothing: the share of the probability, in [0, 1], that is spread over all classes.
    embedder : "auto", Network or its architecture
        A network by name, or an nn.Sequential that ends in nn.Linear, with one output per class. To
        open a model with a network of your own, pass the same layers to ``load(folder,
        embedder=…)``, except that the last one is nn.Linear(n_components_, n_components_).
    validation_fraction, device, random_state, verbose
        As for `SiameseLearner`; an epoch is a pass over all items.
    """

    smoothing: float = 0.0
    _smallest_batch: ClassVar[int] = 1

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels; see `MetricLearner.fit`."""
        super().fit(X, y, relation=relation)
        assert isinstance(self.embedder_, NetworkEmbedder)
        self.n_components_ = hidden_width(self.embedder_.network)
        return self

    def _prepare_labels(self, relation: LabelRelation) -> int:
        refuse_other_heads(as_network(self.embedder).architecture, relation.n_labels)
        self.metric_ = "euclidean"
        return relation.n_labels

    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        if not relation.is_partition:
            return BinaryCrossEntropy(), BinaryCrossEntropy()
        smoothing = check_number("smoothing", self.smoothing, 0)
        if smoothing > 1:
            raise ValueError(f"smoothing must be at most 1, got {smoothing:g}.")
        return CrossEntropy(smoothing), CrossEntropy(smoothing)

    def _embedder_of(
        self, network: nn.Module, shape: tuple[int, ...], config: TrainingConfig
    ) -> NetworkEmbedder:
        """Embed by the hidden layer."""
        return super()._embedder_of(hidden_layer(network).eval(), shape, config)
