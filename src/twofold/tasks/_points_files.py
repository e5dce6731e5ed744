"""Files of points: written a piece at a time, and moved into place when they are whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from twofold._core.files import new_file

N_ROWS = 2**16
"""Rows that are embedded at a time."""
Points = NDArray[np.float32] | NDArray[np.uint8]
Write = Callable[[NDArray[Any], Points], None]
"""Takes ids and points, or codes packed into bytes, of some rows."""


@contextmanager
def parquet_file(path: Path, note: Mapping[bytes, Any] | None = None) -> Iterator[Write]:
    """Give a writer of a table with the columns `id` and `point`, a list of numbers, or of bytes.

    `note` is what the file says of itself, each entry as JSON.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with new_file(path) as place:
        writer: Any = None
        metadata = {name: json.dumps(said) for name, said in (note or {}).items()}
        try:

            def write(ids: NDArray[Any], points: Points) -> None:
                nonlocal writer
                names = pa.array(ids)
                points_type = pa.list_(pa.from_numpy_dtype(points.dtype), points.shape[1])
                values = pa.FixedSizeListArray.from_arrays(points.ravel(), type=points_type)
                table = pa.table({"id": names, "point": values}, metadata=metadata)
                if writer is None:
                    # Points are noise to a packer: it would only cost time.
                    writer = parquet.ParquetWriter(
                        place, table.schema, compression="NONE", use_dictionary=False
                    )
                writer.write_table(table)

            yield write
        finally:
            if writer is not None:
                writer.close()


@contextmanager
def npy_file(path: Path) -> Iterator[Write]:
    """Give a writer of one matrix; how many rows it has stands in the header at the end."""
    with new_file(path) as place, place.open("wb") as file:
        n_items = 0
        first: Points = np.empty((0, 0), dtype=np.float32)

        def write(ids: NDArray[Any], points: Points) -> None:
            nonlocal n_items, first
            if not n_items:
                first = points[:1]
                _write_header(file, 0, first)
            points.astype(_little_endian(points), copy=False).tofile(file)
            n_items += len(points)

        yield write
        file.seek(0)
        _write_header(file, n_items, first)


def _write_header(file: IO[bytes], n_items: int, like: Points) -> None:
    """Write the header of a matrix; NumPy leaves room for any number of rows."""
    shape = {
        "descr": _little_endian(like),
        "fortran_order": False,
        "shape": (n_items, like.shape[1]),
    }
    npy_format.write_array_header_1_0(file, shape)


def _little_endian(points: Points) -> str:
    """Return how numbers are stored: float32, or the bytes of codes."""
    return "|u1" if points.dtype == np.uint8 else "<f4"
