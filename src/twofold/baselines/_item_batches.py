"""Items through a network, augmented where they are images in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from twofold.regression import Augment, Features, Inputs


class ItemBatches:
    """What the tasks of all rivals share: how a network sees some items.

    Parameters
    ----------
    features : Features
        Of all items.
    n_examples : int
        Of the task.
    augment : Augment or None
        How training images are changed.
    """

    def __init__(self, features: Features, n_examples: int, augment: Augment | None) -> None:
        self._inputs = Inputs(features, augment)
        self.n_examples = n_examples
        self.index_device = features.index_device

    def begin_epoch(self, number: int) -> None:
        """Be told which epoch begins; see `Task`."""
        self._inputs.begin_epoch(number)

    def points(
        self, network: nn.Module, items: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Return a network's outputs for some items, as float32; see `Task` for the generator."""
        outputs: Tensor = network(self._inputs.batch(items, generator)).float()
        return outputs
