"""Maps of convolutions as vectors: the mean of each channel over an image, and over its quarters.

A network throws away, layer by layer, what does not tell its training kinds apart. So what tells
others apart is best kept in its maps, long before the first layer that gives a vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

GRIDS = (1, 2)
"""Rows and columns that an image is parted into. Means over all of it say what is there, those over
its quarters also where."""
_MARK = ", "


def map_vector_names(module_name: str, shape: Sequence[int]) -> list[str]:
    """Return what the vectors of a map are called; `shape` is (channels, height, width)."""
    return [_called(module_name, grid) for grid in _grids(shape)]


def is_of_map(layer: str) -> bool:
    """Return whether a layer is means of a map."""
    return _MARK in layer


def module_of(layer: str) -> str:
    """Return the name of the module whose output a layer is, or is made of."""
    return layer.partition(_MARK)[0]


def as_vectors(module_name: str, values: Tensor) -> dict[str, Tensor]:
    """Return a module's output by the name of the layer: as it is, or the vectors of a map."""
    if values.ndim != 4:
        return {module_name: values}
    return {
        _called(module_name, grid): functional.adaptive_avg_pool2d(values, grid).flatten(1)
        for grid in _grids(values.shape[1:])
    }


def averaging_matrix(layer: str, height: int, width: int) -> Tensor:
    """Return the matrix from the places of a map, row by row, to the means that a layer is of."""
    every = torch.eye(height * width).reshape(-1, 1, height, width)
    [grid] = [grid for grid in GRIDS if layer == _called(module_of(layer), grid)]
    return functional.adaptive_avg_pool2d(every, grid).flatten(1)


def _grids(shape: Sequence[int]) -> list[int]:
    return [grid for grid in GRIDS if grid <= min(shape[1:])]


def _called(module_name: str, grid: int) -> str:
    return f"{module_name}{_MARK}" + ("mean" if grid == 1 else f"{grid} × {grid} means")
