"""The metric step: from the layers of an embedder to points that are compared by their cosine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from twofold.metric._gate import GateCurve, gated
from twofold.metric._layer_space import (
    LayerSpace,
    Vectors,
    class_means,
    fit_layer_space,
    leading_directions,
    unit_rows,
)
from twofold.metric._selection import MetricSelection

FILE = "metric.safetensors"
ARRAYS = ("weights", "output_mean", "class_means", "components")
Layers = Mapping[str, Vectors]
"""The vectors of some items, by the name of a layer; "features" and "output" are always there."""


@dataclass(frozen=True, slots=True, eq=False)
class MetricStep:
    """Layers joined, each whitened and of length 1, and the output as far as a kind was seen.

    Attributes
    ----------
    spaces : tuple of LayerSpace
        Of the layers that count.
    weights : ndarray of float32, shape (n_spaces,)
        How much each counts; they sum to 1.
    output_mean : ndarray of float32, shape (n_outputs,)
        That is taken from the output.
    gate : GateCurve or None
        How much of a point is the output; None if nothing is.
    class_means : ndarray of float32, shape (n_classes, n_joined)
        Directions of the training classes, for the gate.
    components : ndarray of float32, shape (n_joined [+ n_outputs], n_components)
        The leading directions of the training items, which points are made of.
    """

    spaces: tuple[LayerSpace, ...]
    weights: Vectors
    output_mean: Vectors
    gate: GateCurve | None
    class_means: Vectors
    components: Vectors

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

    def transform(self, layers: Layers) -> Vectors:
        """Return points of length 1, shape (n_items, n_components)."""
        return unit_rows(self.joined(layers) @ self.components)

    def joined(self, layers: Layers) -> Vectors:
        """Return points before their leading directions are taken."""
        points = join_layers(self.spaces, self.weights, layers)
        if self.gate is None:
            return points
        share = self.gate.apply((points @ self.class_means.T).max(axis=1))
        return gated(points, unit_rows(layers["output"] - self.output_mean), share)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the step into a folder; return its description, as JSON takes it."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in ARRAYS}
        for number, space in enumerate(self.spaces):
            arrays |= {f"mean.{number}": space.mean, f"matrix.{number}": space.matrix}
        content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
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
            raise FileNotFoundError(f"{folder} has no {FILE}: the model is not whole.")
        content = file.read_bytes()
        if hashlib.sha256(content).hexdigest() != description["sha256"]:
            raise ValueError(f"{file} is damaged or was changed: its digest is not the one noted.")
        arrays, gate = load(content), description["gate"]
        spaces = tuple(
            LayerSpace(layer, variant, arrays[f"mean.{number}"], arrays[f"matrix.{number}"])
            for number, (layer, variant) in enumerate(description["spaces"])
        )
        curve = None if gate is None else GateCurve(**gate)
        return cls(spaces, gate=curve, **{name: arrays[name] for name in ARRAYS})


def join_layers(spaces: tuple[LayerSpace, ...], weights: Vectors, layers: Layers) -> Vectors:
    """Return [√w_k · points of space k], of length 1; a space without length adds nothing."""
    parts = [
        np.float32(np.sqrt(weight)) * space.apply(layers[space.layer])
        for space, weight in zip(spaces, weights, strict=True)
    ]
    return unit_rows(np.hstack(parts))


def fit_metric(
    selection: MetricSelection,
    layers: Layers,
    classes: NDArray[np.int64],
    n_components: int,
) -> MetricStep:
    """Solve the metric of an embedder from its layers on training items.

    Parameters
    ----------
    selection : MetricSelection
        What counts, and how much.
    layers : mapping of str to ndarray of float32, shape (n_items, n_values)
        Of training items.
    classes : ndarray of int64, shape (n_items,)
        Theirs, from 0 on, without gaps.
    n_components : int
        Of points, at most.
    """
    spaces = tuple(
        fit_layer_space(layer, variant, layers[layer], classes)
        for layer, variant in selection.spaces
    )
    weights = np.array(selection.weights, dtype=np.float32)
    points = join_layers(spaces, weights, layers)
    means = np.zeros((0, points.shape[1]), dtype=np.float32)
    mean = layers["output"].mean(axis=0, dtype=np.float64).astype(np.float32)
    if selection.gate is not None:
        means = unit_rows(class_means(points, classes).astype(np.float32))
    step = MetricStep(spaces, weights, mean, selection.gate, means, np.zeros((0, 0), np.float32))
    components = leading_directions(step.joined(layers), n_directions=n_components)
    return replace(step, components=components)
