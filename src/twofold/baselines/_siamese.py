"""The Siamese network: both items of a pair go through the same network."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from torch import nn

from twofold._core.checks import check_choice, check_number
from twofold._core.random import RandomState
from twofold.baselines._pair_tasks import Contrastive, Cosine, PairTask
from twofold.baselines._pair_trained import PairTrainedLearner
from twofold.estimators import Relation
from twofold.regression import (
    Epoch,
    Features,
    Task,
    TrainingConfig,
    beside_features,
    fit_raw_map,
)

Loss = Literal["contrastive", "cosine"]
Start = Literal["random", "features"]


class SiameseLearner(PairTrainedLearner):
    """A Siamese network: both items of a pair go through the same network.

    Parameters
    ----------
    dim : int
        Components of the embedding.
    loss : {"contrastive", "cosine"}
        y ‖a − b‖² + (1 − y) max(0, m − ‖a − b‖)², or the cosine's: ½ (2y − 1 − cos(a, b))², whose
        embedding has unit length and is compared by inner product.
    start : {"random", "features"}
        Where training begins: with the network as it is, or with the features as they are, which
        the network then changes. Of these it keeps the `dim` leading directions, all of them with
        `dim` as large as their number, centred and brought to a root mean square of 1.
    n_similar, n_dissimilar : int
        Partners an item that are sampled from labels.
    margin : float
        m.
    embedder, max_epochs, batch_size, learning_rate, weight_decay, dropout, \
validation_fraction, flips, device, random_state, verbose, callback, checkpoint
        As for `MetricLearner`.
    epoch_size : int, optional
        Pairs an epoch, drawn anew each time; all of them by default.
    """

    def __init__(
        self,
        dim: int = 16,
        *,
        loss: Loss = "contrastive",
        start: Start = "random",
        n_similar: int = 10,
        n_dissimilar: int = 10,
        margin: float = 1.0,
        embedder: Any = "mlp",
        max_epochs: int = 30,
        epoch_size: int | None = None,
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
        self.start = start
        self.n_similar = n_similar
        self.n_dissimilar = n_dissimilar
        self.margin = margin
        self.embedder = embedder
        self.max_epochs = max_epochs
        self.epoch_size = epoch_size
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
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("start", self.start, get_args(Start))
        self.metric_ = "euclidean" if self.loss == "contrastive" else "dot"
        return super().fit(X, y, relation=relation)

    def _at_its_start(self, network: nn.Sequential, features: Features) -> nn.Module:
        if self.start == "random":
            return network
        is_own = isinstance(self.embedder, nn.Module)
        return beside_features(network, fit_raw_map(features, self.dim_), is_own)

    def _own_coordinates(self, predicted: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give points unit length where they are compared by their cosine."""
        if self.metric_ == "dot":
            predicted = predicted / np.linalg.norm(predicted, axis=1, keepdims=True).clip(1e-12)
        return predicted

    def _tasks(
        self,
        features: Features,
        relation: Relation,
        validation_fraction: float,
        config: TrainingConfig,
        rng: np.random.Generator,
    ) -> tuple[Task, Task | None]:
        pairs = self._stated_pairs(relation, rng)
        margin = check_number("margin", self.margin, 0, strict=True)
        loss = Contrastive(margin) if self.loss == "contrastive" else Cosine()
        if not validation_fraction:
            return PairTask(features, pairs, loss, config.device, self.flips), None
        train, held_out = pairs.split(validation_fraction, random_state=rng)
        return (
            PairTask(features, train, loss, config.device, self.flips),
            PairTask(features, held_out, loss, config.device),
        )
