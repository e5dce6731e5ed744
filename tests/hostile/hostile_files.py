"""Files that strangers send, made on the spot: what a table of cases puts into a folder."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import sparse

Write = Callable[[Path], None]


def text(content: str | bytes) -> Write:
    return lambda path: path.write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )


def columns(**named: Any) -> Write:
    return lambda path: parquet.write_table(pa.table(named), path)


def array(values: Any) -> Write:
    return lambda path: np.save(path, np.asarray(values), allow_pickle=True)


def header(shape: str, dtype: str = "'<f8'", data: bytes = b"") -> bytes:
    """Return a .npy file whose header says what it likes."""
    words = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}".encode()
    words += b" " * (-(len(words) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words + data


def matrix(**changes: Any) -> Write:
    """Return a sparse .npz as scipy saves it, some of its arrays being others."""
    good = sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 0]]))
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"),
        "shape": np.array(good.shape),
        "data": good.data,
        "indices": good.indices,
        "indptr": good.indptr,
    }
    return lambda path: np.savez(path, **{**arrays, **changes})


def zipped(**members: bytes) -> Write:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(f"{name}.npy", content)

    return write


def bomb(n_bytes: int) -> bytes:
    """Return a .npy of zeros packed by gzip: a thousandth of its size."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for _ in range(n_bytes >> 20):
            file.write(bytes(1 << 20))
    return packed.getvalue()
