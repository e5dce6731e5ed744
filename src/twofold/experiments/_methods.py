"""The methods that a reproduction compares, by name: each with the same network and data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from twofold.baselines import (
    BatchLossLearner,
    ClassifierLearner,
    FixedTargetLearner,
    ITMLLearner,
    LMNNLearner,
    NCALearner,
    NonlinearNCALearner,
    RawFeatures,
    SiameseLearner,
    TripletLearner,
)
from twofold.estimators import EmbeddingLearner, MetricLearner
from twofold.experiments._own_learner import OwnLearner
from twofold.experiments._paper import Protocol
from twofold.regression import SMOOTHING, Network

Origin = Literal["paper", "twofold", "rival", "today", "own"]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of learning.

    Attributes
    ----------
    name, title, explanation : str
        On the command line, in a table, and below it.
    origin : {"paper", "twofold", "rival", "today", "own"}
        The paper's own, ours, what the paper is compared with, what is used today, or a user's
        own.
    learns_from : {"pairs", "labels"}
        The sampled pairs, or the labels themselves.
    make : callable (RunConfig) -> learner
        Makes it, not yet fitted.
    classes_only : bool
        Whether it needs exactly one class per item.
    vectors_only : bool
        Whether it is of no use on images: a linear map of thousands of pixels.
    grade : {"overlap", "jaccard"} or None
        How alike several labels make two items, where it is not the learner that says so.
    """

    name: str
    title: str
    explanation: str
    origin: Origin
    learns_from: Literal["pairs", "labels"]
    make: Callable[[RunConfig], EmbeddingLearner | OwnLearner]
    classes_only: bool = False
    vectors_only: bool = False
    grade: Literal["overlap", "jaccard"] | None = None


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a learner is made for.

    Attributes
    ----------
    protocol : Protocol
        The set's.
    n_items : int
        Training items: as many pairs are an epoch of pairs.
    seed : int
        Random seeds.
    device : str
        Where it is trained.
    checkpoint : Path or None
        Where its training is kept.
    """

    protocol: Protocol
    n_items: int
    seed: int
    device: str
    checkpoint: Path | None = None


def _network(config: RunConfig, n_epochs: int | None = None) -> Network:
    protocol = config.protocol
    return Network(
        protocol.network,
        max_epochs=n_epochs or protocol.n_epochs,
        batch_size=protocol.batch_size,
        learning_rate=protocol.learning_rate,
        weight_decay=protocol.weight_decay,
        dropout=protocol.dropout,
        augment="flips" if protocol.flips else None,
        checkpoint=config.checkpoint,
    )


def training(config: RunConfig) -> dict[str, Any]:
    """Return what a learner that trains a network an item at a time is given."""
    return {
        "embedder": _network(config),
        "device": config.device,
        "random_state": config.seed,
    }


def pair_training(config: RunConfig) -> dict[str, Any]:
    """Return what one that trains a network on pairs is given."""
    return training(config) | {
        "embedder": _network(config, config.protocol.n_pair_epochs),
        "epoch_size": config.n_items,
    }


def _fml(targets: Literal["fml-c", "fml-dp"]) -> Callable[[RunConfig], EmbeddingLearner]:
    return lambda config: MetricLearner(
        config.protocol.n_components, targets=targets, **training(config)
    )


def _twofold(config: RunConfig) -> EmbeddingLearner:
    # Classes have a dimension of their own each; several labels share what the protocol has.
    n_components: int | Literal["auto"] = (
        "auto" if config.protocol.score == "accuracy" else config.protocol.n_components
    )
    return MetricLearner(n_components, metric="seen", **training(config))


def _twofold_squared(config: RunConfig) -> EmbeddingLearner:
    learner: EmbeddingLearner = _twofold(config).set_params(embedder__loss="squared")
    return learner


def _siamese(loss: Literal["contrastive", "cosine"]) -> Callable[[RunConfig], EmbeddingLearner]:
    return lambda config: SiameseLearner(
        config.protocol.n_components, loss=loss, **pair_training(config)
    )


def _batch_loss(
    loss: Literal["supcon", "proxy-anchor", "multi-similarity", "triplet"],
) -> Callable[[RunConfig], EmbeddingLearner]:
    return lambda config: BatchLossLearner(
        config.protocol.n_components, loss=loss, **training(config)
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "fml-c",
            "FML-C",
            "contrastive targets of sampled pairs, then regression",
            "paper",
            "pairs",
            _fml("fml-c"),
        ),
        Method(
            "fml-dp",
            "FML-DP",
            "dot-product targets of sampled pairs, then regression",
            "paper",
            "pairs",
            _fml("fml-dp"),
        ),
        Method(
            "twofold",
            "Twofold",
            "exact targets of all that the labels say, then regression: our default. Classes are "
            "learnt by the likelihood of their targets, and the embedding is the expected target",
            "twofold",
            "labels",
            _twofold,
        ),
        Method(
            "twofold-squared",
            "Twofold, squared error",
            "the same targets, learnt by squared error throughout",
            "twofold",
            "labels",
            _twofold_squared,
        ),
        Method(
            "siamese",
            "Siamese",
            "a Siamese network on the sampled pairs, contrastive loss",
            "rival",
            "pairs",
            _siamese("contrastive"),
        ),
        Method(
            "siamese-cosine",
            "Siamese, cosine",
            "a Siamese network on the sampled pairs, the original cosine loss",
            "rival",
            "pairs",
            _siamese("cosine"),
        ),
        Method(
            "triplet",
            "Triplet",
            "a triplet network on triplets of the sampled pairs",
            "rival",
            "pairs",
            lambda config: TripletLearner(config.protocol.n_components, **pair_training(config)),
        ),
        Method(
            "nonlinear-nca",
            "Nonlinear NCA",
            "the NCA loss on a network's output",
            "rival",
            "labels",
            lambda config: NonlinearNCALearner(config.protocol.n_components, **training(config)),
        ),
        Method(
            "nca",
            "NCA",
            "scikit-learn's neighbourhood components analysis",
            "rival",
            "labels",
            lambda config: NCALearner(config.protocol.n_components, random_state=config.seed),
            classes_only=True,
            vectors_only=True,
        ),
        Method(
            "lmnn",
            "LMNN",
            "large-margin nearest neighbours",
            "rival",
            "labels",
            lambda config: LMNNLearner(),
            classes_only=True,
            vectors_only=True,
        ),
        Method(
            "itml",
            "ITML",
            "information-theoretic metric learning",
            "rival",
            "labels",
            lambda config: ITMLLearner(random_state=config.seed),
            vectors_only=True,
        ),
        Method(
            "raw",
            "Raw features",
            "the features as given",
            "rival",
            "labels",
            lambda config: RawFeatures(),
        ),
        Method(
            "cross-entropy",
            "Cross-entropy",
            "the last hidden layer of the same network, trained as a classifier",
            "today",
            "labels",
            lambda config: ClassifierLearner(smoothing=SMOOTHING, **training(config)),
        ),
        Method(
            "one-hot",
            "One-hot targets",
            "regression to one-hot vectors",
            "today",
            "labels",
            lambda config: FixedTargetLearner("one-hot", **training(config)),
        ),
        Method(
            "simplex",
            "Simplex targets",
            "regression to the corners of a regular simplex",
            "today",
            "labels",
            lambda config: FixedTargetLearner("simplex", **training(config)),
            classes_only=True,
        ),
        Method(
            "supcon",
            "SupCon",
            "supervised contrastive loss over a batch",
            "today",
            "labels",
            _batch_loss("supcon"),
            classes_only=True,
        ),
        Method(
            "proxy-anchor",
            "Proxy-Anchor",
            "a learnt proxy per class",
            "today",
            "labels",
            _batch_loss("proxy-anchor"),
            classes_only=True,
        ),
        Method(
            "multi-similarity",
            "Multi-similarity",
            "multi-similarity loss with its miner over a batch",
            "today",
            "labels",
            _batch_loss("multi-similarity"),
            classes_only=True,
        ),
        Method(
            "triplet-miner",
            "Triplet, mined",
            "triplet loss with a miner over a batch",
            "today",
            "labels",
            _batch_loss("triplet"),
            classes_only=True,
        ),
    )
}
DEFAULT_METHODS = ("fml-c", "fml-dp", "twofold", "siamese")


def choose_methods(names: Sequence[str], protocol: Protocol) -> tuple[Method, ...]:
    """Return methods by name that can learn from the protocol's set, or say which cannot."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"There is no method {unknown[0]!r}; there are {', '.join(METHODS)}.")
    selected = tuple(METHODS[name] for name in dict.fromkeys(names))
    for method in selected:
        if method.classes_only and protocol.score == "jaccard":
            raise ValueError(
                f"{method.name} learns from one class per item, but the items of {protocol.title} "
                "have several labels: leave it out."
            )
        if method.vectors_only and protocol.network != "mlp":
            raise ValueError(
                f"{method.name} is a linear map of vectors, and {protocol.title} holds images: "
                "leave it out."
            )
    return selected
