"""The metric step: from the layers of an embedder to points that are compared by their cosine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from torch import Tensor

from twofold._core.streams import collect_points
from twofold.metric._gate import GateCurve, gated
from twofold.metric._layer_space import (
    LayerSpace,
    fit_layer_spaces,
    leading_directions,
    unit_rows,
)
from twofold.metric._selection import LayerSample, MetricSelection, join_layers

FILE = "metric.safetensors"
ARRAYS = ("output_mean", "class_means", "components")


@dataclass(frozen=True, slots=True, eq=False)
class MetricStep:
    """Layers joined, each whitened and of length 1, and the output as far as a kind was seen.

    Attributes
    ----------
    spaces : tuple of LayerSpace
        Of the layers that count.
    weights : tuple of float
        How much each counts; they sum to 1.
    output_mean : Tensor of float32, shape (n_outputs,)
        That is taken from the output.
    gate : GateCurve or None
        How much of a point is the output; None if nothing is.
    class_means : Tensor of float32, shape (n_classes, n_joined)
        Directions of the training classes, for the gate.
    components : Tensor of float32, shape (n_joined [+ n_outputs], n_components)
        The leading directions of the training items, which points are made of.
    """

    spaces: tuple[LayerSpace, ...]
    weights: tuple[float, ...]
    output_mean: Tensor
    gate: GateCurve | None
    class_means: Tensor
    components: Tensor

    @property
    def n_components(self) -> int:
        """Of points."""
        return int(self.components.shape[1])

    @property
    def n_outputs(self) -> int:
        """Of the embedder."""
        return len(self.output_mean)

    @property
    def layer_names(self) -> list[str]:
        """The layers that are needed."""
        names = [space.layer for space in self.spaces]
        return list(dict.fromkeys(names if self.gate is None else [*names, "output"]))

    def transform(self, layers: Mapping[str, Tensor]) -> Tensor:
        """Return points of length 1, shape (n_items, n_components)."""
        return unit_rows(self.joined(layers) @ self.components)

    def embed(self, batches: Iterable[Mapping[str, Tensor]], n_items: int) -> NDArray[np.float32]:
        """Return the points of so many items, whose layers come some at a time, from any device."""
        return collect_points(self._transformed(batches), n_items)

    def _transformed(self, batches: Iterable[Mapping[str, Tensor]]) -> Iterator[Tensor]:
        step = self
        for layers in batches:
            device = str(next(iter(layers.values())).device)
            step = step if str(step.components.device) == device else step.to(device)
            yield step.transform(layers)

    def joined(self, layers: Mapping[str, Tensor]) -> Tensor:
        """Return points before their leading directions are taken."""
        points = join_layers(self.spaces, self.weights, layers)
        if self.gate is None:
            return points
        share = self.gate.apply((points @ self.class_means.T).amax(dim=1))
        return gated(points, unit_rows(layers["output"] - self.output_mean), share)

    def to(self, device: str) -> MetricStep:
        """Return the step on a device."""
        moved = {name: getattr(self, name).to(device) for name in ARRAYS}
        return replace(self, spaces=tuple(space.to(device) for space in self.spaces), **moved)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the step into a folder; return its description, as JSON takes it."""
        arrays: dict[str, Tensor] = {name: getattr(self, name) for name in ARRAYS}
        arrays["weights"] = torch.tensor(self.weights)
        arrays["lifts"] = torch.tensor([space.lift for space in self.spaces])
        for number, space in enumerate(self.spaces):
            arrays |= {f"mean.{number}": space.mean, f"matrix.{number}": space.matrix}
        content = save({name: array.cpu().clone() for name, array in arrays.items()})
        (folder / FILE).write_bytes(content)
        return {
            "spaces": [[space.layer, space.variant] for space in self.spaces],
            "gate": None if self.gate is None else asdict(self.gate),
            "sha256": hashlib.sha256(content).hexdigest(),
        }

    @classmethod
    def open(cls, description: dict[str, Any], folder: Path) -> MetricStep:
        """Read what `save` wrote."""
        file = folder / FILE
        if not file.is_file():
            raise FileNotFoundError(f"{folder} has no {FILE}: the model is incomplete.")
        content = file.read_bytes()
        if hashlib.sha256(content).hexdigest() != description["sha256"]:
            raise ValueError(f"{file} is damaged or was changed: its digest does not match.")
        arrays, gate = load(content), description["gate"]
        lifts = arrays.get("lifts", torch.zeros(len(description["spaces"]))).tolist()
        spaces = tuple(
            LayerSpace(layer, variant, arrays[f"mean.{k}"], arrays[f"matrix.{k}"], lifts[k])
            for k, (layer, variant) in enumerate(description["spaces"])
        )
        curve = None if gate is None else GateCurve(**gate)
        weights = tuple(arrays["weights"].tolist())
        return cls(spaces, weights, gate=curve, **{name: arrays[name] for name in ARRAYS})


def fit_metric(selection: MetricSelection, part: LayerSample, n_components: int) -> MetricStep:
    """Solve the metric of an embedder from its layers on training items.

    Parameters
    ----------
    selection : MetricSelection
        What counts, and how much.
    part : LayerSample
        Training items.
    n_components : int
        Of points, at most.
    """
    spaces = fit_layer_spaces(selection.spaces, part.layers, part.kinds, selection.shrinkage)
    return assemble_step(selection, spaces, part, n_components)


def assemble_step(
    selection: MetricSelection, spaces: Sequence[LayerSpace], part: LayerSample, n_components: int
) -> MetricStep:
    """Return the step of spaces that are fitted, with the leading directions of training items."""
    points = join_layers(spaces, selection.weights, part.layers)
    means = unit_rows(part.kinds.means(points)) if selection.gate is not None else points[:0]
    output_mean = part.layers["output"].mean(dim=0)
    nothing = torch.zeros(0, 0)
    step = MetricStep(tuple(spaces), selection.weights, output_mean, selection.gate, means, nothing)
    components = leading_directions(step.joined(part.layers), n_components)
    return replace(step, components=components)
