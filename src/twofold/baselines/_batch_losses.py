"""Losses over all pairs of a batch, as pytorch-metric-learning has them, with its own settings.

That package asks the device how many pairs there are, at every step; these do not, so that a step
on a GPU can be recorded. Tests hold each to the package. All compare points by their cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from twofold.baselines._batch_task import BatchLoss
from twofold.baselines._exponents import FAR, log_one_more
from twofold.baselines._proxies import ProxyAnchorLoss

Loss = Literal["supcon", "proxy-anchor", "multi-similarity", "triplet"]
TEMPERATURE = 0.1
ALPHA, BETA, BASE, MINER_MARGIN = 2.0, 50.0, 0.5, 0.1
TRIPLET_MARGIN = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class BatchPairs:
    """All pairs of a batch: their cosines, and which are alike and which are not.

    Attributes
    ----------
    cosine : Tensor of float32, shape (n, n)
        Of each row to each column.
    alike, unlike : Tensor of bool, shape (n, n)
        Of the same class, and of another; no item is paired with itself.
    """

    cosine: Tensor
    alike: Tensor
    unlike: Tensor

    @classmethod
    def of(cls, points: Tensor, labels: Tensor) -> BatchPairs:
        """Return the pairs of points and their class numbers."""
        unit = functional.normalize(points)
        same = labels[:, None] == labels
        itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        return cls(unit @ unit.T, same & ~itself, ~same)


class SupConLoss:
    """−mean over an item's alike of log softmax(cosine / temperature) among all others."""

    is_recordable = True

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean over items that have one alike."""
        pairs = BatchPairs.of(points, labels)
        odds = (pairs.cosine / TEMPERATURE).masked_fill(~(pairs.alike | pairs.unlike), FAR)
        log_share = odds - odds.logsumexp(dim=1, keepdim=True)
        lost = -(log_share * pairs.alike).sum(dim=1) / pairs.alike.sum(dim=1).clamp(min=1)
        return _mean_of_what_loses(lost)


class MultiSimilarityLoss:
    """log(1 + Σ exp(α (λ − cosine))) / α over alike, log(1 + Σ exp(β (cosine − λ))) / β over not.

    Parameters
    ----------
    is_mined : bool
        Whether of an item's alike those count that are hardly nearer than the nearest of another
        class, and of the others those that are hardly further than the furthest of its own.
    """

    is_recordable = True

    def __init__(self, is_mined: bool) -> None:
        self.is_mined = is_mined

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean over items."""
        pairs = BatchPairs.of(points, labels)
        cosine, alike, unlike = pairs.cosine, pairs.alike, pairs.unlike
        if self.is_mined:
            furthest = cosine.masked_fill(~alike, torch.inf).amin(dim=1, keepdim=True)
            nearest = cosine.masked_fill(~unlike, -torch.inf).amax(dim=1, keepdim=True)
            alike = alike & (cosine - MINER_MARGIN < nearest)
            unlike = unlike & (cosine + MINER_MARGIN > furthest)
        drawn = log_one_more(ALPHA * (BASE - cosine), alike) / ALPHA
        pushed = log_one_more(BETA * (cosine - BASE), unlike) / BETA
        return (drawn + pushed).mean()


class TripletLoss:
    """max(0, margin + cosine to one of another class − cosine to one alike), over triplets.

    Parameters
    ----------
    is_mined : bool
        Whether the mean is over semihard triplets, whose order is right by less than the margin,
        that lose something; over all triplets otherwise.
    """

    is_recordable = True

    def __init__(self, is_mined: bool) -> None:
        self.is_mined = is_mined

    def __call__(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean over triplets, of which a batch of n items has n³ at most."""
        pairs = BatchPairs.of(points, labels)
        ahead = pairs.cosine[:, :, None] - pairs.cosine[:, None, :]  # (item, alike, not alike)
        counted = pairs.alike[:, :, None] & pairs.unlike[:, None, :]
        if self.is_mined:
            counted = counted & (ahead > 0)
        lost = functional.relu(TRIPLET_MARGIN - ahead) * counted
        return _mean_of_what_loses(lost) if self.is_mined else lost.sum() / _count(counted)


def batch_losses(
    name: Loss, n_classes: int, n_components: int, rng: np.random.Generator
) -> tuple[BatchLoss, BatchLoss]:
    """Return what is lost in training, and what is to be small on items held out.

    The second is the mean over all pairs or triplets: the mean over those that a miner picks does
    not fall as fewer are left to pick.
    """
    if name == "multi-similarity":
        return MultiSimilarityLoss(is_mined=True), MultiSimilarityLoss(is_mined=False)
    if name == "triplet":
        return TripletLoss(is_mined=True), TripletLoss(is_mined=False)
    loss: BatchLoss = SupConLoss()
    if name == "proxy-anchor":
        loss = ProxyAnchorLoss(n_classes, n_components, rng)
    return loss, loss


def _mean_of_what_loses(lost: Tensor) -> Tensor:
    return lost.sum() / _count(lost > 0)


def _count(counted: Tensor) -> Tensor:
    return counted.sum().clamp(min=1)
