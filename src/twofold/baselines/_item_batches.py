"""Items through a network, mirrored at random where they are images in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from twofold.regression import Features, flip_some


class ItemBatches:
    """What the tasks of all rivals share: how a network sees some items.

    Parameters
    ----------
    features : Features
        Of all items.
    n_examples : int
        Of the task.
    flips : bool
        Whether training images are mirrored at random.
    """

    def __init__(self, features: Features, n_examples: int, flips: bool) -> None:
        self.features = features
        self.n_examples = n_examples
        self.index_device = features.index_device
        self.flips = flips

    def points(
        self, network: nn.Module, items: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Return a network's outputs for some items, as float32; see `Task` for the generator."""
        batch = self.features.rows(items)
        if self.flips and generator is not None:
            batch = flip_some(batch, generator)
        outputs: Tensor = network(batch).float()
        return outputs
