"""The features as they are, as points; and a network beside them that learns what to change.

With few pairs the features know more than the pairs do: a map that starts as the features' own
metric can only be improved by them, one that starts at random has first to find it again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from twofold.regression._features import Features, spread_evenly
from twofold.regression._network_embedder import predict_points

SAMPLED_NUMBERS, FEWEST_SAMPLED = 2**22, 1024
"""Numbers, and items, that the projection is estimated on at least, of items spread evenly."""
FEWEST_DIM, LARGEST_DIM, ENOUGH = 64, 256, 0.95
"""Components, and share of the variance, that points have by default. Of many features the last
twentieth is mostly noise (scene, pairs held out: AUROC .843 with it gone against .833) and takes
most of the time; of few, which may be on scales of their own, a quiet one may tell most."""
SLOWNESS = 0.1
"""What a step of the optimiser moves the linear path by, as a share of what it moves the network
by. At full speed the path learns single statements by heart (scene, one pair an item: AUROC .72
against .78; digits, half a pair an item: .975 against .983); held fixed it cannot weigh features
(.71 on scene)."""


@dataclass(frozen=True, slots=True, eq=False)
class RawMap:
    """Features made points: centred, turned to their leading directions, one common scale.

    Attributes
    ----------
    shift : ndarray of float32, shape (n_features,)
        Mean of the flattened features.
    projection : ndarray of float32, shape (dim, n_features)
        Rows of equal length at right angles, so that distances are those of the features, all
        divided by one number: the points' root mean square is 1.
    """

    shift: NDArray[np.float32]
    projection: NDArray[np.float32]

    def points(self, features: Features, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the points of some items, shape (len(items), dim)."""
        path = LinearPath(self).to(features.rows(spread_evenly(features, 1)).device)
        shape = tuple(features.rows(spread_evenly(features, 1)).shape[1:])
        return predict_points(path, features, shape, items)

    def turned(self, map_: NDArray[np.float32]) -> RawMap:
        """Return the map whose points are these times `map_`, of shape (dim, dim)."""
        return RawMap(self.shift, map_.T @ self.projection)


def fit_raw_map(features: Features, dim: int | None = None) -> RawMap:
    """Return the map that keeps the features' distances, as far as `dim` components can.

    With fewer components than features they are the principal ones; with more, the rest are 0. By
    default they are as many as it takes to keep `ENOUGH` of the variance, from `FEWEST_DIM` (or all
    features, if these are fewer) to `LARGEST_DIM`.
    """
    n_numbers = features.rows(spread_evenly(features, 1)).numel()
    n_sampled = max(FEWEST_SAMPLED, SAMPLED_NUMBERS // max(1, n_numbers))
    sample = features.rows(spread_evenly(features, n_sampled))
    sample = sample.flatten(1).double().cpu()
    if not torch.isfinite(sample).all():
        raise ValueError("X holds NaN or infinity. Replace or drop these values first.")
    shift = sample.mean(dim=0)
    sample -= shift
    n_features = sample.shape[1]
    if dim is None and n_features > FEWEST_DIM:
        projection = _enough_directions(sample)
    elif dim is None or n_features <= dim:
        projection = torch.eye(dim or n_features, n_features, dtype=torch.float64)
    else:
        projection = _leading_directions(sample, dim)
    length = (sample @ projection.T).square().sum(dim=1).mean().sqrt()
    if length > 0:
        projection /= length
    return RawMap(shift.float().numpy(), projection.float().numpy())


def _enough_directions(sample: Tensor) -> Tensor:
    """Return the principal directions of a centred sample that hold enough of its variance."""
    directions = _leading_directions(sample, min(sample.shape[1], LARGEST_DIM))
    held = (sample @ directions.T).square().sum(dim=0).cumsum(dim=0)
    n_enough = int((held < ENOUGH * sample.square().sum()).sum()) + 1
    return directions[: max(n_enough, FEWEST_DIM)]


def _leading_directions(sample: Tensor, dim: int) -> Tensor:
    """Return the principal directions of a centred sample, each with a fixed sign.

    Those that the sample has not are 0.
    """
    if len(sample) < sample.shape[1]:
        directions = torch.linalg.svd(sample, full_matrices=False).Vh[:dim]
        missing = dim - len(directions)
        directions = functional.pad(directions, (0, 0, 0, missing))
    else:
        directions = torch.linalg.eigh(sample.T @ sample).eigenvectors.flip(1)[:, :dim].T
    largest = directions.abs().argmax(dim=1, keepdim=True)
    turned: Tensor = directions * directions.gather(1, largest).sign()
    return turned


class LinearPath(nn.Module):
    """P(x − m) + f(x): a linear path beside a network that starts at 0, or the path alone.

    Parameters
    ----------
    raw : RawMap
        m and P at the start.
    body : nn.Module, optional
        f, its input scaling included.
    gain : bool
        Whether f is multiplied by a number that starts at 0: for networks whose own last layer is
        not to be touched.
    """

    shift: Tensor
    projection: Tensor

    def __init__(self, raw: RawMap, body: nn.Module | None = None, gain: bool = False) -> None:
        super().__init__()
        self.register_buffer("shift", torch.from_numpy(raw.shift))
        self.register_buffer("projection", torch.from_numpy(raw.projection))
        self.change = nn.Parameter(torch.zeros(raw.projection.shape))
        self.gain = nn.Parameter(torch.zeros(())) if gain else None
        self.body = body

    def forward(self, items: Tensor) -> Tensor:
        """Return the points of a batch."""
        centred = items.flatten(1).to(self.shift.dtype) - self.shift
        points = functional.linear(centred, self.projection + SLOWNESS * self.change)
        if self.body is None:
            return points
        learnt: Tensor = self.body(items)
        return points + (learnt if self.gain is None else self.gain * learnt)


def beside_features(network: nn.Sequential, raw: RawMap, is_own: bool) -> LinearPath:
    """Return a prepared network with the features' linear path beside it, 0 at the start.

    Parameters
    ----------
    network : nn.Sequential
        Scaling and network, see `prepare_network`.
    raw : RawMap
        The features as points.
    is_own : bool
        Whether it is a user's own, whose weights are left as they are.
    """
    device = next(network.parameters()).device
    if not is_own:
        last = [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
    return LinearPath(raw, network, gain=is_own).to(device)
