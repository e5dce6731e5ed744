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
    pytorch_metric_learning,
)
from twofold.estimators import EmbeddingLearner, MetricLearner
from twofold.experiments._paper import Protocol
from twofold.regression import SMOOTHING

Origin = Literal["paper", "twofold", "rival", "today"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a learner is made for.

    Attributes
    ----------
    protocol : Protocol
        The set's.
    n_items : int
        Training items: as many pairs are an epoch of pairs.
    seed : int
        Of everything random.
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


@dataclass(frozen=True, slots=True)
class Method:
    """One way to learn.

    Attributes
    ----------
    name, title, explanation : str
        On the command line, in a table, and below it.
    origin : {"paper", "twofold", "rival", "today"}
        The paper's own, ours, what the paper is compared with, or what is used today.
    learns_from : {"pairs", "labels"}
        The sampled pairs, or the labels themselves.
    make : callable (Setting) -> learner
        Makes it, not yet fitted.
    classes_only : bool
        Whether it needs exactly one class an item.
    vectors_only : bool
        Whether it is of no use on images: a linear map of thousands of pixels.
    needs_extra : bool
        Whether it needs the extra "rivals".
    """

    name: str
    title: str
    explanation: str
    origin: Origin
    learns_from: Literal["pairs", "labels"]
    make: Callable[[Setting], EmbeddingLearner]
    classes_only: bool = False
    vectors_only: bool = False
    needs_extra: bool = False


def _training(setting: Setting) -> dict[str, Any]:
    protocol = setting.protocol
    return {
        "embedder": protocol.network,
        "max_epochs": protocol.n_epochs,
        "batch_size": protocol.batch_size,
        "learning_rate": protocol.learning_rate,
        "weight_decay": protocol.weight_decay,
        "dropout": protocol.dropout,
        "flips": protocol.flips,
        "device": setting.device,
        "random_state": setting.seed,
        "checkpoint": setting.checkpoint,
    }


def _pair_training(setting: Setting) -> dict[str, Any]:
    return _training(setting) | {
        "max_epochs": setting.protocol.n_pair_epochs,
        "epoch_size": setting.n_items,
    }


def _fml(loss: Literal["contrastive", "dot"]) -> Callable[[Setting], EmbeddingLearner]:
    return lambda setting: MetricLearner(
        setting.protocol.dim, loss=loss, pairs="sampled", feedback=0, **_training(setting)
    )


def _twofold(setting: Setting) -> EmbeddingLearner:
    # Classes have a dimension of their own each; several labels share what the protocol has.
    dim: int | Literal["auto"] = (
        "auto" if setting.protocol.score == "accuracy" else setting.protocol.dim
    )
    return MetricLearner(dim, **_training(setting))


def _siamese(loss: Literal["contrastive", "cosine"]) -> Callable[[Setting], EmbeddingLearner]:
    return lambda setting: SiameseLearner(
        setting.protocol.dim, loss=loss, **_pair_training(setting)
    )


def _batch_loss(
    loss: Literal["supcon", "proxy-anchor", "multi-similarity", "triplet"],
) -> Callable[[Setting], EmbeddingLearner]:
    return lambda setting: BatchLossLearner(setting.protocol.dim, loss=loss, **_training(setting))


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "fml-c",
            "FML-C",
            "contrastive targets of sampled pairs, then regression",
            "paper",
            "pairs",
            _fml("contrastive"),
        ),
        Method(
            "fml-dp",
            "FML-DP",
            "dot-product targets of sampled pairs, then regression",
            "paper",
            "pairs",
            _fml("dot"),
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
            lambda setting: _twofold(setting).set_params(regression="squared"),
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
            lambda setting: TripletLearner(setting.protocol.dim, **_pair_training(setting)),
        ),
        Method(
            "nonlinear-nca",
            "Nonlinear NCA",
            "the NCA loss on a network's output",
            "rival",
            "labels",
            lambda setting: NonlinearNCALearner(setting.protocol.dim, **_training(setting)),
        ),
        Method(
            "nca",
            "NCA",
            "scikit-learn's neighbourhood components analysis",
            "rival",
            "labels",
            lambda setting: NCALearner(setting.protocol.dim, random_state=setting.seed),
            classes_only=True,
            vectors_only=True,
        ),
        Method(
            "lmnn",
            "LMNN",
            "large-margin nearest neighbours",
            "rival",
            "labels",
            lambda setting: LMNNLearner(),
            classes_only=True,
            vectors_only=True,
        ),
        Method(
            "itml",
            "ITML",
            "information-theoretic metric learning",
            "rival",
            "labels",
            lambda setting: ITMLLearner(random_state=setting.seed),
            vectors_only=True,
        ),
        Method(
            "raw",
            "Raw features",
            "the features as they are",
            "rival",
            "labels",
            lambda setting: RawFeatures(),
        ),
        Method(
            "cross-entropy",
            "Cross-entropy",
            "the last hidden layer of the same network, trained as a classifier",
            "today",
            "labels",
            lambda setting: ClassifierLearner(smoothing=SMOOTHING, **_training(setting)),
        ),
        Method(
            "one-hot",
            "One-hot targets",
            "regression to one-hot vectors",
            "today",
            "labels",
            lambda setting: FixedTargetLearner("one-hot", **_training(setting)),
        ),
        Method(
            "simplex",
            "Simplex targets",
            "regression to the corners of a regular simplex",
            "today",
            "labels",
            lambda setting: FixedTargetLearner("simplex", **_training(setting)),
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
            needs_extra=True,
        ),
        Method(
            "proxy-anchor",
            "Proxy-Anchor",
            "a learnt proxy a class",
            "today",
            "labels",
            _batch_loss("proxy-anchor"),
            classes_only=True,
            needs_extra=True,
        ),
        Method(
            "multi-similarity",
            "Multi-similarity",
            "multi-similarity loss with its miner over a batch",
            "today",
            "labels",
            _batch_loss("multi-similarity"),
            classes_only=True,
            needs_extra=True,
        ),
        Method(
            "triplet-miner",
            "Triplet, mined",
            "triplet loss with a miner over a batch",
            "today",
            "labels",
            _batch_loss("triplet"),
            classes_only=True,
            needs_extra=True,
        ),
    )
}
DEFAULT_METHODS = ("fml-c", "fml-dp", "twofold", "siamese")


def choose_methods(names: Sequence[str], protocol: Protocol) -> tuple[Method, ...]:
    """Return methods by name that can learn from the protocol's set, or say which cannot."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"There is no method {unknown[0]!r}; there are {', '.join(METHODS)}.")
    chosen = tuple(METHODS[name] for name in dict.fromkeys(names))
    if any(method.needs_extra for method in chosen):
        pytorch_metric_learning()
    for method in chosen:
        if method.classes_only and protocol.score == "jaccard":
            raise ValueError(
                f"{method.name} learns from one class an item, but the items of {protocol.title} "
                "have several labels: leave it out."
            )
        if method.vectors_only and protocol.network != "mlp":
            raise ValueError(
                f"{method.name} is a linear map of vectors, and {protocol.title} holds images: "
                "leave it out."
            )
    return chosen
