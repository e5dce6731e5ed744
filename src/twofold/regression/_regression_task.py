"""Phase 2's task: squared error to targets."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold.regression._augment import Augment
from twofold.regression._features import Features
from twofold.regression._inputs import Inputs


class RegressionTask:
    """½‖t − g(x)‖², summed over components, averaged over items.

    Parameters
    ----------
    features : Features
        Of all items.
    items : ndarray of int64, shape (n_examples,)
        The items that have a target.
    targets : ndarray or Tensor of float32, shape (n_examples, dim), or (n_targets, dim)
        Their targets; or the ones that they share.
    device : str
        That trains.
    augment : Augment, optional
        How training images are changed.
    which : ndarray of int64, shape (n_examples,), optional
        Number of each one's row in `targets`; by default each has its own.
    """

    is_recordable = True
    adds_up = True

    def __init__(
        self,
        features: Features,
        items: NDArray[np.int64],
        targets: NDArray[np.float32] | Tensor,
        device: str,
        augment: Augment | None = None,
        which: NDArray[np.int64] | None = None,
    ) -> None:
        self.inputs = Inputs(features, augment)
        self.n_examples = len(items)
        self.index_device = features.index_device
        self._items = torch.from_numpy(items).to(self.index_device)
        self._targets = torch.as_tensor(targets, device=device)
        self._which = None if which is None else torch.from_numpy(which).to(device)

    def begin_epoch(self, number: int) -> None:
        """Be told which epoch begins; see `Task`."""
        self.inputs.begin_epoch(number)

    def loss(
        self, network: nn.Module, examples: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the mean loss on some examples; see `Task`."""
        batch = self.inputs.batch(self._items[examples], generator)
        rows = examples.to(self._targets.device, non_blocking=True)
        if self._which is not None:
            rows = self._which[rows]
        error: Tensor = network(batch).float() - self._targets[rows]
        return 0.5 * error.square().sum(dim=1).mean()
