"""Features as points: rows of one length if asked, outliers cut, centred, projected, one scale.

A map that starts from the features' own metric only has to learn what statements ask to change; one
that starts at random has to find that metric again first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd
from torch import Tensor, nn
from torch.nn import functional

from twofold.regression._features import Features, spread_evenly
from twofold.regression._network_embedder import predict_points

SAMPLED_NUMBERS, FEWEST_SAMPLED = 2**24, 1024
"""Numbers, and items, that a projection is estimated on, of items spread evenly over all."""
LARGEST_EXACT = 1024
"""Features, or else items, up to which the leading directions are computed exactly; beyond both by
a randomised SVD."""
ROUNDING = 1e-10
"""Variance, as a part of the largest, that float32 features have by rounding alone."""
N_DEVIATIONS = 2.0
"""Of a feature, from its mean: what lies further out counts for that far. See
`benchmarks/ablations.py`."""


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """z = P (x − m), of x within limits.

    Attributes
    ----------
    shift : ndarray of float32, shape (n_features,)
        m, the mean of the flattened features.
    matrix : ndarray of float32, shape (n_directions, n_features)
        P. Its rows are orthogonal and of equal length, so that distances are those of the features
        divided by one number: the points' root mean square is 1.
    limits : ndarray of float32, shape (2, n_features), or None
        The least and the most that a feature counts for.
    unit : bool
        Whether rows of features are brought to length 1 first, so that distances are cosines.
    """

    shift: NDArray[np.float32]
    matrix: NDArray[np.float32]
    limits: NDArray[np.float32] | None = None
    unit: bool = False

    @property
    def n_directions(self) -> int:
        """Components of a point."""
        return len(self.matrix)

    def leading(self, n_directions: int, scale: float) -> Projection:
        """Return the projection on the first directions, its points divided by `scale`."""
        matrix = self.matrix[:n_directions] / np.float32(scale)
        return Projection(self.shift, matrix, self.limits, self.unit)

    def points(self, features: Features, items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the points of some items, shape (len(items), n_directions).

        What is not finite is refused: `fit_projection` may not have seen it.
        """
        one_row = features.rows(spread_evenly(features, 1))
        layer = ProjectionLayer(self).to(one_row.device)
        points = predict_points(layer, features, tuple(one_row.shape[1:]), items)
        wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
        if wrong.size:
            row = items[wrong[0]]
            raise ValueError(
                f"X holds NaN or infinity, first in row {row}. Replace or drop it first."
            )
        return points


