"""`Network`: which network is trained, and how; every "auto" is resolved here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from torch import nn

from twofold._core.checks import check_choice, check_count, check_number, check_share
from twofold._core.files import check_place
from twofold._core.progress import Reporter
from twofold._core.random import RandomState
from twofold.regression._augment import Augment, AugmentName, resolve_augment
from twofold.regression._fast_networks import FAST_NETWORKS, suits_fast_network
from twofold.regression._networks import NETWORKS, NetworkName
from twofold.regression._optimisers import OptimiserName
from twofold.regression._training_config import Epoch, TrainingConfig
from twofold.regression._views import VIEWS

Regression = Literal["squared", "likelihood"]
MAX_EPOCHS, FAST_EPOCHS = 30, 10
BATCH_SIZE, FAST_BATCH_SIZE = 64, 1024
LEARNING_RATE, SGD_RATE, MUON_RATE, FAST_RATE = 2e-3, 0.05, 0.1, 0.24
FEWEST_STEPS = 24
"""An epoch of a fast network has at least so many steps."""
FAST_AUGMENT = Augment(shift=2)


@dataclass(frozen=True, slots=True)
class Regularisation:
    """What "auto" stands for in the network "mlp"."""

    dropout: float
    weight_decay: float


MILD = Regularisation(dropout=0.2, weight_decay=0.03)
STRONG = Regularisation(dropout=0.5, weight_decay=1.0)
"""Mild for classes, and for targets that already follow the features; strong for several labels and
for single statements, which say less of an item and are easier to memorise."""


@dataclass(repr=False, eq=False)
class Network(BaseEstimator):  # type: ignore[misc]
    """A network from features to targets, and how to train it.

    Parameters
    ----------
    architecture : "auto", the name of a network, or torch.nn.Module
        "mlp" (two hidden layers, for vectors); for images "conv" (small, for a CPU), "fast-conv"
        and "deep-conv" (for a GPU and images of 16 to 96 pixels); or one of the paper's: "mnist",
        "cifar10", "pubfig83", "nuswide". "auto" is "fast-conv" for such images on a GPU, and "mlp"
        elsewhere. These get standardised features. A module of your own is copied, keeps its
        weights, must have `n_components` outputs, and gets the features as given, except that bytes
        (uint8) are divided by 255.
    max_epochs : int or "auto"
        Passes over the items; "auto" is 30, or 10 for "fast-conv" and "deep-conv".
    batch_size : int or "auto"
        Items per step, of all processes together; "auto" is 64, or 1024 for "fast-conv" and
        "deep-conv", fewer for few items.
    learning_rate : float or "auto"
        The optimiser's maximum learning rate. For "adamw" and "sgd" it rises over the first tenth
        of all steps and then falls along half a cosine; for "muon" it falls linearly. "auto" is
        0.002, or 0.001 for networks that are trained on pairs; 0.05 for "sgd"; and for "muon" 0.1,
        or 0.24 for "fast-conv" and "deep-conv".
    weight_decay, dropout : float or "auto"
        Weight decay, decoupled from the gradient, and dropout of the network "mlp". "auto" is 0.03
        and 0.2 for classes and for targets that follow the features (feedback), 1 and 0.5 for
        several labels and single statements; no weight decay for networks other than "mlp".
    augment : "auto", {"flips", "photographs", "characters"}, Augment or None
        How training images are changed each time they are seen: "flips" mirrors each image every
        second time; "photographs" mirrors images and shifts them by up to two pixels; "characters"
        shifts them by as much and rotates them by up to ten degrees. "auto" shifts images by up to
        two pixels for "fast-conv" and "deep-conv", and changes nothing for other networks.
    optimiser : {"auto", "adamw", "sgd", "muon"}
        Adam with decoupled weight decay, gradient descent with Nesterov momentum, or Muon for
        filters and inner matrices with Adam for the rest. "auto" is "muon" for "fast-conv" and
        "deep-conv", and "adamw" elsewhere.
    averaged : float
        Share of the steps, at the end, over which weights are averaged; 0 keeps the last weights.
        With a validation part, its best epoch is kept instead.
    views : {1, 2, 3, 6}
        In how many views an image is embedded: as it is (1), also mirrored (2), also shifted by a
        pixel (3), or both (6). Outputs are averaged, and the cost is multiplied by this number.
    loss : {"auto", "squared", "likelihood"}
        How targets are learnt: by squared error or, if many items share a target, as the items of a
        class do, by the likelihood of each target; the embedding is then the expected target or,
        with more classes than components, the direction of the output. "auto" is the likelihood for
        classes, unless their pairs are sampled.
    layers : "auto" or sequence of str
        The inner layers that may be compared, by their names in the network (see
        `torch.nn.Module.named_modules`). By default these are all layers that give a vector for
        each item, and the last convolutional map of each shape, by its means over the image and
        over its quarters.
    callback : callable (Epoch), optional
        Called after every epoch; returning True stops the training.
    checkpoint : path, optional
        A file that keeps the state of the training until it is done, so that a fit that was
        interrupted continues when it is called again. Needs a number as the learner's
        `random_state`.

    Examples
    --------
    >>> Network("mlp", max_epochs=5)
    Network(architecture='mlp', max_epochs=5)
    """

    architecture: Literal["auto"] | NetworkName | nn.Module = "auto"
    _: KW_ONLY
    max_epochs: int | Literal["auto"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    weight_decay: float | Literal["auto"] = "auto"
    dropout: float | Literal["auto"] = "auto"
    augment: Literal["auto"] | AugmentName | Augment | None = "auto"
    optimiser: Literal["auto"] | OptimiserName = "auto"
    averaged: float = 0.0
    views: int = 1
    loss: Literal["auto"] | Regression = "auto"
    layers: Literal["auto"] | Sequence[str] = "auto"
    callback: Callable[[Epoch], Any] | None = None
    checkpoint: str | os.PathLike[str] | None = None


def resolve_network(
    network: Network,
    regularisation: Regularisation,
    device: str,
    *,
    learning_rate: float = LEARNING_RATE,
    epoch_size: int | None = None,
    item_shape: tuple[int, ...] = (),
    n_items: int | None = None,
) -> TrainingConfig:
    """Return a network's parameters, checked, with a value for every "auto".

    Parameters
    ----------
    network : Network
        As the user gave it.
    regularisation : Regularisation
        What "auto" is for "mlp".
    device : str
        Where it is trained.
    learning_rate : float
        What "auto" is of Adam.
    epoch_size : int, optional
        Examples an epoch; all by default.
    item_shape : tuple of int
        Of the features, which says what "auto" is.
    n_items : int, optional
        To learn from, which say it too.
    """
    refuse_unknown_embedder(network)
    architecture = network.architecture
    if _is_auto(architecture):
        is_fast = device != "cpu" and suits_fast_network(item_shape)
        architecture = "fast-conv" if is_fast else "mlp"
    is_fast = isinstance(architecture, str) and architecture in FAST_NETWORKS
    check_choice("loss", network.loss, ("auto", *get_args(Regression)))
    check_choice("optimiser", network.optimiser, ("auto", *get_args(OptimiserName)))
    optimiser = _or_auto(network.optimiser, "muon" if is_fast else "adamw")
    muon_rate = FAST_RATE if is_fast else MUON_RATE
    rate = {"adamw": learning_rate, "sgd": SGD_RATE, "muon": muon_rate}[optimiser]
    weight_decay = regularisation.weight_decay if architecture == "mlp" else 0.0
    return TrainingConfig(
        architecture=architecture,
        max_epochs=check_count(
            "max_epochs", _or_auto(network.max_epochs, FAST_EPOCHS if is_fast else MAX_EPOCHS)
        ),
        batch_size=check_count(
            "batch_size",
            _or_auto(network.batch_size, _fast_batch_size(n_items) if is_fast else BATCH_SIZE),
        ),
        learning_rate=check_number(
            "learning_rate", _or_auto(network.learning_rate, rate), 0, strict=True
        ),
        weight_decay=check_number("weight_decay", _or_auto(network.weight_decay, weight_decay), 0),
        dropout=check_share("dropout", _or_auto(network.dropout, regularisation.dropout)),
        optimiser=optimiser,
        schedule="linear" if optimiser == "muon" else "warm cosine",
        augment=resolve_augment(_or_auto(network.augment, FAST_AUGMENT if is_fast else None)),
        averaged=check_share("averaged", network.averaged),
        views=_checked_views(network.views),
        epoch_size=None if epoch_size is None else check_count("epoch_size", epoch_size),
        device=device,
    )


def _checked_views(views: object) -> int:
    n_views = check_count("views", views)
    if n_views not in VIEWS:
        allowed = ", ".join(map(str, VIEWS))
        raise ValueError(f"views must be one of {allowed}, got {n_views}.")
    return n_views


def _fast_batch_size(n_items: int | None) -> int:
    """Return the largest power of two, up to a bound, that gives an epoch enough steps."""
    if n_items is None:
        return FAST_BATCH_SIZE
    most = max(1, n_items // FEWEST_STEPS)
    power: int = 2 ** (most.bit_length() - 1)
    return max(BATCH_SIZE, min(FAST_BATCH_SIZE, power))


def is_network(embedder: Any) -> bool:
    """Whether an embedder is trained by the loop of this package."""
    if isinstance(embedder, Network):
        return is_network(embedder.architecture)
    is_name = isinstance(embedder, str) and embedder in NETWORKS
    return is_name or _is_auto(embedder) or isinstance(embedder, nn.Module)


def as_network(embedder: Any) -> Network:
    """Return the network that a learner's `embedder` stands for."""
    return embedder if isinstance(embedder, Network) else Network(embedder)


