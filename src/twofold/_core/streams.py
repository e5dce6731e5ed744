"""Rows to a GPU and points back while it works: read, copied, used, copied back side by side.

Memory that the GPU reads by itself ("pinned") is filled by a thread, two parts by turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PART_BYTES = 2**26
"""Of rows that are copied at a time: enough for the full rate, little enough to begin soon."""


def stream_rows(array: NDArray[Any], device: torch.device) -> Iterator[Tensor]:
    """Yield the rows of an array on a GPU, some at a time, as bytes or float32.

    The next rows are read, from memory or from a file, and copied while these are used.
    """
    staging = _Staging(array, device)
    with ThreadPoolExecutor(max_workers=1) as reader:
        following = reader.submit(staging.read, 0)
        for number in range(staging.n_parts):
            rows, copied = following.result()
            if number + 1 < staging.n_parts:
                following = reader.submit(staging.read, number + 1)
            torch.cuda.current_stream(device).wait_event(copied)
            rows.record_stream(torch.cuda.current_stream(device))
            yield rows


class _Staging:
    """Two pinned parts of an array's rows, and the stream that copies them."""

    def __init__(self, array: NDArray[Any], device: torch.device) -> None:
        self._array, self._device = array, device
        dtype = torch.uint8 if array.dtype == np.uint8 else torch.float32
        row_bytes = max(1, int(np.prod(array.shape[1:])) * dtype.itemsize)
        self._size = max(1, min(len(array), PART_BYTES // row_bytes))
        self.n_parts = -(-len(array) // self._size)
        shape = (self._size, *array.shape[1:])
        self._pinned = [torch.empty(shape, dtype=dtype, pin_memory=True) for _ in range(2)]
        self._copied = [torch.cuda.Event() for _ in range(2)]  # type: ignore[no-untyped-call]
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def read(self, number: int) -> tuple[Tensor, torch.cuda.Event]:
        """Begin to copy a part; return where it comes to lie, and what happens when it is there."""
        pinned, copied = self._pinned[number % 2], self._copied[number % 2]
        copied.synchronize()
        part = self._array[number * self._size : (number + 1) * self._size]
        pinned = pinned[: len(part)]
        np.copyto(pinned.numpy(), part, casting="unsafe")
        with torch.cuda.stream(self._stream):
            rows = pinned.to(self._device, non_blocking=True)
            copied.record(self._stream)
        return rows, copied


def collect_rows(parts: Iterable[Tensor], n_rows: int) -> NDArray[np.float32]:
    """Return rows that come in parts, from any device, as one array.

    From a GPU each part is copied while the next is worked out.
    """
    rows: NDArray[np.float32] | None = None
    waiting: list[tuple[slice, Tensor, torch.cuda.Event]] = []
    place = 0
    for part in parts:
        if rows is None:
            rows = np.empty((n_rows, *part.shape[1:]), dtype=np.float32)
        where = slice(place, place + len(part))
        place += len(part)
        if not part.is_cuda:
            rows[where] = part.numpy()
            continue
        pinned = torch.empty(part.shape, dtype=torch.float32, pin_memory=True)
        pinned.copy_(part, non_blocking=True)
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record(torch.cuda.current_stream(part.device))
        waiting.append((where, pinned, copied))
        if len(waiting) > 1:
            _settle(rows, *waiting.pop(0))
    assert rows is not None
    for one in waiting:
        _settle(rows, *one)
    return rows


def collect_points(parts: Iterable[Tensor], n_items: int) -> NDArray[np.float32]:
    """Return points that come some at a time as one array, if they are finite."""
    are_finite: list[Tensor] = []

    def watched() -> Iterator[Tensor]:
        for part in parts:
            are_finite.append(part.isfinite().all())  # where they lie: the host need not look
            yield part

    points = collect_rows(watched(), n_items)
    if not bool(torch.stack(are_finite).all()):
        refuse_not_finite_points(points)
    return points


def refuse_not_finite_points(points: NDArray[np.float32]) -> None:
    """Refuse points that are not numbers."""
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"The points of {wrong.size} row(s) are not finite, first in row {wrong[0]}: look for "
            "extreme values there, or in the data that the model was fitted to."
        )


def _settle(
    rows: NDArray[np.float32], where: slice, pinned: Tensor, copied: torch.cuda.Event
) -> None:
    copied.synchronize()
    rows[where] = pinned.numpy()
