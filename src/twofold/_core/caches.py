"""Folders for files that can be made again, and how to see that they have to be."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

VARIABLE = "TWOFOLD_CACHE"


def cache_folder() -> Path:
    """Return the folder that TWOFOLD_CACHE names, by default the user's ``.cache/twofold``."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twofold"


def fingerprint(files: Iterable[tuple[str, os.stat_result]]) -> str:
    """Return a digest of files' names, sizes and times of change."""
    digest = hashlib.sha256()
    for name, stat in files:
        digest.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
