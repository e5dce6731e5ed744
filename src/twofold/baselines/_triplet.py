"""The triplet network: an anchor, one that is more like it and one that is less."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from twofold._core.checks import check_number
from twofold._core.random import RandomState
from twofold.baselines._pair_tasks import TripletTask
from twofold.baselines._pair_trained import PairTrainedLearner
from twofold.baselines._triplets import part_triplets, triplets_from_pairs
from twofold.estimators import Relation
from twofold.regression import Epoch, Features, Task, TrainingConfig
from twofold.relations import TripletRelation


class TripletLearner(PairTrainedLearner):
    """A triplet network: max(0, m + ‖a − p‖² − ‖a − n‖²), all three through the same network.

    Labels are sampled as for `SiameseLearner`; each similar pair then gets one item that is not
    alike to its anchor.

    Parameters
    ----------
    dim, n_similar, n_dissimilar, margin, embedder, max_epochs, batch_size, learning_rate, \
epoch_size, weight_decay, dropout, validation_fraction, flips, device, random_state, verbose, \
callback, checkpoint
        As for `SiameseLearner`, with triplets in place of pairs.
    """

    def __init__(
        self,
        dim: int = 16,
        *,
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
        self.metric_ = "euclidean"
        return super().fit(X, y, relation=relation)

    def _tasks(
        self,
        features: Features,
        relation: Relation,
        validation_fraction: float,
        config: TrainingConfig,
        rng: np.random.Generator,
    ) -> tuple[Task, Task | None]:
        margin = check_number("margin", self.margin, 0, strict=True)
        if isinstance(relation, TripletRelation):
            triplets = relation
        else:
            triplets = triplets_from_pairs(self._stated_pairs(relation, rng), rng)
        if not validation_fraction:
            return TripletTask(features, triplets, margin, self.flips), None
        train, held_out = part_triplets(triplets, validation_fraction, rng)
        return (
            TripletTask(features, train, margin, self.flips),
            TripletTask(features, held_out, margin),
        )
