"""Targets with few distinct values, as for classes: learn which one it is, not how far off.

Squared error aims at the mean of the targets that items like this one have, E[t | x]. Where there
are few targets, that mean is Σ_k p_k(x) t_k, and the chances p_k are learnt faster and better by
their likelihood. It costs the same, and the network has the same outputs.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from twofold._core.warnings import TargetWarning, warn_user
from twofold.regression._augment import Augment
from twofold.regression._features import Features
from twofold.regression._inputs import Inputs
from twofold.regression._network import Regression

PlannedRegression = Regression | Literal["likelihood if shared"]
"""The last is squared error unless items share targets."""
SMOOTHING = 0.1
"""Share of the chance that is spread over all targets: keeps a network from being too sure."""


class ExpectedTarget(nn.Module):
    """Σ_k p_k t_k, with p = softmax(o·t_k / √dim) of a network's outputs o.

    Parameters
    ----------
    targets : Tensor of float32, shape (n_targets, dim)
        The values t_k.
    """

    targets: Tensor

    def __init__(self, targets: Tensor) -> None:
        super().__init__()
        self.register_buffer("targets", targets)

    def log_odds(self, outputs: Tensor) -> Tensor:
        """Return what the softmax is taken of, shape (n, n_targets)."""
        return outputs @ (self.targets.T / math.sqrt(self.targets.shape[1]))

    def forward(self, outputs: Tensor) -> Tensor:
        """Return the mean target of each item, shape (n, dim)."""
        return self.log_odds(outputs).softmax(dim=1) @ self.targets


class LikelihoodTask:
    """−log p of each item's own target, smoothed, averaged over items.

    The network ends in an `ExpectedTarget`.

    Parameters
    ----------
    features : Features
        Of all items.
    items : ndarray of int64, shape (n_examples,)
        The items that have a target.
    which : ndarray of int64, shape (n_examples,)
        Number of each one's target.
    device : str
        That trains.
    augment : Augment, optional
        How training images are changed.
    """

    is_recordable = True
    adds_up = True

    def __init__(
        self,
        features: Features,
        items: NDArray[np.int64],
        which: NDArray[np.int64],
        device: str,
        augment: Augment | None = None,
    ) -> None:
        self.inputs = Inputs(features, augment)
        self.n_examples = len(items)
        self.index_device = features.index_device
        self._items = torch.from_numpy(items).to(self.index_device)
        self._which = torch.from_numpy(which).to(device)

    def begin_epoch(self, number: int) -> None:
        """Be told which epoch begins; see `Task`."""
        self.inputs.begin_epoch(number)

    def loss(
        self, network: nn.Module, examples: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the mean loss on some examples; see `Task`."""
        assert isinstance(network, nn.Sequential)
        batch = self.inputs.batch(self._items[examples], generator)
        outputs = network[:-1](batch)
        which = self._which[examples.to(self._which.device, non_blocking=True)]
        # Half precision is for the network; small chances need all of it.
        with torch.autocast(outputs.device.type, enabled=False):
            return self._loss_of(network, outputs.float(), which, generator)

    def _loss_of(
        self,
        network: nn.Sequential,
        outputs: Tensor,
        which: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:
        """Return the mean loss of outputs before the last layer, in full precision."""
        head = network[-1]
        assert isinstance(head, ExpectedTarget)
        log_chances = functional.log_softmax(head.log_odds(outputs), dim=1)
        # As `cross_entropy` with label smoothing, in ten fewer kernels, which a small network's
        # step on a GPU is the faster for.
        own = functional.nll_loss(log_chances, which)
        return torch.lerp(own, -log_chances.mean(), SMOOTHING)


def distinct_targets(
    targets: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the values that targets take, and which one each item has."""
    values, which = np.unique(targets, axis=0, return_inverse=True)
    return values, which.reshape(-1).astype(np.int64)


def possible_regression(
    regression: PlannedRegression,
    n_items: int,
    n_targets: int,
    *,
    is_spread: bool,
    is_network: bool = True,
) -> Regression | Literal["direction"]:
    """Return the regression that was planned, as far as the targets allow it.

    `is_spread` says that they are more classes' than there are components. Squared error then gives
    means of the targets of all classes that an item may be of: points of new items get short, and
    products of points go by that. New items of 300 classes in 256 components (24 hidden factors):
    AUROC .976, against .991 by direction. A regressor has no other loss, a network is warned of.
    """
    if regression == "squared":
        if is_spread and is_network:
            warn_user(
                f"Squared error does not learn {n_targets} classes well in fewer components: "
                "where they are hard to tell apart, points shrink to their mean. Set "
                f"loss='auto', or n_components={n_targets}.",
                TargetWarning,
            )
        return "squared"
    if is_spread:
        return "direction"
    if n_targets <= n_items / 2:
        return "likelihood"
    if regression == "likelihood if shared":
        return "squared"
    raise ValueError(
        f"loss='likelihood' needs targets that items share, but {n_items} items have {n_targets} "
        "different targets: set loss='squared'."
    )