def refuse_unknown_embedder(embedder: Any) -> None:
    """Refuse what is neither a network nor a regressor."""
    if is_network(embedder):
        return
    if isinstance(embedder, Network):
        embedder = embedder.architecture
        if not isinstance(embedder, str):
            raise TypeError(
                "Network takes the name of a network or a torch.nn.Module, got "
                f"{type(embedder).__name__}. Pass a regressor as the embedder itself."
            )
    if isinstance(embedder, str):
        allowed = ", ".join(repr(name) for name in ("auto", *NETWORKS))
        raise ValueError(
            f"embedder must be one of {allowed}, a Network, a torch.nn.Module or a scikit-learn "
            f"regressor, got {embedder!r}."
        )
    if isinstance(embedder, type):
        raise TypeError(
            f"embedder must be an instance, got the class {embedder.__name__}: pass "
            f"{embedder.__name__}(...)."
        )
    if not (hasattr(embedder, "fit") and is_regressor(embedder)):
        raise TypeError(
            "embedder must be the name of a network, a Network, a torch.nn.Module or a "
            f"scikit-learn regressor, got {type(embedder).__name__}."
        )


def epoch_callback(reporter: Reporter, embedder: Any) -> Callable[[Epoch], Any]:
    """Return what is called after every epoch: the reporter, then the user's own callback."""
    callback = as_network(embedder).callback if is_network(embedder) else None
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {callback!r}.")

    def report(epoch: Epoch) -> Any:
        loss = epoch.validation_loss
        validation = "" if loss is None else f", validation {loss:.4f}"
        reporter.always(
            f"epoch {epoch.number}/{epoch.n_epochs}: loss {epoch.loss:.4f}{validation}, "
            f"{epoch.seconds:.1f} s"
        )
        return None if callback is None else callback(epoch)

    return report


def checkpoint_path(embedder: Any, random_state: RandomState) -> Path | None:
    """Return the file that a network's training is kept in, if one is named."""
    network = as_network(embedder) if is_network(embedder) else Network()
    if network.checkpoint is None:
        return None
    if not isinstance(random_state, int | np.integer):
        raise ValueError(
            f"checkpoint needs random_state to be a number, got {random_state!r}: only a training "
            "that draws the same numbers again can be continued."
        )
    return check_place(network.checkpoint)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _or_auto(value: Any, resolved: Any) -> Any:
    return resolved if _is_auto(value) else value
