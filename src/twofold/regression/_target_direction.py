"""More targets than components, as those of many classes: the direction of the outputs.

Which target an item has is learnt against a few others at a time, so that a step costs the
same however many targets there are. The embedding is the outputs' direction: the expected target
would need the chances of all of them.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from twofold.regression._augment import Augment
from twofold.regression._expected_target import SMOOTHING, LikelihoodTask
from twofold.regression._features import Features
from twofold.regression._shares import batch_of

N_RIVALS = 64
"""Targets that are drawn each step, besides those of the batch. On 5,000 classes in 256 components
AUROC on new items of these classes was .951 without any, .949 with 64, .946 with 192, .943 with
960, .940 with all targets; on 1,000 classes .982 with any number (2 to 3 seeds, a spread of .002).
None would leave a batch of a few items nothing to learn from.

Squared error came to .876 on 1,000 classes and near chance on 5,000. The direction was better than
the expected target: .982 against .969 with 1,000 classes, .940 against .916 with 5,000; only where
all targets are at right angles, in 1,000 components, was it worse, .980 against .997. Measured
on an H200 with a short copy of the training loop, on vectors of 24 hidden factors."""
MOST_OF_BATCH = 1024
"""Items of a batch whose targets are rivals of all its others: its square would not fit."""
TINY = 1e-12
"""Keeps outputs of zero finite."""


class TargetDirection(nn.Module):
    """o · length / ‖o‖: a network's outputs, as long as the targets are.

    Parameters
    ----------
    length : Tensor of float32, scalar
        Of the targets.
    """

    length: Tensor

    def __init__(self, length: Tensor) -> None:
        super().__init__()
        self.register_buffer("length", length)

    def forward(self, outputs: Tensor) -> Tensor:
        """Return the point of each item, shape (n, dim)."""
        return functional.normalize(outputs.float(), dim=1, eps=TINY) * self.length


class DirectionTask(LikelihoodTask):
    """−log p of each item's own target among some, smoothed, averaged over items.

    p = softmax(o·t_k / √dim) over the targets of the batch's items, 1,024 at most, and of
    `N_RIVALS` others; over all targets if they are no more than that. The network ends in a
    `TargetDirection`.

    Parameters
    ----------
    features, items, which, device, augment
        As for `LikelihoodTask`.
    targets : Tensor of float32, shape (n_targets, dim)
        On the device.
    """

    def __init__(
        self,
        features: Features,
        items: NDArray[np.int64],
        which: NDArray[np.int64],
        targets: Tensor,
        device: str,
        augment: Augment | None = None,
    ) -> None:
        super().__init__(features, items, which, device, augment)
        self._targets = targets
        # The same for every validation, so that epochs can be compared.
        n_fixed = min(N_RIVALS, len(targets))
        self._fixed = torch.arange(n_fixed, device=targets.device) * len(targets) // n_fixed

    def _loss_of(
        self,
        network: nn.Sequential,
        outputs: Tensor,
        which: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:
        n_targets, dim = self._targets.shape
        scaled = outputs / math.sqrt(dim)
        if n_targets <= N_RIVALS:
            log_odds = scaled @ self._targets.T
            return functional.cross_entropy(log_odds, which, label_smoothing=SMOOTHING)
        drawn = self._fixed
        if generator is not None:
            drawn = torch.randint(n_targets, (N_RIVALS,), device=which.device, generator=generator)
        whole = which
        if (batch := batch_of(generator)) is not None:  # of which this process has a part
            whole = self._which[batch.to(which.device, non_blocking=True)]
        rivals = torch.cat([whole[:MOST_OF_BATCH], drawn])
        is_own = rivals == which[:, None]  # an item's own target is no rival of it
        own = (scaled * self._targets[which]).sum(dim=1, keepdim=True)
        others = (scaled @ self._targets[rivals].T).masked_fill(is_own, -torch.inf)
        lost = -torch.cat([own, others], dim=1).log_softmax(dim=1)
        every = lost[:, 0] + lost[:, 1:].masked_fill(is_own, 0).sum(dim=1)
        spread = every / (1 + (~is_own).sum(dim=1))
        return ((1 - SMOOTHING) * lost[:, 0] + SMOOTHING * spread).mean()


def direction_length(targets: NDArray[np.float32], which: NDArray[np.int64]) -> float:
    """Return the usual length of the targets of items: the root of the mean square."""
    squares = np.einsum("kd,kd->k", targets, targets, dtype=np.float64)
    counts = np.bincount(which, minlength=len(targets))
    return float(np.sqrt(squares @ counts / len(which)))
