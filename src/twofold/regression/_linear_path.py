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
LARGEST_DIM = 256
"""Components that points have by default, if there are so many features."""
N_DEVIATIONS = 2.0
"""Of a feature, from its mean: what is further out is taken for that far, where points are to be
learnt from. In training parts (AUROC of new items, one pair an item): yeast .563 against .549,
scene .858 against .849, amazon-google .947 both; with 3 deviations .560 and .856."""
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
    limits : ndarray of float32, shape (2, n_features), or None
        The least and the most that a feature counts for, where outliers are not to.
    """

    shift: NDArray[np.float32]
    projection: NDArray[np.float32]
    limits: NDArray[np.float32] | None = None

    def points(self, features: Features, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the points of some items, shape (len(items), dim)."""
        path = LinearPath(self).to(features.rows(spread_evenly(features, 1)).device)
        shape = tuple(features.rows(spread_evenly(features, 1)).shape[1:])
        return predict_points(path, features, shape, items)

    def turned(self, map_: NDArray[np.float32]) -> RawMap:
        """Return the map whose points are these times `map_`, of shape (dim, dim)."""
        return RawMap(self.shift, map_.T @ self.projection, self.limits)


def fit_raw_map(features: Features, dim: int | None = None, clipped: bool = False) -> RawMap:
    """Return the map that keeps the features' distances, as far as `dim` components can.

    With fewer components than features they are the principal ones; with more, the rest are 0. By
    default they are as many as there are features, but no more than `LARGEST_DIM`.

    Parameters
    ----------
    features : Features
        Of all items, or of enough.
    dim : int, optional
        Components of a point.
    clipped : bool
        Whether outliers count no more than `N_DEVIATIONS`.
    """
    n_numbers = features.rows(spread_evenly(features, 1)).numel()
    n_sampled = max(FEWEST_SAMPLED, SAMPLED_NUMBERS // max(1, n_numbers))
    sample = features.rows(spread_evenly(features, n_sampled))
    sample = sample.flatten(1).double().cpu()
    if not torch.isfinite(sample).all():
        raise ValueError("X holds NaN or infinity. Replace or drop these values first.")
    limits = _limits(sample) if clipped else None
    if limits is not None:
        sample = sample.clamp(*limits)
    shift = sample.mean(dim=0)
    sample -= shift
    n_features = sample.shape[1]
    dim = dim or min(n_features, LARGEST_DIM)
    if n_features <= dim:
        projection = torch.eye(dim, n_features, dtype=torch.float64)
    else:
        projection = _leading_directions(sample, dim)
    length = (sample @ projection.T).square().sum(dim=1).mean().sqrt()
    if length > 0:
        projection /= length
    return RawMap(
        shift.float().numpy(),
        projection.float().numpy(),
        None if limits is None else limits.float().numpy(),
    )


def _limits(sample: Tensor) -> Tensor:
    """Return the least and the most that each feature counts for.

    Where a feature is 0 it is often absent, and few items have it: so the usual is that of the
    others, and 0 counts as usual. What an item has or has not is never an outlier.
    """
    is_there = sample != 0
    n_there = is_there.sum(dim=0).clamp(min=1)
    mean = sample.sum(dim=0) / n_there
    deviation = (((sample - mean) * is_there).square().sum(dim=0) / n_there).sqrt()
    low, high = mean - N_DEVIATIONS * deviation, mean + N_DEVIATIONS * deviation
    is_anywhere = is_there.all(dim=0)
    return torch.stack(
        [
            torch.where(is_anywhere, low, low.clamp(max=0)),
            torch.where(is_anywhere, high, high.clamp(min=0)),
        ]
    )


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


class FromFeatures(nn.Module):
    """What begins with the features as points.

    Parameters
    ----------
    raw : RawMap
        These points.
    """

    shift: Tensor
    projection: Tensor
    limits: Tensor | None

    def __init__(self, raw: RawMap) -> None:
        super().__init__()
        self.register_buffer("shift", torch.from_numpy(raw.shift))
        self.register_buffer("projection", torch.from_numpy(raw.projection))
        self.register_buffer("limits", None if raw.limits is None else torch.from_numpy(raw.limits))

    def centred(self, items: Tensor) -> Tensor:
        """Return the features of a batch within their limits, less their mean."""
        flat = items.flatten(1).to(self.shift.dtype)
        if self.limits is not None:
            # 0 times infinity is no number: what is not one stays so.
            flat = torch.clamp(flat, self.limits[0], self.limits[1]) + 0 * flat
        return flat - self.shift

    @property
    def raw(self) -> RawMap:
        """The features as points, as it was given them."""
        limits = None if self.limits is None else self.limits.cpu().numpy()
        return RawMap(self.shift.cpu().numpy(), self.projection.cpu().numpy(), limits)


class LinearPath(FromFeatures):
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

    def __init__(self, raw: RawMap, body: nn.Module | None = None, gain: bool = False) -> None:
        super().__init__(raw)
        self.change = nn.Parameter(torch.zeros(raw.projection.shape))
        self.gain = nn.Parameter(torch.zeros(())) if gain else None
        self.body = body

    def forward(self, items: Tensor) -> Tensor:
        """Return the points of a batch."""
        points = functional.linear(self.centred(items), self.projection + SLOWNESS * self.change)
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
