"""Points as a few bytes each: numbers rounded one by one, or parts of points by nearest centres.

A quantiser is learnt from a sample, and is a handful of arrays. Rounding needs NumPy alone; centres
are FAISS's (product quantisation, after a rotation that shares the spread among the parts).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from twofold._core.bits import Codes
from twofold.search._faiss import faiss_module, has_faiss
from twofold.search._space import LARGEST_NUMBER

Points = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]
CodeKind = Literal["products", "rounded-8", "rounded-16"]

CENTRES = 256
"""Of a part of a point: a byte."""
ROTATION_TURNS = 5
"""Of learning rotation and centres by turns, where FAISS has 50."""


class Quantiser(Protocol):
    """What turns points into codes of bytes, and codes into the points that they stand for."""

    @property
    def kind(self) -> CodeKind:
        """What it is called in a file."""

    @property
    def dim(self) -> int:
        """Numbers of a point."""

    @property
    def n_bytes(self) -> int:
        """Of a code."""

    def encode(self, points: Points) -> Codes:
        """Return codes, uint8 of shape (n, n_bytes)."""

    def decode(self, codes: Codes) -> Points:
        """Return the points that codes stand for, shape (n, dim)."""

    def arrays(self) -> Arrays:
        """Return what has to be kept of it, by name."""


@dataclass(frozen=True, eq=False)
class RoundingQuantiser:
    """Each number rounded to one of 2⁸ or 2¹⁶ steps between the least and the largest seen.

    Attributes
    ----------
    low, step : ndarray of float32, shape (dim,)
        The number that 0 stands for, and the distance of two steps; not negative.
    width : {1, 2}
        Bytes of a number.
    """

    low: Points
    step: Points
    width: int

    @classmethod
    def trained(cls, sample: Points, width: int) -> RoundingQuantiser:
        """Return one for points such as these."""
        low, high = sample.min(axis=0).astype(np.float64), sample.max(axis=0).astype(np.float64)
        step = (high - low) / (256**width - 1)
        return cls(low.astype(np.float32), step.astype(np.float32), width)

    @property
    def kind(self) -> CodeKind:
        """What it is called in a file."""
        return "rounded-8" if self.width == 1 else "rounded-16"

    @property
    def dim(self) -> int:
        """Numbers of a point."""
        return self.low.size

    @property
    def n_bytes(self) -> int:
        """Of a code."""
        return self.width * self.dim

    def encode(self, points: Points) -> Codes:
        """Return codes; what is beyond the least or the largest number is taken for it."""
        steps = (points - self.low) / np.where(self.step > 0, self.step, 1)
        levels = np.rint(steps).clip(0, 256**self.width - 1)
        return np.ascontiguousarray(levels.astype(f"<u{self.width}")).view(np.uint8)

    def decode(self, codes: Codes) -> Points:
        """Return the numbers that codes stand for."""
        points = np.ascontiguousarray(codes).view(f"<u{self.width}").astype(np.float32)
        points *= self.step
        points += self.low
        return points

    def arrays(self) -> Arrays:
        """Return the range of each number."""
        return {"low": self.low, "step": self.step}


@dataclass(frozen=True, eq=False)
class ProductQuantiser:
    """Points that are rotated and cut into parts, each replaced by the nearest of 256 centres.

    Jégou, Douze and Schmid, 2011; the rotation of Ge and others, "Optimized Product Quantization",
    2013. Numbers that do not divide into the parts have zeros beside them before they are rotated.

    Attributes
    ----------
    rotation : ndarray of float32, shape (n_bytes · part_dim, dim)
        With orthonormal columns.
    centres : ndarray of float32, shape (n_bytes, 256, part_dim)
        A table a part.
    """

    rotation: Points
    centres: Points

    @classmethod
    def trained(cls, sample: Points, n_bytes: int) -> ProductQuantiser:
        """Return one for points such as these, by FAISS."""
        faiss, dim = faiss_module(), sample.shape[1]
        part = -(-dim // n_bytes)
        turning = faiss.OPQMatrix(dim, n_bytes, n_bytes * part)
        turning.niter = ROTATION_TURNS
        turning.train(sample)
        rotation = faiss.vector_to_array(turning.A).reshape(n_bytes * part, dim)
        index = faiss.IndexPQ(n_bytes * part, n_bytes, 8)
        index.train(_product(sample, rotation.T))
        centres = faiss.vector_to_array(index.pq.centroids).reshape(n_bytes, CENTRES, part)
        return cls(rotation, centres)

    @property
    def kind(self) -> CodeKind:
        """What it is called in a file."""
        return "products"

    @property
    def dim(self) -> int:
        """Numbers of a point."""
        return int(self.rotation.shape[1])

    @property
    def n_bytes(self) -> int:
        """Of a code."""
        return len(self.centres)

    def encode(self, points: Points) -> Codes:
        """Return the numbers of the nearest centres."""
        codes = self._coder.sa_encode(_product(points, self.rotation.T))
        return np.asarray(codes).reshape(len(points), self.n_bytes)

    def decode(self, codes: Codes) -> Points:
        """Return the centres that codes name, turned back."""
        return _product(self._coder.sa_decode(np.ascontiguousarray(codes)), self.rotation)

    def arrays(self) -> Arrays:
        """Return rotation and centres."""
        return {"rotation": self.rotation, "centres": self.centres}

    @cached_property
    def _coder(self) -> Any:
        """FAISS's own, made from our arrays: it trusts what it reads, so that no file is its."""
        faiss = faiss_module()
        n_bytes, _, part = self.centres.shape
        index = faiss.IndexPQ(n_bytes * part, n_bytes, 8)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.centres).ravel(), index.pq.centroids)
        index.is_trained = True
        return index


