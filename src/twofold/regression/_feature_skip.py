"""A network with a skip connection from the features, so that it starts from their own metric."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from twofold.regression._projection import Projection, ProjectionLayer

SKIP_RATE = 0.1
"""What a step of the optimiser moves the skip connection by, as a share of what it moves the
network by. At full rate it memorises single statements (scene, one pair an item: AUROC .72 against
.78); held fixed it cannot weigh features (.71)."""


class FeatureSkip(nn.Module):
    """P (x − m) + f(x), with a network f that starts at 0.

    Parameters
    ----------
    projection : Projection
        P and m at the start.
    body : nn.Module
        f, its input scaling included.
    gain : bool
        Whether f is multiplied by a number that starts at 0, for networks whose own last layer is
        not to be touched.
    """

    def __init__(self, projection: Projection, body: nn.Module, gain: bool = False) -> None:
        super().__init__()
        self.projection = ProjectionLayer(projection)
        self.change = nn.Parameter(torch.zeros(projection.matrix.shape))
        self.gain = nn.Parameter(torch.zeros(())) if gain else None
        self.body = body

    def forward(self, items: Tensor) -> Tensor:
        """Return the points of a batch."""
        matrix = self.projection.matrix + SKIP_RATE * self.change
        points = functional.linear(self.projection.centred(items), matrix)
        outputs: Tensor = self.body(items)
        return points + (outputs if self.gain is None else self.gain * outputs)


def with_feature_skip(network: nn.Sequential, projection: Projection, is_own: bool) -> FeatureSkip:
    """Return a prepared network with a skip connection, whose output starts as the features.

    Parameters
    ----------
    network : nn.Sequential
        Scaling and network, see `prepare_network`.
    projection : Projection
        The features as points.
    is_own : bool
        Whether it is a user's own, whose weights are left alone.
    """
    device = next(network.parameters()).device
    if not is_own:
        last = [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
    return FeatureSkip(projection, network, gain=is_own).to(device)
