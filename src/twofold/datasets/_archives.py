"""Files in a tar archive, read without being unpacked."""

from __future__ import annotations

import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

CHUNK_BYTES = 1 << 20
DAMAGE = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)
"""What a damaged archive raises, at its beginning or midway."""


def archive_files(
    archive: Path, is_wanted: Callable[[PurePosixPath], bool]
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of every wanted file, in the archive's order."""
    try:
        with tarfile.open(archive) as members:
            for member in members:
                path = PurePosixPath(member.name)
                if member.isfile() and is_wanted(path):
                    content = members.extractfile(member)
                    yield path, content.read() if content is not None else b""
            _read_to_the_end(members)
    except DAMAGE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
        raise ValueError(f"{archive} cannot be read ({reason}): get it again.") from error


def _read_to_the_end(members: tarfile.TarFile) -> None:
    """Have the checksum compared, which stands behind the last file and tar does not ask for."""
    while members.fileobj is not None and members.fileobj.read(CHUNK_BYTES):
        pass
