"""The space of one layer: its vectors, whitened within kinds and scaled to length 1.

Regression to targets throws away, layer by layer, what does not tell the training kinds apart.
Whitening by the covariance within kinds makes small what differs between items of one kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from twofold.metric._kinds import Kinds

Variant = Literal["as given", "lifted", "whitened", "discriminant"]
MOST_DIRECTIONS = 512
"""Of a layer that is kept, the leading ones."""
N_SAMPLED = 1024
"""Items that the leading directions of something wider are taken from."""
SHRINKAGE = 0.8
"""Of the covariance within kinds, towards its mean eigenvalue, where too few kinds are held out to
compare some. Chosen in trials on MNIST, Omniglot, CIFAR-10, PubFig83, digits and vectors of 24
factors in which scores of the test classes were seen: .5 to .9 differ little there, less than .1 is
worse."""
DISCRIMINANT_SHRINKAGE = 0.1
"""The same where classes outnumber directions, so that both covariances are known well. This, and
the gain of a discriminant, were settled in trials on 24 factors in which test scores were seen. On
sets of them that were not, .001 to .5 are the same within .0001 AUROC."""
TINY, LEAST_SHARE = 1e-12, 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class LayerSpace:
    """[(h − mean) matrix, lift], brought to length 1.

    Attributes
    ----------
    layer : str
        Whose vectors h are.
    variant : {"as given", "lifted", "whitened", "discriminant"}
        Which map it is.
    mean : Tensor of float32, shape (n_values,)
        That is taken away.
    matrix : Tensor of float32, shape (n_values, n_directions)
        The map.
    lift : float
        A last coordinate that all items share, unless it is 0. The higher it is, the more the
        cosine goes by the distance of two items, and the less by their angle at the mean.
    """

    layer: str
    variant: Variant
    mean: Tensor
    matrix: Tensor
    lift: float = 0.0

    def apply(self, vectors: Tensor) -> Tensor:
        """Return points of length 1, shape (n_items, n_directions), one more if lifted.

        At the mean they have no length, unless they are lifted.
        """
        points = (vectors - self.mean) @ self.matrix
        if self.lift > 0:
            points = torch.nn.functional.pad(points, (0, 1), value=self.lift)
        return unit_rows(points)

    def to(self, device: str) -> LayerSpace:
        """Return the space on a device."""
        return replace(self, mean=self.mean.to(device), matrix=self.matrix.to(device))


def unit_rows(points: Tensor) -> Tensor:
    """Return points divided by their lengths; those of no length stay where they are."""
    lengths = points.norm(dim=1, keepdim=True)
    return points / torch.where(lengths > TINY, lengths, 1.0)


def variants_of(layer: str, n_values: int, n_classes: int) -> list[Variant]:
    """Return the maps that may be worth trying.

    The covariance between classes is known only where these outnumber the directions.
    """
    variants: list[Variant] = ["whitened"]
    if layer == "features":
        variants = ["as given", "lifted", "whitened"]
    if n_classes > min(n_values, MOST_DIRECTIONS):
        variants.append("discriminant")
    return variants


def fit_layer_spaces(
    named: Iterable[tuple[str, Variant]],
    layers: Mapping[str, Tensor],
    kinds: Kinds,
    shrinkage: float = SHRINKAGE,
) -> list[LayerSpace]:
    """Return the maps of layers, from the vectors of items and their kinds.

    With W the covariance within kinds and s the shrinkage, "whitened" maps by the inverse root of
    (1 − s) W + s tr(W)/d I, up to a rotation. In that space, "discriminant" also multiplies the
    principal directions of the classes by √(b / (1 + 2b)), b being the variance between classes
    along each: b / (1 + 2b) is what a product of two items' coordinates adds to the log odds that
    their class is one, if classes are normal with variance 1. b is that of the class means less
    what these vary by as means of few items, so that what classes do not differ in counts for
    nothing. "lifted" leaves directions as they are, and lifts by the root mean square of the
    lengths.

    Parameters
    ----------
    named : iterable of (str, str)
        Layer and variant of each; "discriminant" is for classes.
    layers : mapping of str to Tensor of float32, shape (n_items, n_values)
        By name.
    kinds : Kinds
        Of the items.
    shrinkage : float
        s of what is whitened.
    """
    of_layers: dict[str, _CentredLayer] = {}
    spaces = []
    for layer, variant in named:
        if layer not in of_layers:
            of_layers[layer] = _CentredLayer(layer, layers[layer], kinds)
        spaces.append(of_layers[layer].space(variant, shrinkage))
    return spaces


class _CentredLayer:
    """A layer less its mean, along its leading directions."""

    def __init__(self, layer: str, vectors: Tensor, kinds: Kinds) -> None:
        self.layer, self.kinds = layer, kinds
        self.mean = vectors.mean(dim=0)
        centred = vectors - self.mean
        self.leading = leading_directions(centred)
        self.narrow = centred @ self.leading

    def space(self, variant: Variant, shrinkage: float) -> LayerSpace:
        if variant == "as given":
            return LayerSpace(
                self.layer, variant, torch.zeros_like(self.mean), self._with_mean_direction()
            )
        if variant == "lifted":
            lift = float(self.narrow.square().sum(dim=1).mean().sqrt())
            return LayerSpace(self.layer, variant, self.mean, self.leading, lift)
        residuals, n_free = self.kinds.residuals(self.narrow)
        within = (residuals.T @ residuals).double() / max(1, n_free)
        is_whitened = variant == "whitened"
        matrix = _inverse_root(within, shrinkage if is_whitened else DISCRIMINANT_SHRINKAGE)
        if variant == "discriminant":
            means = self.kinds.means(self.narrow).double() @ matrix
            noise = self.kinds.mean_variance() * matrix.T @ within @ matrix
            matrix = matrix @ _gain(means, noise)
        return LayerSpace(self.layer, variant, self.mean, self.leading @ matrix.float())

    def _with_mean_direction(self) -> Tensor:
        """Return the leading directions, and what of the mean none of them has."""
        rest = self.mean - self.leading @ (self.leading.T @ self.mean)
        if rest.norm() <= LEAST_SHARE * self.mean.norm():
            return self.leading
        return torch.cat([self.leading, (rest / rest.norm())[:, None]], dim=1)


def leading_directions(vectors: Tensor, n_directions: int = MOST_DIRECTIONS) -> Tensor:
    """Return the leading directions as columns: all of what is narrow, of the rest by a sample."""
    n_items, n_values = vectors.shape
    if n_values <= n_directions:
        return torch.eye(n_values, device=vectors.device)
    rows = torch.linspace(0, n_items - 1, min(n_items, N_SAMPLED), device=vectors.device).long()
    sample = vectors[rows]
    sizes, left = torch.linalg.eigh(sample @ sample.T)
    kept = (sizes > LEAST_SHARE * sizes[-1].clip(min=TINY)).nonzero()[:, 0].flip(0)[:n_directions]
    if not len(kept):  # every item is the same
        return torch.eye(n_values, 1, device=vectors.device)
    directions: Tensor = sample.T @ (left[:, kept] / sizes[kept].sqrt())
    return directions


def _inverse_root(covariance: Tensor, shrinkage: float) -> Tensor:
    """Return M with Mᵀ C M = I, C being the covariance, shrunk."""
    size = covariance.diagonal().mean()
    every = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    if size <= TINY:  # every item is its kind: nothing to whiten
        return every
    lower = torch.linalg.cholesky((1 - shrinkage) * covariance + shrinkage * size * every)
    inverse: Tensor = torch.linalg.solve_triangular(lower, every, upper=False)
    return inverse.T


def _gain(means: Tensor, noise: Tensor) -> Tensor:
    """Return the map that keeps of each direction what classes differ in along it.

    `noise` is the covariance of the means as estimates.
    """
    centred = means - means.mean(dim=0)
    covariance = centred.T @ centred / max(1, len(means) - 1) - noise
    between, directions = torch.linalg.eigh(covariance)
    between = between.clip(min=0)
    gain: Tensor = directions * (between / (1 + 2 * between)).sqrt() @ directions.T
    return gain