def _product(left: Points, right: Points) -> Points:
    return np.ascontiguousarray(left @ right, dtype=np.float32)


def code_kind(dim: int, n_bytes: int) -> CodeKind | None:
    """Return how points are to be kept in some bytes each; None if they fit as they are."""
    if n_bytes >= 4 * dim:
        return None
    if n_bytes >= 2 * dim:
        return "rounded-16"
    return "rounded-8" if n_bytes >= dim else "products"


def require_coder(dim: int, n_bytes: int) -> None:
    """Refuse to begin without FAISS where it is needed."""
    if code_kind(dim, n_bytes) == "products" and not has_faiss():
        raise ImportError(
            f"memory='{n_bytes} bytes an item' for points of {dim} numbers needs FAISS: pip "
            f"install 'twofold[faiss]', or allow {dim} bytes, one for each number."
        )


def train_quantiser(sample: Points, n_bytes: int) -> Quantiser:
    """Return what keeps points such as these in `n_bytes` each, or fewer."""
    dim = sample.shape[1]
    require_coder(dim, n_bytes)
    kind = code_kind(dim, n_bytes)
    if kind == "products":
        return ProductQuantiser.trained(sample, n_bytes)
    return RoundingQuantiser.trained(sample, 2 if kind == "rounded-16" else 1)


ARRAYS = {
    "products": ("rotation", "centres"),
    "rounded-8": ("low", "step"),
    "rounded-16": ("low", "step"),
}
"""Of each kind, what is kept of it."""


def quantiser_from(kind: str, arrays: Arrays) -> Quantiser:
    """Return the quantiser of some arrays that a file held, or say which of them is wrong."""
    for name, array in arrays.items():
        if array.dtype != np.float32 or not (np.abs(array) <= LARGEST_NUMBER).all():
            raise ValueError(f"{name} holds {array.dtype}, or numbers that are not finite")
    one, other = (arrays[name] for name in ARRAYS[kind])
    if kind == "products":
        is_whole = one.ndim == 2 and other.ndim == 3 and other.shape[1] == CENTRES
        if not is_whole or not one.size or len(one) != len(other) * other.shape[2]:
            raise ValueError(f"rotation of {one.shape} does not fit centres of {other.shape}")
        require_coder(one.shape[1], len(other))
        return ProductQuantiser(one, other)
    if one.ndim != 1 or one.shape != other.shape or (other < 0).any():
        raise ValueError(f"low of {one.shape} does not fit step of {other.shape}")
    return RoundingQuantiser(one, other, 1 if kind == "rounded-8" else 2)
