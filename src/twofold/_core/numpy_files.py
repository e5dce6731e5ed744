"""NumPy's files from strangers: what a header announces is compared with what is there.

Nothing is run, nothing larger than the file is allocated for an array that is not packed, and no
packed one is unpacked beyond the limit for its size.
"""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.limits import refuse_bomb
from twofold._core.reasons import reason_of
from twofold._core.sparse_checks import check_sides, check_sparse, checked_csr

Arrays = dict[str, NDArray[Any]]
SPARSE_FORMAT = "format"
"""The array of a .npz by which scipy says that the others are one sparse matrix."""


def read_npy(path: Path) -> NDArray[Any]:
    """Return the one array of a .npy file."""
    with _named(path), path.open("rb") as file:
        dtype, shape, is_fortran = _read_header(file)
        _compare_sizes(dtype, shape, path.stat().st_size - file.tell())
        values = np.fromfile(file, dtype, math.prod(shape))
        return _shaped(values, shape, is_fortran)


def map_npy(path: Path) -> NDArray[Any]:
    """Return the one array of a .npy file, read-only, left in the file until it is needed.

    An empty array, which cannot be mapped, is read.
    """
    with _named(path), path.open("rb") as file:
        dtype, shape, is_fortran = _read_header(file)
        n_bytes = _compare_sizes(dtype, shape, path.stat().st_size - file.tell())
        if not n_bytes:
            return np.empty(shape, dtype)
        order: Literal["C", "F"] = "F" if is_fortran else "C"
        return np.memmap(path, dtype, "r", file.tell(), shape, order)


def parse_npy(name: str, content: bytes) -> NDArray[Any]:
    """Return the one array of a .npy file that is in memory; `name` is what it is called."""
    file = BytesIO(content)
    with _named(name):
        dtype, shape, is_fortran = _read_header(file)
        _compare_sizes(dtype, shape, len(content) - file.tell())
        values = np.frombuffer(content, dtype, math.prod(shape), file.tell())
        return _shaped(values, shape, is_fortran)


def read_npz(path: Path) -> Arrays:
    """Return all arrays of a .npz file by name."""
    with _named(path), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        n_bytes = sum(member.file_size for member in members)
        refuse_bomb(path, n_bytes, "If the array is really that large, save it with np.save.")
        return {
            member.filename.removesuffix(".npy"): _read_member(archive, member)
            for member in members
        }


def as_sparse(path: Path, arrays: Arrays) -> sparse.csr_array:
    """Return the matrix that scipy.sparse.save_npz wrote as these arrays, checked, as CSR."""
    with _named(path):
        kind = arrays[SPARSE_FORMAT].item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
        shape = check_sides(f"The matrix in {path}", arrays["shape"])
        name = f"The matrix in {path}"
        if kind == "csr":
            return checked_csr(name, arrays["data"], arrays["indices"], arrays["indptr"], shape)
        return sparse.csr_array(check_sparse(name, _other_format(kind, arrays, shape)))


def _other_format(kind: str, arrays: Arrays, shape: tuple[int, ...]) -> Any:
    data = arrays["data"]
    if kind == "coo":
        matrix = sparse.coo_array(shape)
        matrix.coords, matrix.data = (arrays["row"], arrays["col"]), data
        return matrix
    if kind == "csc":
        return checked_csr("The matrix", data, arrays["indices"], arrays["indptr"], shape[::-1]).T
    if kind == "bsr":
        return sparse.bsr_array((data, arrays["indices"], arrays["indptr"]), shape=shape)
    if kind == "dia":
        return sparse.dia_array((data, arrays["offsets"]), shape=shape)
    raise ValueError(f"its format is {kind!r}")


@contextmanager
def _named(path: Path | str) -> Iterator[None]:
    """Turn what a damaged file raises into one sentence with its name."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if str(path) in str(error):
            raise
        raise _unreadable(path, error) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    # NumPy's, zip's and the compressions' own errors are of many kinds; all are of this file.
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path | str, error: Exception) -> ValueError:
    return ValueError(f"{path} cannot be read ({reason_of(error)}): get it again.")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        dtype, shape, is_fortran = _read_header(file)
        n_bytes = _compare_sizes(dtype, shape, member.file_size - file.tell())
        content = file.read(n_bytes)
        file.read()  # to the end, where the checksum is compared
    if len(content) < n_bytes:
        raise ValueError(f"{member.filename} ends after {len(content)} of {n_bytes} bytes")
    return _shaped(np.frombuffer(bytearray(content), dtype), shape, is_fortran)


def _read_header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Return type, shape and whether columns come first, as the first bytes announce them."""
    version = npy_format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"it uses version {version[0]}.{version[1]} of NumPy's format")
    read = (
        npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    )
    shape, is_fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds pickled objects, which are never loaded")
    if dtype.names is not None or dtype.itemsize == 0:
        raise ValueError(f"it holds {dtype}, but only plain numbers and text are read")
    if any(isinstance(size, bool) or size < 0 for size in shape):
        raise ValueError(f"it declares the shape {shape}")
    return dtype, shape, is_fortran


def _compare_sizes(dtype: np.dtype[Any], shape: tuple[int, ...], n_there: int) -> int:
    """Return the bytes that an array takes, if the file holds as many."""
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes > n_there:
        raise ValueError(
            f"it declares {dtype} of shape {shape}, {n_bytes:,} bytes, but has {n_there:,}"
        )
    return n_bytes


def _shaped(values: NDArray[Any], shape: tuple[int, ...], is_fortran: bool) -> NDArray[Any]:
    if values.dtype.kind == "U" and values.size:
        # Python ends in an error of its own over characters that Unicode does not have.
        codes = values.view(values.dtype.str.replace("U", "u")[0] + "u4")
        if codes.max() > sys.maxunicode:
            raise ValueError(f"it holds the character {codes.max():#x}, which does not exist")
    return values.reshape(shape, order="F" if is_fortran else "C")
