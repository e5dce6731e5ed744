"""Today's metric losses: every pair of a batch counts, at one pass an item."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from torch import nn

from twofold._core.checks import check_choice, check_count
from twofold._core.random import RandomState
from twofold.baselines._batch_losses import Loss, MinedLoss, batch_losses, pytorch_metric_learning
from twofold.baselines._batch_task import BatchTask
from twofold.baselines._label_trained import BatchTrainedLearner
from twofold.baselines._proxies import NetworkWithProxies
from twofold.estimators import Relation
from twofold.regression import Epoch, Task, TrainingConfig
from twofold.relations import LabelRelation


class BatchLossLearner(BatchTrainedLearner):
    """A network trained with a loss over all pairs of a batch, from pytorch-metric-learning.

    The losses have that package's own settings (``pip install 'twofold[rivals]'``) and compare by
    cosine: the embedding has unit length and is compared by inner product. Batches are drawn at
    random, so where classes are many a small one holds few alike pairs: of 83 classes, half of the
    items in a batch of 64 have no alike one, a twentieth in a batch of 256. A batch without any
    alike pair teaches nothing.

    Parameters
    ----------
    dim : int
        Components of the embedding.
    loss : {"supcon", "proxy-anchor", "multi-similarity", "triplet"}
        Supervised contrastive; proxy-anchor, whose proxies are trained by the same optimiser at
        100 times the learning rate, as by its authors; multi-similarity with its own miner; or
        semihard triplets with a margin of 0.2.
    embedder, max_epochs, batch_size, learning_rate, weight_decay, dropout, \
validation_fraction, flips, device, random_state, verbose, callback, checkpoint
        As for `MetricLearner`; an epoch is a pass over all items, a batch has at least two. The
        validation loss is the mean over all pairs or triplets, none left out by a miner.
    """

    def __init__(
        self,
        dim: int = 16,
        *,
        loss: Loss = "supcon",
        embedder: Any = "mlp",
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
        self.dim = dim
        self.loss = loss
        self.embedder = embedder
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

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from classes; see `LabelTrainedLearner.fit`."""
        check_choice("loss", self.loss, get_args(Loss))
        check_count("batch_size", self.batch_size, minimum=2)
        pytorch_metric_learning()
        self.metric_ = "dot"
        return super().fit(X, y, relation=relation)

    def _prepare(self, relation: LabelRelation) -> None:
        if not relation.is_partition:
            raise ValueError(
                "BatchLossLearner learns from classes, but some items have several labels, or "
                "none. From several labels NonlinearNCALearner learns."
            )

    def _losses(
        self, relation: LabelRelation, config: TrainingConfig, rng: np.random.Generator
    ) -> tuple[MinedLoss, MinedLoss]:
        return batch_losses(self.loss, relation.n_labels, self.dim_, rng)

    def _own_coordinates(self, predicted: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give points unit length, as the losses do."""
        lengths = np.linalg.norm(predicted, axis=1, keepdims=True)
        return np.asarray(predicted / lengths.clip(1e-12), dtype=np.float32)

    def _trained(self, network: nn.Module, task: Task) -> nn.Module:
        if self.loss != "proxy-anchor":
            return network
        assert isinstance(task, BatchTask)
        assert isinstance(task.batch_loss, MinedLoss)
        return NetworkWithProxies(network, task.batch_loss.loss)
