"""Files in a tar or zip archive, read without being unpacked."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from twofold._core.limits import refuse_bomb, unpacked_limit
from twofold._core.reasons import reason_of

OFFICIAL = "Put the official file there."
CHUNK_BYTES = 1 << 20
DAMAGE = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)
"""What a damaged archive raises, at its beginning or midway."""
ZIP_DAMAGE = (zipfile.BadZipFile, EOFError, OSError, zlib.error, NotImplementedError, RuntimeError)
"""The same of a zip; the last two are of compressions unknown to Python, and of passwords."""


def archive_files(
    archive: Path, is_wanted: Callable[[PurePosixPath], bool]
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of every wanted file, in the archive's order, up to a limit."""
    n_bytes = 0
    try:
        with tarfile.open(archive) as members:
            for member in members:
                path = PurePosixPath(member.name)
                if member.isfile() and is_wanted(path):
                    n_bytes += member.size
                    refuse_bomb(archive, n_bytes, OFFICIAL)
                    content = members.extractfile(member)
                    yield path, content.read() if content is not None else b""
            _read_to_the_end(members)
    except DAMAGE as error:
        raise _unreadable(archive, error) from error


def zipped_files(archive: Path, max_bytes: int) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of every file of a zip, in the archive's order.

    A name that leads out of the archive, and a file of more than `max_bytes`, are refused before
    anything of it is read.
    """
    try:
        with zipfile.ZipFile(archive) as members:
            n_bytes = sum(member.file_size for member in members.infolist())
            refuse_bomb(archive, n_bytes, OFFICIAL)
            for member in members.infolist():
                path = PurePosixPath(member.filename)
                if path.is_absolute() or ".." in path.parts or "\\" in member.filename:
                    raise ValueError(
                        f"{archive} holds {member.filename!r}, a path outside of it: do not trust "
                        "this file, and put the official one there."
                    )
                if member.file_size > max_bytes:
                    raise ValueError(
                        f"{archive} holds {path} of {member.file_size:,} bytes, and {max_bytes:,} "
                        "is the most it can have: put the official file there."
                    )
                if not member.is_dir():
                    yield path, members.read(member)
    except ZIP_DAMAGE as error:
        raise _unreadable(archive, error) from error


@contextmanager
def open_gzip(path: Path) -> Iterator[gzip.GzipFile]:
    """Open a file that is packed by gzip, to be read no further than `read_at_most` does."""
    try:
        with gzip.open(path, "rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def read_at_most(path: Path, file: gzip.GzipFile) -> bytes:
    """Return all of a packed file; refuse it as soon as it is more than it may be."""
    limit = unpacked_limit(path)
    content = file.read(limit + 1)
    refuse_bomb(path, len(content), OFFICIAL)
    return content


def _unreadable(archive: Path, error: Exception) -> ValueError:
    return ValueError(f"{archive} cannot be read ({reason_of(error)}): get it again.")


def _read_to_the_end(members: tarfile.TarFile) -> None:
    """Have the checksum compared, which stands behind the last file and tar does not ask for."""
    while members.fileobj is not None and members.fileobj.read(CHUNK_BYTES):
        pass
