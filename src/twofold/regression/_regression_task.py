"""Phase 2's task: squared error to targets."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold.regression._features import Features
from twofold.regression._network_embedder import flip_some


class RegressionTask:
    """½‖t − g(x)‖², summed over components, averaged over items.

    Parameters
    ----------
    features : Features
        Of all items.
    items : ndarray of int64, shape (n_examples,)
        The items that have a target.
    targets : ndarray of float32, shape (n_examples, dim)
        Their targets.
    flips : bool
        Whether training images are mirrored at random.
    """

    is_recordable = True

    def __init__(
        self,
        features: Features,
        items: NDArray[np.int64],
        targets: NDArray[np.float32],
        device: str,
        flips: bool = False,
    ) -> None:
        self.features = features
        self.n_examples = len(items)
        self.index_device = features.index_device
        self.flips = flips
        self._items = torch.from_numpy(items).to(self.index_device)
        self._targets = torch.from_numpy(targets).to(device)

    def loss(self, network: nn.Module, examples: Tensor) -> Tensor:
        """Return the mean loss on some examples."""
        batch = self.features.rows(self._items[examples])
        if self.flips and network.training:
            batch = flip_some(batch)
        wanted = self._targets[examples.to(self._targets.device, non_blocking=True)]
        error: Tensor = network(batch).float() - wanted
        return 0.5 * error.square().sum(dim=1).mean()
