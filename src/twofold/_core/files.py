"""Files are written beside their place and moved into it, so that nothing is lost half-way."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a file can be made there: to be asked before long work, too."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} does not exist: make it first.")
    return target


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write `text` to `path`, whole or not at all; return the path."""
    target = check_place(path)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(beside, 0o644)
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return target
