"""Files are written beside their place and moved into it, so that nothing is lost half-way."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    with new_file(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return Path(path)


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a file to write, which takes the place of `path` once it is whole."""
    target = check_place(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o644)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(path: str | os.PathLike[str], marker: str) -> Iterator[Path]:
    """Give an empty folder to fill, which takes the place of `path` once it is whole.

    A folder that is there already is replaced only if it holds the file `marker` or nothing at
    all, so that a mistyped name costs nothing.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} does not exist: make it first.")
    if target.is_file():
        raise FileExistsError(f"{target} is a file: name a folder.")
    if target.is_dir() and any(target.iterdir()) and not (target / marker).is_file():
        raise FileExistsError(
            f"{target} holds other things and is left alone: name a new folder, or one with "
            f"{marker} in it to replace."
        )
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        filled = beside / "new"
        filled.mkdir()
        yield filled
        if target.is_dir():
            target.rename(beside / "old")
        filled.rename(target)
    finally:
        _give_back(beside / "old", target)
        shutil.rmtree(beside, ignore_errors=True)


def _give_back(old: Path, target: Path) -> None:
    """Put what was there before in its place again, if nothing else came there."""
    if old.is_dir() and not target.exists():
        old.rename(target)
