"""Many files as shards: which there are, where the points of each go, and which are done."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTE = b"twofold"
"""The metadata of a shard of points that says what it was made of."""
PATTERN_SIGNS = "*?["


@dataclass(frozen=True, slots=True)
class Shard:
    """One file, and where its points go.

    Attributes
    ----------
    source, target : Path
        The file, and the .parquet file of its points.
    name : str
        The file's path below the folder that all shards share, without its suffix.
    """

    source: Path
    target: Path
    name: str

    def note(self, fingerprint: str, id_column: str | None) -> dict[str, Any]:
        """Return what the points are made of: the same note, the same points."""
        facts = self.source.stat()
        return {
            "model": fingerprint,
            "source": self.name,
            "bytes": facts.st_size,
            "changed": facts.st_mtime_ns,
            "id_column": id_column,
        }


def is_pattern(path: Path) -> bool:
    """Whether a name stands for several files: it has a star, and is no file's own."""
    return any(sign in str(path) for sign in PATTERN_SIGNS) and not path.exists()


def find_shards(data: Sequence[Path], out: Path) -> list[Shard]:
    """Return the files that are named, patterns filled in, with places for their points."""
    files = [file for entry in data for file in _files(entry)]
    if len(set(files)) < len(files):
        raise ValueError(f"{_first_repeated(files)} is listed twice: list every file once.")
    common = Path(os.path.commonpath([file.absolute().parent for file in files]))
    shards = []
    for file in files:
        below = file.absolute().relative_to(common).with_suffix("")
        target = out / below.parent / f"{below.name}.parquet"
        if target.absolute() == file.absolute():
            raise ValueError(f"The points of {file} would overwrite it: choose another --out.")
        shards.append(Shard(file, target, below.as_posix()))
    targets = [shard.target for shard in shards]
    if len(set(targets)) < len(targets):
        raise ValueError(
            f"Two files would be written to {_first_repeated(targets)}: give them different names."
        )
    return shards


def read_note(target: Path) -> dict[str, Any] | None:
    """Return what a shard of points was made of; None if the file is none of ours."""
    from pyarrow import ArrowException, parquet

    try:
        said = (parquet.read_schema(target).metadata or {}).get(NOTE, b"")
        note = json.loads(said)
    except (OSError, ValueError, ArrowException):
        return None
    return note if isinstance(note, dict) else None


def undone(
    shards: Sequence[Shard], fingerprint: str, id_column: str | None, overwrite: bool
) -> list[Shard]:
    """Return the shards whose points are not there; refuse to write over what others made."""
    left = []
    for shard in shards:
        if overwrite or not shard.target.exists():
            left.append(shard)
            continue
        note = read_note(shard.target)
        if note is None or note.get("model") != fingerprint:
            whose = "of another model" if note is not None else "not made by twofold embed"
            raise FileExistsError(
                f"{shard.target} already exists and {whose}: choose another --out, or add "
                "--overwrite."
            )
        if note != shard.note(fingerprint, id_column):
            left.append(shard)  # the file has changed since, or another column names its rows
    return left


def _files(entry: Path) -> list[Path]:
    if entry.is_dir():
        raise IsADirectoryError(f"{entry} is a folder: give its files, as {entry}/*.parquet.")
    if not is_pattern(entry):
        if not entry.exists():
            raise FileNotFoundError(f"{entry} does not exist.")
        return [entry]
    found = sorted(Path(name) for name in glob.glob(str(entry), recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches {str(entry)!r}.")
    return files


def _first_repeated(paths: Sequence[Path]) -> Path:
    return next(path for n, path in enumerate(paths) if path in paths[:n])
