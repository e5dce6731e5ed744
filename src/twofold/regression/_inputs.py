"""What a network sees of some items: their features, augmented while it learns."""

from __future__ import annotations

import torch
from torch import Tensor

from twofold.regression._augment import Augment, Augmenter
from twofold.regression._features import Features


class Inputs:
    """The items of a task.

    Parameters
    ----------
    features : Features
        Of all items.
    augment : Augment, optional
        How training images are changed.
    """

    def __init__(self, features: Features, augment: Augment | None = None) -> None:
        self.features = features
        self.index_device = features.index_device
        self._augmenter = Augmenter(augment, features.device)

    def begin_epoch(self, number: int) -> None:
        """Say which epoch the next batches belong to."""
        self._augmenter.begin_epoch(number)

    def batch(self, items: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return items by number; augmented if there is a generator, on the device that trains."""
        return self._augmenter(self.features.rows(items), items, generator)
