"""Rows of features on the device that trains: held there where they fit, else read when asked for.

Arrays, memory-mapped arrays, sparse matrices and torch Datasets come in; batches go out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples
from torch import Tensor
from torch.utils.data import Dataset

from twofold._core.float32 import LARGEST
from twofold._core.streams import stream_rows

HELD_SHARE = 0.5
"""The most of a GPU's free memory that features may take."""
BLOCK_NUMBERS = 2**22
"""Numbers that are read at a time."""
DENSE_BYTES = 2**30
"""The largest dense form of a sparse matrix that is held in a computer's memory."""


class Features(Protocol):
    """Items that can be asked for by number."""

    @property
    def n_items(self) -> int:
        """How many there are."""

    @property
    def device(self) -> torch.device:
        """Where items come to lie: the one that trains."""

    @property
    def index_device(self) -> torch.device:
        """Where item numbers have to lie: beside what they address."""

    def rows(self, items: Tensor) -> Tensor:
        """Return items as float32 or uint8 on the device that trains, shape (n, *item_shape)."""


class HeldFeatures:
    """All items in one tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.n_items = len(tensor)
        self.device = self.index_device = tensor.device

    def rows(self, items: Tensor) -> Tensor:
        """Return items by number."""
        return self.tensor[items]


class ReadFeatures:
    """Items that stay in an array, a file or a sparse matrix, and are read a batch at a time."""

    def __init__(self, array: Any, device: torch.device) -> None:
        self.array = array
        self.device = device
        self.n_items = int(array.shape[0])
        self.index_device = torch.device("cpu")

    def rows(self, items: Tensor) -> Tensor:
        """Return items by number."""
        chosen = self.array[items.numpy()]
        if sparse.issparse(chosen):
            chosen = chosen.toarray()
        return torch.from_numpy(as_network_type(chosen)).to(self.device)


class DatasetFeatures:
    """Items of a torch Dataset: each is a tensor, or a tuple whose first entry is one."""

    def __init__(self, dataset: Dataset[Any], device: torch.device) -> None:
        self.dataset = dataset
        self.device = device
        self.n_items = len(dataset)  # type: ignore[arg-type]
        self.index_device = torch.device("cpu")

    def rows(self, items: Tensor) -> Tensor:
        """Return items by number."""
        found = [self._item(number) for number in items.tolist()]
        for number, tensor in zip(items.tolist(), found, strict=True):
            if tensor.shape != found[0].shape:
                raise ValueError(
                    f"All items of a Dataset must have the same shape; item {number} has "
                    f"{tuple(tensor.shape)}, and item {int(items[0])} has {tuple(found[0].shape)}."
                )
        rows = torch.stack(found)
        if not torch.isfinite(rows).all():
            wrong = ~torch.isfinite(rows.flatten(1)).all(dim=1)
            raise ValueError(
                "X holds NaN or infinity, as float32, first in item "
                f"{int(items[wrong.nonzero()[0, 0]])}. Replace or drop these values first."
            )
        return rows.to(self.device)

    def _item(self, number: int) -> Tensor:
        item = self.dataset[number]
        try:
            tensor = torch.as_tensor(item[0] if isinstance(item, tuple | list) else item)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(
                f"An item of a Dataset must be a tensor or an array of numbers; item {number} is "
                f"not ({type(item).__name__}: {error})."
            ) from error
        return tensor if tensor.dtype == torch.uint8 else tensor.float()


def open_features(X: Any, device: str) -> Features:
    """Return `X` as items to be asked for by number.

    In-memory arrays are put on `device` as a whole where they take at most half of its free
    memory; memory-mapped arrays and Datasets are never loaded as a whole.
    """
    place = torch.device(device)
    if isinstance(X, Dataset):
        return DatasetFeatures(X, place)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not _fits(4 * X.shape[0] * X.shape[1], place, DENSE_BYTES):
            return ReadFeatures(X, place)
        X = X.astype(np.float32).toarray()
    elif is_memory_mapped(X) or not _fits(_network_bytes(X), place, None):
        return ReadFeatures(X, place)
    return HeldFeatures(torch.from_numpy(as_network_type(X)).to(place))


def item_batches(X: Any, device: str, size: int) -> Iterator[Tensor]:
    """Yield all items of `X` on a device, at most `size` at a time, in order.

    Arrays are copied to a GPU while it works; they are not held there as a whole.
    """
    place = torch.device(device)
    if place.type == "cuda" and isinstance(X, np.ndarray) and len(X):
        for rows in stream_rows(X, place):
            yield from torch.split(rows, size)
        return
    features = open_features(X, device)
    for items in torch.split(torch.arange(features.n_items, device=features.index_device), size):
        yield features.rows(items)


def item_shape(X: Any) -> tuple[int, ...]:
    """Return the shape of one item of `X`."""
    if isinstance(X, Dataset):
        shape = DatasetFeatures(X, torch.device("cpu")).rows(torch.tensor([0])).shape[1:]
        if not shape:
            raise ValueError("An item of a Dataset must be a vector or an image, got one number.")
        return tuple(shape)
    return tuple(X.shape[1:])


def as_numbers(X: Any) -> Any:
    """Return features of any kind as numbers that a map takes, or say why it cannot."""
    if isinstance(X, Dataset) or is_memory_mapped(X):
        return X
    try:
        return check_array(X, accept_sparse="csr", allow_nd=True)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"Feedback starts from the features, which must be finite numbers: {error} Set "
            "feedback=0 to learn without it."
        ) from error


def spread_evenly(features: Features, at_most: int) -> Tensor:
    """Return item numbers spread evenly over all."""
    n_taken = min(features.n_items, at_most)
    return torch.linspace(
        0, features.n_items - 1, n_taken, dtype=torch.float64, device=features.index_device
    ).long()


def equal_rows(X: Any) -> NDArray[np.int64]:
    """Return a number for each row of features, the same for equal rows."""
    features = open_features(as_numbers(X), "cpu")
    n_numbers = max(1, features.rows(torch.zeros(1, dtype=torch.int64)).numel())
    digests: dict[bytes, int] = {}
    groups = []
    for items in torch.split(torch.arange(features.n_items), max(1, BLOCK_NUMBERS // n_numbers)):
        rows = features.rows(items).flatten(1).float().numpy() + np.float32(0)  # -0 is 0
        for row in rows:
            digest = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
            groups.append(digests.setdefault(digest, len(digests)))
    return np.array(groups, dtype=np.int64)


def n_rows(X: Any) -> int:
    """Return the number of items of `X`."""
    return int(_num_samples(X))


def is_memory_mapped(X: Any) -> bool:
    """Whether an array's numbers lie in a file."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def refuse_not_finite(X: NDArray[Any]) -> None:
    """Look through a memory-mapped array, a part at a time, for what is not finite as float32."""
    if X.ndim < 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"X must contain numbers, one row per item, got {X.dtype} of shape {X.shape}."
        )
    if X.dtype.kind != "f":
        return
    size = max(1, BLOCK_NUMBERS // max(1, int(np.prod(X.shape[1:]))))
    for first in range(0, len(X), size):
        part = np.asarray(X[first : first + size]).reshape(-1, X[0].size)
        wrong = np.flatnonzero(~(np.abs(part) <= LARGEST).all(axis=1))
        if wrong.size:
            what = "NaN or infinity" if not np.isfinite(part).all() else "numbers beyond float32's"
            raise ValueError(
                f"Input X contains {what}, first in row {first + wrong[0]}. Replace or drop it "
                "first."
            )


def as_network_type(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as torch takes it: bytes stay bytes, every other number is float32."""
    kept = array if array.dtype == np.uint8 else array.astype(np.float32, copy=False)
    # torch warns of arrays that it might write to, and does not take negative strides.
    return kept if kept.flags.writeable and kept.flags.c_contiguous else kept.copy()


def _network_bytes(array: NDArray[Any]) -> int:
    return array.size * (1 if array.dtype == np.uint8 else 4)


def _fits(n_bytes: int, device: torch.device, cpu_bytes: int | None) -> bool:
    """Whether so much may be held on a device; on a CPU, arrays are in its memory anyway."""
    if device.type == "cpu":
        return cpu_bytes is None or n_bytes <= cpu_bytes
    return n_bytes <= HELD_SHARE * torch.cuda.mem_get_info(device)[0]
