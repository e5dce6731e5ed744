"""Fits that processes do together, and one alone: each returns what has to be equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from torch import nn

from twofold import HashLearner, LabelRelation, MetricLearner, Network, PairRelation
from twofold.baselines import BatchLossLearner, SiameseLearner

X, Y = load_digits(return_X_y=True)
X, Y = X[:330].astype(np.float32), Y[:330]
IMAGES = X.reshape(-1, 1, 8, 8)
PAIRS = LabelRelation(Y).sample_pairs(2, 2, random_state=0)
MANY = np.arange(330) % 110

Fit = dict[str, Any]


def network(architecture: Any = "mlp", **changes: Any) -> Network:
    # 330 items in batches of 64 leave 10 over, and in batches of 47 one, which joins the last.
    return Network(architecture, **{"max_epochs": 3, "batch_size": 64} | changes)


def result(learner: Any, X: Any = X) -> Fit:
    history = learner.history_
    losses = history.get("regression", history.get("training"))
    kept = {"loss": losses, "points": learner.transform(X[:40])}
    return kept | {name: history[name] for name in ("validation", "best_epoch") if name in history}


def learner(embedder: Any, metric: str = "seen", **changes: Any) -> MetricLearner:
    changes = {"random_state": 0, "device": "cpu"} | changes
    return MetricLearner(embedder=embedder, metric=metric, **changes)


def classes() -> Fit:
    return result(learner(network()).fit(X, Y))


def squared_error_validated() -> Fit:
    embedder = network(loss="squared", batch_size=47, averaged=0.5)
    return result(learner(embedder, validation_fraction=0.2).fit(X, Y))


def inner_layers() -> Fit:
    return result(learner(network(), metric="auto").fit(X, Y))


def turned_images_and_batch_norm() -> Fit:
    embedder = network("conv", augment="characters", optimiser="muon")
    return result(learner(embedder).fit(IMAGES, Y), IMAGES)


def moved_images() -> Fit:
    embedder = network("cifar10", augment="photographs", max_epochs=1, batch_size=128)
    large = np.repeat(np.repeat(IMAGES[:128], 2, axis=2), 2, axis=3)
    return result(learner(embedder).fit(large, Y[:128]), large)


def more_classes_than_components() -> Fit:
    return result(learner(network(), n_components=8).fit(X, MANY))


def fitted_to_pairs() -> MetricLearner:
    return learner(network(), feedback=0).fit(X, relation=PAIRS)


def pairs_without_feedback() -> Fit:
    return result(fitted_to_pairs())


def pairs_with_feedback() -> Fit:
    fitted = learner(network(), feedback=3).fit(X, relation=PAIRS)
    return {"candidate": fitted.selection_.candidate, "points": fitted.transform(X[:40])}


def update() -> Fit:
    fitted = fitted_to_pairs()
    more = PairRelation([0, 1], [2, 3], [1.0, 0.0], len(X))
    return result(fitted.update(more))


def regressor() -> Fit:
    return {"points": learner(Ridge()).fit(X, Y).transform(X[:40])}


def fewer_examples_than_processes() -> Fit:
    embedder = network(batch_size=1, max_epochs=1)
    return result(learner(embedder).fit(X[:60], Y[:60]))


def codes() -> Fit:
    return result(HashLearner(16, embedder=network(), random_state=0, device="cpu").fit(X, Y))


def pairs_through_one_network() -> Fit:
    rival = SiameseLearner(4, embedder=network(max_epochs=1), random_state=0, device="cpu")
    return result(rival.fit(X, relation=PAIRS))


def losses_of_whole_batches() -> Fit:
    rival = BatchLossLearner(4, embedder=network(max_epochs=2), random_state=0, device="cpu")
    return result(rival.fit(X, Y))


EQUAL: dict[str, Callable[[], Fit]] = {
    fit.__name__: fit
    for fit in (
        classes,
        squared_error_validated,
        inner_layers,
        turned_images_and_batch_norm,
        moved_images,
        more_classes_than_components,
        pairs_without_feedback,
        pairs_with_feedback,
        update,
        regressor,
        fewer_examples_than_processes,
        codes,
        pairs_through_one_network,
        losses_of_whole_batches,
    )
}


class OwnNetwork(nn.Module):
    """Draws by itself, keeps state of its own, and leaves a layer unused."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(64, 32), nn.Linear(32, 4)
        self.unused = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(32)
        self.register_buffer("mean_seen", self.first.weight.new_zeros(()))

    def forward(self, values: Any) -> Any:
        if self.training:
            self.mean_seen.copy_(values.mean())
        hidden = self.norm(self.first(values)).relu()
        return self.last(nn.functional.dropout(hidden, 0.5, self.training))


def own_network() -> Fit:
    return result(learner(network(OwnNetwork()), n_components=4).fit(X, Y))


def unseeded() -> Fit:
    return result(learner(network(), random_state=None).fit(X, Y))


def called_back(stop_after: int = 2) -> Fit:
    told: list[int] = []

    def callback(epoch: Any) -> bool:
        told.append(epoch.number)
        assert epoch.embed(X[:2]).shape == (2, 16)
        # A fit of one process alone must not wait for the others.
        learner(network(max_epochs=1), n_components=2).fit(X[:50], Y[:50])
        return epoch.number == stop_after

    fitted = learner(network(callback=callback, max_epochs=5)).fit(X, Y)
    return result(fitted) | {"told": told}


def resumable(checkpoint: Path, callback: Any = None, max_epochs: int = 6) -> MetricLearner:
    embedder = network(max_epochs=max_epochs, checkpoint=checkpoint, callback=callback)
    return learner(embedder)
