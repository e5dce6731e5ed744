"""Losses over all pairs of a batch, as pytorch-metric-learning has them, with its own settings.

All compare points by their cosine. The package is an extra, imported only when a loss is made.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from torch import Tensor, nn

from twofold.baselines._proxies import proxy_anchor_loss

Loss = Literal["supcon", "proxy-anchor", "multi-similarity", "triplet"]
TRIPLET_MARGIN = 0.2


class MinedLoss:
    """A loss of pytorch-metric-learning, on the pairs or triplets that its miner picks.

    Attributes
    ----------
    loss : nn.Module
        (points, labels, picked) -> scalar.
    miner : nn.Module or None
        (points, labels) -> picked; None to take all.
    """

    is_recordable = False  # how many pairs there are, the device is asked

    def __init__(self, loss: nn.Module, miner: nn.Module | None = None) -> None:
        self.loss = loss
        self.miner = miner

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of a batch; 0, with gradient 0, if it has no pair to learn from."""
        picked = None if self.miner is None else self.miner(points, labels)
        return cast(Tensor, self.loss(points, labels, picked))


def batch_losses(
    name: Loss, n_classes: int, n_components: int, rng: np.random.Generator
) -> tuple[MinedLoss, MinedLoss]:
    """Return what is lost in training, and what is to be small on items held out.

    The second is the mean over all pairs or triplets: the mean over those that a miner picks does
    not fall as fewer are left to pick.
    """
    pml = pytorch_metric_learning()
    if name == "supcon":
        loss = MinedLoss(pml.losses.SupConLoss())
        return loss, loss
    if name == "proxy-anchor":
        loss = MinedLoss(proxy_anchor_loss(pml, n_classes, n_components, rng))
        return loss, loss
    if name == "multi-similarity":
        loss = MinedLoss(pml.losses.MultiSimilarityLoss(), pml.miners.MultiSimilarityMiner())
        return loss, MinedLoss(loss.loss)
    return _triplet_losses(pml)


def _triplet_losses(pml: Any) -> tuple[MinedLoss, MinedLoss]:
    """Return semihard triplets by cosine, the setting of the package's own example."""
    cosine, mean = pml.distances.CosineSimilarity(), pml.reducers.MeanReducer()
    loss = pml.losses.TripletMarginLoss(TRIPLET_MARGIN, distance=cosine)
    over_all = pml.losses.TripletMarginLoss(TRIPLET_MARGIN, distance=cosine, reducer=mean)
    miner = pml.miners.TripletMarginMiner(TRIPLET_MARGIN, "semihard", distance=cosine)
    return MinedLoss(loss, miner), MinedLoss(over_all)


def pytorch_metric_learning() -> Any:
    """Return the package, or say how to get it."""
    try:
        import pytorch_metric_learning
        from pytorch_metric_learning import distances, losses, miners, reducers  # noqa: F401
    except ImportError:
        raise ImportError(
            "BatchLossLearner needs pytorch-metric-learning, which is not installed: "
            "pip install 'twofold[rivals]'."
        ) from None
    return pytorch_metric_learning
