"""The losses of networks that are trained on pairs and triplets."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from twofold.baselines._item_batches import ItemBatches
from twofold.regression import Augment, Features
from twofold.relations import PairRelation, TripletRelation


class PairLoss(Protocol):
    """A loss of pairs of points, differentiated by torch."""

    def __call__(self, left: Tensor, right: Tensor, similar: Tensor) -> Tensor:
        """Return the loss of each pair."""


class Contrastive:
    """y ‖a − b‖² + (1 − y) max(0, m − ‖a − b‖)²."""

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def __call__(self, left: Tensor, right: Tensor, similar: Tensor) -> Tensor:
        """Return the loss of each pair."""
        squared = (left - right).square().sum(dim=1)
        # The root's slope is infinite at 0, where pairs that coincide stand.
        short = (self.margin - (squared + 1e-12).sqrt()).clamp(min=0)
        return similar * squared + (1 - similar) * short.square()


class Cosine:
    """½ (2y − 1 − cos(a, b))²: 1 wanted of the alike, −1 of those not alike."""

    def __call__(self, left: Tensor, right: Tensor, similar: Tensor) -> Tensor:
        """Return the loss of each pair."""
        wanted = 2 * similar - 1
        return 0.5 * (wanted - functional.cosine_similarity(left, right)).square()


class PairTask(ItemBatches):
    """Pairs of items, both through the same network."""

    is_recordable = True
    adds_up = True

    def __init__(
        self,
        features: Features,
        relation: PairRelation,
        loss: PairLoss,
        device: str,
        augment: Augment | None = None,
    ) -> None:
        super().__init__(features, relation.n_pairs, augment)
        self._loss = loss
        self._left = _on(relation.left, self.index_device)
        self._right = _on(relation.right, self.index_device)
        self._similar = _on(relation.similar, torch.device(device))
        weight = relation.weight
        self._weight = None if weight is None else _on(weight, torch.device(device))

    def loss(
        self, network: nn.Module, examples: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the mean loss on some pairs."""
        items = torch.cat([self._left[examples], self._right[examples]])
        left, right = self.points(network, items, generator).chunk(2)
        examples = examples.to(self._similar.device, non_blocking=True)
        losses = self._loss(left, right, self._similar[examples])
        return losses.mean() if self._weight is None else (self._weight[examples] * losses).mean()


class TripletTask(ItemBatches):
    """Triplets of items, all three through the same network: max(0, m + ‖a − p‖² − ‖a − n‖²)."""

    is_recordable = True
    adds_up = True

    def __init__(
        self,
        features: Features,
        relation: TripletRelation,
        margin: float,
        augment: Augment | None = None,
    ) -> None:
        super().__init__(features, relation.n_triplets, augment)
        self.margin = margin
        roles = (relation.anchor, relation.positive, relation.negative)
        self._items = torch.stack([_on(role, self.index_device) for role in roles])

    def loss(
        self, network: nn.Module, examples: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Return the mean loss on some triplets."""
        items = self._items[:, examples].flatten()
        anchor, positive, negative = self.points(network, items, generator).chunk(3)
        near: Tensor = (anchor - positive).square().sum(dim=1)
        far: Tensor = (anchor - negative).square().sum(dim=1)
        return (self.margin + near - far).clamp(min=0).mean()


def _on(array: NDArray[np.generic], device: torch.device) -> Tensor:
    # A relation's arrays are read-only, which torch does not take without a copy.
    return torch.from_numpy(array.copy()).to(device)
