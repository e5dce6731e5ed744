"""A trained network, or a map in closed form, from features to points."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from twofold._core.streams import collect_points, collect_rows
from twofold.regression._features import Features, item_batches, n_rows
from twofold.regression._views import averaged_views

PREDICTION_BYTES = 2**24
"""Features read at a time when predicting."""
GPU_VECTORS = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class OutputScale:
    """Undoes the standardisation of targets: scale · o + mean.

    Attributes
    ----------
    mean : ndarray of float32, shape (dim,)
        Of the targets.
    scale : float
        That they were divided by.
    """

    mean: NDArray[np.float32]
    scale: float

    def apply(self, outputs: Tensor) -> Tensor:
        """Return outputs in the targets' own coordinates."""
        mean = torch.from_numpy(self.mean).to(outputs.device, non_blocking=True)
        return outputs * self.scale + mean


@dataclass(eq=False)
class NetworkEmbedder:
    """A network with its input scaling, or a map in closed form, ready to predict.

    Attributes
    ----------
    network : nn.Module
        From features to outputs, in evaluation mode.
    input_shape : tuple of int
        Shape of one item.
    device : str
        Where it lies.
    name : str or None
        Of the network; None for a user's own, and for a map.
    output_scale : OutputScale or None
        From outputs to points; None if they are the same.
    n_views : int
        Of each item, whose outputs are averaged; see `VIEWS`.
    """

    network: nn.Module
    input_shape: tuple[int, ...]
    device: str
    name: str | None = None
    output_scale: OutputScale | None = None
    n_views: int = 1

    def predict(self, X: Any) -> NDArray[np.float32]:
        """Return the points of `X`, float32 of shape (n_items, dim)."""
        batches = item_batches(X, self.device, bounded_batch(self.input_shape, self.device))
        outputs = _outputs(self.network, batches, self.n_views, self.output_scale)
        return collect_points(outputs, n_rows(X))

    def __getstate__(self) -> dict[str, Any]:
        # A model that was trained on a GPU can be opened without one.
        return self.__dict__ | {
            "network": copy.deepcopy(self.network).to("cpu"),
            "device": "cpu",
        }


def check_points(points: NDArray[np.float32], n_components: int) -> NDArray[np.float32]:
    """Return an embedding, if it is as wide as it is said to be."""
    if points.shape[1] != n_components:
        raise ValueError(
            f"The embedder gives {points.shape[1]} components, not {n_components}: the model is "
            "damaged."
        )
    return points


def bounded_batch(item_shape: tuple[int, ...], device: str = "cpu") -> int:
    """Return how many items may go through a network at once when nothing is learnt from them."""
    n_numbers = max(1, int(np.prod(item_shape)))
    # A GPU is not kept busy by as few vectors as fit a processor's cache.
    most = GPU_VECTORS if len(item_shape) == 1 and torch.device(device).type == "cuda" else 4096
    return min(most, max(1, PREDICTION_BYTES // (4 * n_numbers)))


def predict_points(
    network: nn.Module,
    features: Features,
    input_shape: tuple[int, ...],
    items: NDArray[np.int64] | None = None,
) -> NDArray[np.float32]:
    """Return a network's outputs for some items, all by default, read in parts of bounded size."""
    size = bounded_batch(input_shape)
    numbers = torch.arange(features.n_items) if items is None else torch.from_numpy(items)
    every = torch.split(numbers.to(features.index_device), size)
    outputs = _outputs(network, (features.rows(some) for some in every))
    return collect_rows(outputs, len(numbers))


def _outputs(
    network: nn.Module,
    batches: Iterable[Tensor],
    n_views: int = 1,
    scale: OutputScale | None = None,
) -> Iterator[Tensor]:
    """Yield a network's outputs for items that come in batches."""

    def read(images: Tensor) -> dict[str, Tensor]:
        return {"output": network(images).float()}

    network.eval()
    for batch in batches:
        with torch.inference_mode():  # not over a yield: it would hold where the rows are used
            outputs = averaged_views(read, batch, n_views)["output"]
            outputs = outputs if scale is None else scale.apply(outputs)
        yield outputs
