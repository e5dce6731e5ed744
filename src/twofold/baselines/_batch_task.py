"""Labelled items in batches: what a network loses on the points and labels of a batch."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from twofold.baselines._item_batches import ItemBatches
from twofold.baselines._labelled_items import LabelledItems
from twofold.regression import Augment, Features


class BatchLoss(Protocol):
    """A loss of the items of a batch together, differentiated by torch."""

    @property
    def is_recordable(self) -> bool:
        """Whether it is the same kernels every time, without waiting for the device."""

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch.

        Parameters
        ----------
        points : Tensor of float32, shape (n, n_components)
            What the network gives.
        labels : Tensor of int64, shape (n,), or of bool, shape (n, n_labels)
            Class numbers, or the indicator matrix.
        """


class BatchTask(ItemBatches):
    """Labelled items, each once per epoch; their loss is that of the batch they are in.

    Parameters
    ----------
    features : Features
        Of all items.
    labelled : LabelledItems
        Those to learn from, with their labels.
    loss : BatchLoss
        Of a batch.
    device : str
        That trains; labels lie there.
    augment : Augment, optional
        How training images are changed.
    """

    adds_up = False

    def __init__(
        self,
        features: Features,
        labelled: LabelledItems,
        loss: BatchLoss,
        device: str,
        augment: Augment | None = None,
    ) -> None:
        super().__init__(features, len(labelled.items), augment)
        self.is_recordable = loss.is_recordable
        self.batch_loss = loss
        self._items = torch.from_numpy(labelled.items).to(self.index_device)
        self._labels = torch.from_numpy(labelled.labels).to(device)

    def loss(
        self, network: nn.Module, examples: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the mean loss on some examples."""
        points = self.points(network, self._items[examples], generator)
        labels = self._labels[examples.to(self._labels.device, non_blocking=True)]
        # Half precision is for the network; differences of distances need all of it.
        with torch.autocast(points.device.type, enabled=False):
            return self.batch_loss(points, labels)