def fit_projection(
    features: Features,
    n_directions: int | None = None,
    *,
    clipped: bool = False,
    unit: bool = False,
) -> Projection:
    """Return the projection on the features' principal directions.

    It keeps their distances as far as its directions can; directions that the features do not have
    are 0.

    Parameters
    ----------
    features : Features
        Of all items.
    n_directions : int, optional
        As many as there are features by default.
    clipped : bool
        Whether outliers count for no more than `N_DEVIATIONS`.
    unit : bool
        Whether rows are brought to length 1 first.
    """
    n_numbers = features.rows(spread_evenly(features, 1)).numel()
    n_sampled = max(FEWEST_SAMPLED, SAMPLED_NUMBERS // max(1, n_numbers))
    sample = features.rows(spread_evenly(features, n_sampled)).flatten(1).cpu()
    sample = sample.double() if n_numbers <= LARGEST_EXACT else sample.float()
    if not torch.isfinite(sample).all():
        raise ValueError("X holds NaN or infinity. Replace or drop these values first.")
    if unit:
        sample = functional.normalize(sample)
    limits = _limits(sample) if clipped else None
    if limits is not None:
        sample = sample.clamp(*limits)
    shift = sample.mean(dim=0)
    sample = sample - shift
    matrix = _principal_directions(sample, n_directions or n_numbers)
    length = (sample @ matrix.T).square().sum(dim=1).mean().sqrt()
    if length > 0:
        matrix /= length
    return Projection(
        shift.float().numpy(),
        matrix.float().numpy(),
        None if limits is None else limits.float().numpy(),
        unit,
    )


def _limits(sample: Tensor) -> Tensor:
    """Return the least and the most that each feature counts for, shape (2, n_features).

    A feature that is 0 is often absent, so mean and deviation are those of the other values, and 0
    is always within the limits.
    """
    is_present = sample != 0
    n_present = is_present.sum(dim=0).clamp(min=1)
    mean = sample.sum(dim=0) / n_present
    deviation = (((sample - mean) * is_present).square().sum(dim=0) / n_present).sqrt()
    low, high = mean - N_DEVIATIONS * deviation, mean + N_DEVIATIONS * deviation
    is_dense = is_present.all(dim=0)
    return torch.stack(
        [
            torch.where(is_dense, low, low.clamp(max=0)),
            torch.where(is_dense, high, high.clamp(min=0)),
        ]
    )


def _principal_directions(sample: Tensor, n_directions: int) -> Tensor:
    """Return the leading principal directions of a centred sample, each with a fixed sign.

    Those that the sample does not have are 0.
    """
    if sample.shape[1] <= LARGEST_EXACT:
        found = torch.linalg.eigh(sample.T @ sample).eigenvectors.flip(1)[:, :n_directions].T
    elif sample.shape[0] <= LARGEST_EXACT:
        found = _directions_of_few(sample)[:n_directions]
    else:
        n_found = min(n_directions, *sample.shape)
        found = torch.from_numpy(
            randomized_svd(sample.numpy(), n_found, n_iter=2, random_state=0)[2]
        )
    directions = functional.pad(found, (0, 0, 0, n_directions - len(found)))
    largest = directions.abs().argmax(dim=1, keepdim=True)
    signed: Tensor = directions * directions.gather(1, largest).sign()
    return signed


def _directions_of_few(sample: Tensor) -> Tensor:
    """Return all directions of a sample with fewer rows than columns, by the rows' products.

    A X Xᵀ = λ A gives the directions A X / √λ, in O(n² d), exactly. A randomised decomposition
    of 50 rows of 2,000 columns took 3 times as long on one core.
    """
    rows = sample.double()
    values, vectors = torch.linalg.eigh(rows @ rows.T)
    values, vectors = values.flip(0), vectors.flip(1)
    real = values > ROUNDING * values[0].clamp(min=torch.finfo(torch.float64).tiny)
    found: Tensor = (vectors[:, real].T @ rows) / values[real].sqrt()[:, None]
    return found.to(sample.dtype)


class ProjectionLayer(nn.Module):
    """A `Projection` as the first layer of a map or network.

    Parameters
    ----------
    projection : Projection
        What it computes.
    """

    shift: Tensor
    matrix: Tensor
    limits: Tensor | None
    unit: Tensor

    def __init__(self, projection: Projection) -> None:
        super().__init__()
        limits = projection.limits
        self.register_buffer("shift", torch.from_numpy(projection.shift))
        self.register_buffer("matrix", torch.from_numpy(projection.matrix))
        self.register_buffer("limits", None if limits is None else torch.from_numpy(limits))
        self.register_buffer("unit", torch.tensor(projection.unit))
        self.is_unit = projection.unit  # asked in every step: a buffer would wait for the device

    def centred(self, items: Tensor) -> Tensor:
        """Return x − m of a batch, of features within their limits."""
        flat = items.flatten(1).to(self.shift.dtype)
        if self.is_unit:
            flat = functional.normalize(flat)
        if self.limits is not None:
            # 0 · infinity is NaN, so that what is not finite stays so.
            flat = torch.clamp(flat, self.limits[0], self.limits[1]) + 0 * flat
        return flat - self.shift

    def forward(self, items: Tensor) -> Tensor:
        """Return the points of a batch, shape (n, n_directions)."""
        return functional.linear(self.centred(items), self.matrix)


class FeaturesAsGiven(nn.Module):
    """The features themselves, flattened, as float32: the metric that a learner has to beat."""

    def forward(self, items: Tensor) -> Tensor:
        """Return the features of a batch, shape (n, n_features)."""
        return items.flatten(1).float()
