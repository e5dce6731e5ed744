"""Networks that are trained on pairs or triplets: the rivals Twofold is compared with.

They share networks, training loop and interface with `MetricLearner`, so that a comparison differs
in nothing but the method.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice, check_count, check_number
from twofold._core.random import RandomState, as_generator
from twofold.baselines._pair_tasks import Contrastive, Cosine, PairTask, TripletTask
from twofold.baselines._triplets import part_triplets, triplets_from_pairs
from twofold.estimators import (
    EmbeddingLearner,
    Relation,
    as_relation,
    check_features,
    check_validation_fraction,
    progress_callback,
    training_config,
)
from twofold.regression import (
    Epoch,
    Features,
    NetworkEmbedder,
    Task,
    TrainingConfig,
    is_network,
    item_shape,
    open_features,
    out_of_memory_sentence,
    prepare_network,
    refuse_flipped_vectors,
    train_network,
    validation_loss,
)
from twofold.relations import LabelRelation, PairRelation, TripletRelation

Loss = Literal["contrastive", "cosine"]


class PairTrainedLearner(EmbeddingLearner):
    """A network trained on statements; which statements, and with what loss, is the subclass's."""

    dim: int
    n_similar: int
    n_dissimilar: int
    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float | Literal["auto"]
    dropout: float | Literal["auto"]
    validation_fraction: float
    flips: bool
    device: str
    random_state: RandomState
    verbose: bool
    callback: Callable[[Epoch], Any] | None

    @abstractmethod
    def _tasks(
        self,
        features: Features,
        relation: Relation,
        validation_fraction: float,
        config: TrainingConfig,
        rng: np.random.Generator,
    ) -> tuple[Task, Task | None]:
        """Return what to train on, and what to validate on."""

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        if not is_network(self.embedder):
            raise TypeError(
                f"{type(self).__name__} trains a network on pairs: embedder must be the name of a "
                f"network or a torch.nn.Module, got {self.embedder!r}."
            )
        share = check_validation_fraction(self.validation_fraction)
        self.dim_ = check_count("dim", self.dim)
        self._mean, self._scale = np.zeros(self.dim_, dtype=np.float32), 1.0
        X = check_features(self, X, reset=True)
        known = as_relation(type(self).__name__, X, y, relation, "overlap")
        config = training_config(self, known)
        rng = as_generator(self.random_state)

        with out_of_memory_sentence(config.batch_size):
            shape = item_shape(X)
            refuse_flipped_vectors(self.flips, shape)
            features = open_features(X, config.device)
            network = prepare_network(
                self.embedder, features, shape, self.dim_, config.device, rng, config.dropout
            )
            task, held_out = self._tasks(features, known, share, config, rng)
            history = train_network(
                network,
                task,
                config,
                rng,
                validate=validation_loss(held_out, config.batch_size),
                callback=progress_callback(self, self._embed_with),
            )
        name = self.embedder if isinstance(self.embedder, str) else None
        self.embedder_ = NetworkEmbedder(network, shape, config.device, name)
        self.timing_ = {"training": history.seconds}
        self.history_ = {
            "training": history.loss,
            "validation": history.validation_loss,
            "best_epoch": history.best_epoch,
        }
        self._forget_threshold()
        return self

    def _stated_pairs(self, relation: Relation, rng: np.random.Generator) -> PairRelation:
        if isinstance(relation, LabelRelation):
            return relation.sample_pairs(self.n_similar, self.n_dissimilar, random_state=rng)
        if isinstance(relation, TripletRelation):
            raise TypeError(
                f"{type(self).__name__} learns from pairs or labels; for triplets use "
                "TripletLearner."
            )
        return relation


class SiameseLearner(PairTrainedLearner):
    """A Siamese network: both items of a pair go through the same network.

    Parameters
    ----------
    dim : int
        Components of the embedding.
    loss : {"contrastive", "cosine"}
        y ‖a − b‖² + (1 − y) max(0, m − ‖a − b‖)², or the cosine's: ½ (2y − 1 − cos(a, b))², whose
        embedding has unit length and is compared by inner product.
    n_similar, n_dissimilar : int
        Partners an item that are sampled from labels.
    margin : float
        m.
    embedder, max_epochs, batch_size, learning_rate, weight_decay, dropout, \
validation_fraction, flips, \
device, random_state, verbose, callback
        As for `MetricLearner`; an epoch is a pass over all pairs.
    """

    def __init__(
        self,
        dim: int = 16,
        *,
        loss: Loss = "contrastive",
        n_similar: int = 10,
        n_dissimilar: int = 10,
        margin: float = 1.0,
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
    ) -> None:
        self.dim = dim
        self.loss = loss
        self.n_similar = n_similar
        self.n_dissimilar = n_dissimilar
        self.margin = margin
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

    def fit(self, X: Any, y: Any = None, *, relation: Relation | None = None) -> Self:
        """Learn from labels, or from a relation over the rows of `X`; see `MetricLearner.fit`."""
        check_choice("loss", self.loss, get_args(Loss))
        self.metric_ = "euclidean" if self.loss == "contrastive" else "dot"
        return super().fit(X, y, relation=relation)

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


class TripletLearner(PairTrainedLearner):
    """A triplet network: max(0, m + ‖a − p‖² − ‖a − n‖²), all three through the same network.

    Labels are sampled as for `SiameseLearner`; each similar pair then gets one item that is not
    alike to its anchor.

    Parameters
    ----------
    dim, n_similar, n_dissimilar, margin, embedder, max_epochs, batch_size, learning_rate, \
weight_decay, dropout, validation_fraction, flips, device, random_state, verbose, callback
        As for `SiameseLearner`; an epoch is a pass over all triplets.
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
    ) -> None:
        self.dim = dim
        self.n_similar = n_similar
        self.n_dissimilar = n_dissimilar
        self.margin = margin
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
