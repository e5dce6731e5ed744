"""Proxies: a point a class that is trained beside the network, by the same optimiser."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

PROXY_RATE = 100.0
"""How many times as fast as the network the proxies learn; 100 in their authors' own code."""


class NetworkWithProxies(nn.Module):
    """A network, and a loss whose proxies are trained with it; it gives the network's outputs."""

    def __init__(self, network: nn.Module, loss: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.loss = loss

    def forward(self, items: Tensor) -> Tensor:
        """Return the network's outputs."""
        return cast(Tensor, self.network(items))


def proxy_anchor_loss(
    pml: Any, n_classes: int, n_components: int, rng: np.random.Generator
) -> nn.Module:
    """Return the proxy-anchor loss, its proxies `PROXY_RATE` times a parameter.

    A step of Adam is as long as its learning rate, however large the gradient. So the proxies move
    `PROXY_RATE` times as fast as all else, though the optimiser has one learning rate.

    Parameters
    ----------
    pml : module
        pytorch_metric_learning.
    n_classes, n_components : int
        Number of proxies, and their components.
    rng : Generator
        Of the proxies to begin with; their deviation √(2 / n_classes) is the package's own.
    """

    def draw(proxies: Tensor) -> None:
        drawn = rng.normal(scale=np.sqrt(2 / n_classes), size=tuple(proxies.shape))
        with torch.no_grad():
            proxies.copy_(torch.from_numpy(drawn))

    loss = pml.losses.ProxyAnchorLoss(n_classes, n_components, weight_init_func=draw)
    parametrize.register_parametrization(loss, "proxies", _Multiple(PROXY_RATE))
    return cast(nn.Module, loss)


class _Multiple(nn.Module):
    """A tensor as a multiple of the parameter that is trained."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, parameter: Tensor) -> Tensor:
        return self.factor * parameter

    def right_inverse(self, tensor: Tensor) -> Tensor:
        return tensor / self.factor
