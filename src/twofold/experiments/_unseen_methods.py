"""The methods that are compared on kinds never seen, by name: same network, batches and epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from twofold.baselines import (
    BatchLossLearner,
    ClassifierLearner,
    RawFeatures,
    SiameseLearner,
)
from twofold.estimators import EmbeddingLearner, MetricLearner
from twofold.evaluation import Metric
from twofold.experiments._methods import METHODS, Origin
from twofold.experiments._unseen_protocols import UnseenProtocol
from twofold.regression import Epoch, Network, NetworkName, fill_form

Comparison = Literal["own", "best", "whitened"]
MIN_OUTPUTS = 16
"""Of Twofold's network: as many as there are classes, but no fewer."""


@dataclass(frozen=True, slots=True)
class UnseenConfig:
    """What a learner is made for.

    Attributes
    ----------
    protocol : UnseenProtocol
        Which classes of which set, and how it is trained.
    n_items, n_classes : int
        Of the training part.
    seed : int
        Random seeds.
    device : str
        Where it is trained.
    callback : callable (Epoch), optional
        Called after every epoch.
    checkpoint : Path or None
        Where its training is kept.
    """

    protocol: UnseenProtocol
    n_items: int
    n_classes: int
    seed: int
    device: str
    callback: Callable[[Epoch], Any] | None = None
    checkpoint: Path | None = None

    def training(self, n_outputs: int) -> dict[str, Any]:
        """Return what every learner that trains a network is given."""
        protocol = self.protocol
        network = Network(
            self._architecture(n_outputs),
            max_epochs=protocol.n_epochs,
            batch_size=protocol.batch_size,
            weight_decay=protocol.weight_decay,
            augment="flips" if protocol.flips else None,
            callback=self.callback,
            checkpoint=self.checkpoint,
        )
        return {"embedder": network, "device": self.device, "random_state": self.seed}

    def _architecture(self, n_outputs: int) -> NetworkName | nn.Module:
        if self.protocol.network != "small-conv":
            return self.protocol.network
        generator = torch.Generator().manual_seed(self.seed)
        return fill_form(small_conv(n_outputs), generator)


@dataclass(frozen=True, slots=True)
class UnseenMethod:
    """A method of learning.

    Attributes
    ----------
    name, title, explanation, origin
        As of `Method`.
    make : callable (UnseenConfig) -> learner
        Makes it, not yet fitted.
    comparison : {"own", "best", "whitened"}
        How its points are compared: by the learner's own metric; by the best of that, Euclidean
        distance and cosine; or whitened within classes, by cosine.
    """

    name: str
    title: str
    explanation: str
    origin: Origin
    make: Callable[[UnseenConfig], EmbeddingLearner]
    comparison: Comparison = "best"

    def metrics(self, learner: EmbeddingLearner) -> tuple[Metric, ...]:
        """Return how the points of a fitted learner are compared."""
        if self.comparison == "whitened":
            return ("cosine",)
        if self.comparison == "own":
            return (learner.metric_,)
        metrics: set[Metric] = {learner.metric_, "euclidean", "cosine"}
        return tuple(sorted(metrics))


def small_conv(n_outputs: int) -> nn.Module:
    """Return three convolutions of 64 channels and a hidden layer of 256, for 28 × 28.

    It is a form whose weights are still to be drawn: see `fill_form`.
    """

    def block(n_channels: int) -> list[nn.Module]:
        conv = nn.Conv2d(n_channels, 64, 3, padding=1, device="meta")
        return [conv, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)]

    hidden = nn.Linear(576, 256, device="meta")
    head = [nn.Flatten(), hidden, nn.ReLU(), nn.Linear(256, n_outputs, device="meta")]
    return nn.Sequential(*block(1), *block(64), *block(64), *head)


def _twofold(metric: Literal["auto", "unseen"]) -> Callable[[UnseenConfig], EmbeddingLearner]:
    return lambda config: MetricLearner(
        metric=metric, **config.training(max(MIN_OUTPUTS, config.n_classes))
    )


def _siamese(config: UnseenConfig) -> EmbeddingLearner:
    n_components = config.protocol.n_components
    return SiameseLearner(n_components, epoch_size=config.n_items, **config.training(n_components))


def _classifier(config: UnseenConfig) -> EmbeddingLearner:
    return ClassifierLearner(**config.training(config.n_classes))


def _batch_loss(
    loss: Literal["supcon", "proxy-anchor", "multi-similarity", "triplet"],
) -> Callable[[UnseenConfig], EmbeddingLearner]:
    def make(config: UnseenConfig) -> EmbeddingLearner:
        n_components = config.protocol.n_components
        return BatchLossLearner(n_components, loss=loss, **config.training(n_components))

    return make


def _rival(name: str, make: Callable[[UnseenConfig], EmbeddingLearner]) -> UnseenMethod:
    """Return one that the paper's protocol has as well, called the same."""
    known = METHODS[name]
    return UnseenMethod(
        name,
        known.title,
        known.explanation,
        known.origin,
        make,
    )


UNSEEN_METHODS: dict[str, UnseenMethod] = {
    method.name: method
    for method in (
        UnseenMethod(
            "twofold-unseen",
            "Twofold, unseen",
            'inner layers of the network, whitened within classes and joined (metric="unseen"); '
            "which layers count is selected on held-out classes",
            "twofold",
            _twofold("unseen"),
            "own",
        ),
        UnseenMethod(
            "twofold-auto",
            "Twofold, default",
            "the same, and the network's output as far as an item resembles a kind that was seen "
            '(metric="auto")',
            "twofold",
            _twofold("auto"),
            "own",
        ),
        _rival("raw", lambda config: RawFeatures()),
        _rival("siamese", _siamese),
        _rival("supcon", _batch_loss("supcon")),
        _rival("proxy-anchor", _batch_loss("proxy-anchor")),
        _rival("multi-similarity", _batch_loss("multi-similarity")),
        _rival("triplet-miner", _batch_loss("triplet")),
        _rival("cross-entropy", _classifier),
        UnseenMethod(
            "cross-entropy-whitened",
            "Cross-entropy, whitened",
            "the same hidden layer, whitened by its covariance within classes, by cosine",
            "today",
            _classifier,
            "whitened",
        ),
    )
}


def choose_unseen_methods(names: Sequence[str]) -> tuple[UnseenMethod, ...]:
    """Return methods by name, or say which one there is not."""
    if not names:
        raise ValueError("There is nothing to run: give at least one method.")
    unknown = [name for name in names if name not in UNSEEN_METHODS]
    if unknown:
        raise ValueError(
            f"There is no method {unknown[0]!r} for kinds never seen; there are "
            f"{', '.join(UNSEEN_METHODS)}."
        )
    return tuple(UNSEEN_METHODS[name] for name in dict.fromkeys(names))
