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
Write = Callable[[NDArray[Any], NDArray[np.float32]], None]
"""Takes ids and points of some rows."""


@contextmanager
def parquet_file(
    path: Path, n_components: int, note: Mapping[bytes, Any] | None = None
) -> Iterator[Write]:
    """Give a writer of a table with the columns `id` and `point`, a list of numbers.

    `note` is what the file says of itself, each entry as JSON.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with new_file(path) as place:
        writer: Any = None
        points_type = pa.list_(pa.float32(), n_components)
        metadata = {name: json.dumps(said) for name, said in (note or {}).items()}
        try:

            def write(ids: NDArray[Any], points: NDArray[np.float32]) -> None:
                nonlocal writer
                names = pa.array(ids)
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
def npy_file(path: Path, n_components: int) -> Iterator[Write]:
    """Give a writer of one matrix; how many rows it has stands in the header at the end."""
    with new_file(path) as place, place.open("wb") as file:
        n_items = 0

        def write(ids: NDArray[Any], points: NDArray[np.float32]) -> None:
            nonlocal n_items
            points.astype("<f4", copy=False).tofile(file)
            n_items += len(points)

        _write_header(file, n_items, n_components)
        yield write
        file.seek(0)
        _write_header(file, n_items, n_components)


def _write_header(file: IO[bytes], n_items: int, n_components: int) -> None:
    """Write the header of a matrix; NumPy leaves room for any number of rows."""
    shape = {"descr": "<f4", "fortran_order": False, "shape": (n_items, n_components)}
    npy_format.write_array_header_1_0(file, shape)
