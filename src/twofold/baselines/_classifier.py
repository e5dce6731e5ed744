"""A plain classifier, whose last hidden layer is the embedding."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from twofold._core.checks import check_number
from twofold._core.random import RandomState
from twofold.baselines._batch_task import BatchLoss
from twofold.baselines._hidden_layer import hidden_layer, hidden_width, refuse_other_heads
from twofold.baselines._label_trained import BatchTrainedLearner
from twofold.estimators import Relation
from twofold.regression import Epoch, NetworkEmbedder, TrainingConfig
from twofold.relations import LabelRelation


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


class ClassifierLearner(BatchTrainedLearner):
    """A network trained to classify; what its last layer is given is the embedding.

    Cross-entropy for classes, binary cross-entropy a label for items with several. The network has
    one output a class; the embedding is its last hidden layer, after ReLU, so that `dim_` is the
    width of that layer (512 for "mlp"). Points are compared by distance; many compare them by
    their cosine, which is distance after dividing them by their lengths.

    Parameters
    ----------
    embedder : a network by name, or an nn.Sequential that ends in nn.Linear
        The last layer has one output a class. A model with a network of your own is opened by
        ``load(folder, embedder=…)`` with the same layers, the last one nn.Linear(dim_, dim_).
    smoothing : float
        Share of the chance, in [0, 1], that the cross-entropy of classes spreads over all.
    max_epochs, batch_size, learning_rate, weight_decay, dropout, validation_fraction, flips, \
device, random_state, verbose, callback, checkpoint
        As for `MetricLearner`; an epoch is a pass over all items.
    """

    _n_labels: int

    def __init__(
        self,
        *,
        embedder: Any = "mlp",
        smoothing: float = 0.0,
        max_epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        weight_decay: float | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.0,
        flips: bool = False,
        device: str = "auto",
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callable[[Epoch], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.embedder = embedder
        self.smoothing = smoothing
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.validation_fraction = validation_fraction
        self.flips = flips
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Outputs of the network that is trained: one a label."""
        return self._n_labels

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels; see `LabelTrainedLearner.fit`."""
        self.metric_ = "euclidean"
        super().fit(X, y, relation=relation)
        assert isinstance(self.embedder_, NetworkEmbedder)
        fitted = self.embedder_
        self.embedder_ = NetworkEmbedder(
            _hidden(fitted.network).eval(), fitted.input_shape, fitted.device, fitted.name
        )
        self.dim_ = hidden_width(self.embedder_.network)  # type: ignore[arg-type]
        self._mean = np.zeros(self.dim_, dtype=np.float32)
        return self

    def _prepare(self, relation: LabelRelation) -> None:
        refuse_other_heads(self.embedder, relation.n_labels)
        self._n_labels = relation.n_labels

    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[BatchLoss, BatchLoss]:
        if not relation.is_partition:
            return BinaryCrossEntropy(), BinaryCrossEntropy()
        smoothing = check_number("smoothing", self.smoothing, 0)
        if smoothing > 1:
            raise ValueError(f"smoothing must be at most 1, got {smoothing:g}.")
        return CrossEntropy(smoothing), CrossEntropy(smoothing)

    def _embed_with(self, network: nn.Module, X: Any) -> NDArray[np.float32]:
        """Embed by the hidden layer of a network that is still being trained."""
        return super()._embed_with(_hidden(network), X)

    def _own_coordinates(self, predicted: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a hidden layer as it is."""
        return predicted


def _hidden(network: nn.Module) -> nn.Sequential:
    assert isinstance(network, nn.Sequential)
    return hidden_layer(network)
