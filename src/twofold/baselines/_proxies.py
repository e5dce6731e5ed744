"""Proxies: a point per class that is trained beside the network, by the same optimiser."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from twofold.baselines._exponents import log_one_more

PROXY_RATE = 100.0
"""How many times as fast as the network the proxies learn; 100 in their authors' own code."""
MARGIN, ALPHA = 0.1, 32.0


class NetworkWithProxies(nn.Module):
    """A network, and a loss whose proxies are trained with it; it gives the network's outputs."""

    def __init__(self, network: nn.Module, loss: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.loss = loss

    def forward(self, items: Tensor) -> Tensor:
        """Return the network's outputs."""
        return cast(Tensor, self.network(items))


class ProxyAnchorLoss(nn.Module):
    """Each class's proxy draws the items of its class, and pushes all others.

    log(1 + Σ exp(−α (cosine − margin))) over the items of a class, averaged over the classes that
    are in the batch; and log(1 + Σ exp(α (cosine + margin))) over the others, averaged over all.

    The parameter is the proxies divided by `PROXY_RATE`: a step of Adam is as long as its learning
    rate, however large the gradient, so the proxies move `PROXY_RATE` times as fast as all else,
    though the optimiser has one learning rate.

    Parameters
    ----------
    n_classes, n_components : int
        Number of proxies, and their components.
    rng : Generator
        Of the proxies to begin with; their deviation is √(2 / n_classes).
    """

    is_recordable = True

    def __init__(self, n_classes: int, n_components: int, rng: np.random.Generator) -> None:
        super().__init__()
        drawn = rng.normal(scale=np.sqrt(2 / n_classes), size=(n_classes, n_components))
        self.scaled = nn.Parameter(torch.from_numpy(drawn).float() / PROXY_RATE)

    @property
    def proxies(self) -> Tensor:
        """The proxies, shape (n_classes, n_components)."""
        return PROXY_RATE * self.scaled

    def forward(self, points: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        cosine = functional.normalize(points) @ functional.normalize(self.proxies).T
        is_own = labels[:, None] == torch.arange(cosine.shape[1], device=labels.device)
        drawn = log_one_more(-ALPHA * (cosine.T - MARGIN), is_own.T)
        pushed = log_one_more(ALPHA * (cosine.T + MARGIN), ~is_own.T)
        is_there = is_own.any(dim=0)
        return drawn.sum() / is_there.sum() + pushed.mean()
