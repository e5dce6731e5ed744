"""Files and folders are written beside their place and moved there in one step.

What is on its way lies in a hidden folder beside its place, on which its writer holds a lock. The
lock of a writer that was killed is gone with it: whoever comes to that place next removes what was
left. So a name stands for something whole, at any moment, or for nothing.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from twofold._core.file_locks import hold_folder, is_left_behind
from twofold._core.file_switch import switch_folders

PREFIX_LENGTH = 100
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
NUMPY_CUT_SHORT = re.compile(r"[0-9]+ requested and [0-9]+ written")


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return where a file is to be made, links followed: to be asked before long work, too.

    A file is made there by moving, so it is the folder that has to be writable: that is tried.
    """
    target = _file_place(path)
    with _beside(target):
        return target


def check_folder_place(path: str | os.PathLike[str]) -> Path:
    """Return a folder that is to get files, links followed, if it is there or can be made."""
    target = _followed(path)
    there = next(folder for folder in (target, *target.parents) if folder.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{there} is a file, but a folder is needed: give another path.")
    with _beside(there / "files"):
        return target


def check_folder_for(path: str | os.PathLike[str], marker: str) -> Path:
    """Return where `new_folder` would make one: to be asked before long work."""
    target = _folder_place(path, marker)
    with _beside(target):
        return target


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write `text` to `path`, whole or not at all; return the path."""
    with new_file(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return Path(path)


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a file to write, which takes the place of `path` once it is whole.

    It has the mode of the file that it replaces, or else the one that the umask gives.
    """
    target = _file_place(path)
    with _beside(target) as beside, _said_where(target):
        place = beside / f"new{target.suffix}"
        place.touch()
        mode = (target if target.exists() else place).stat().st_mode & 0o777
        yield place
        place.chmod(mode)  # some writers make another file, for its owner alone
        _flush(place)
        place.replace(target)


@contextmanager
def new_folder(path: str | os.PathLike[str], marker: str) -> Iterator[Path]:
    """Give an empty folder to fill, which takes the place of `path` once it is whole.

    A folder that is there already is replaced only if it holds the file `marker` or nothing at
    all, so that a mistyped name costs nothing.
    """
    target = _folder_place(path, marker)
    with _beside(target) as beside, _said_where(target):
        filled = beside / "new"
        filled.mkdir()
        yield filled
        for place in (*filled.iterdir(), filled):
            _flush(place)
        if target.is_dir():
            filled.chmod(target.stat().st_mode & 0o777)
            switch_folders(filled, target, beside / "old")
        else:
            filled.rename(target)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what writers to a place left there when they were killed.

    Where a folder cannot be switched in one step, and the writer was killed between two, what was
    there before is put in its place again.
    """
    target = _followed(path)
    if not target.parent.is_dir():
        return
    for entry in list(os.scandir(target.parent)):
        left = Path(entry.path)
        if entry.name.startswith(_prefix(target)) and is_left_behind(left):
            if not target.exists():
                with suppress(OSError):
                    (left / "old").rename(target)
            shutil.rmtree(left, ignore_errors=True)


def _followed(path: str | os.PathLike[str]) -> Path:
    """Return the place that a path leads to."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path} is a symbolic link that leads back to itself: give another path.")
    return target


def _file_place(path: str | os.PathLike[str]) -> Path:
    """Return where a file is to be made; refuse what is there and is no file to be replaced."""
    target = _followed(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give a file in it.")
    if target.exists() and not target.is_file():
        raise FileExistsError(
            f"{target} is a device, a pipe or a socket, not a regular file: give a regular file."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{target} is write-protected: give another file.")
    return target


def _folder_place(path: str | os.PathLike[str], marker: str) -> Path:
    """Return where a folder is to be made; refuse what is there and is not to be replaced."""
    target = _followed(path)
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"{target} is a file: give a folder.")
    if target.is_dir() and any(target.iterdir()) and not (target / marker).is_file():
        raise FileExistsError(
            f"{target} contains other files and was left alone: give a new folder, or one with "
            f"{marker} in it to replace."
        )
    return target


def _prefix(target: Path) -> str:
    return f".{target.name[:PREFIX_LENGTH]}.twofold-"


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give a folder beside a place, which others leave alone until it is removed here."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {target.parent} does not exist: create it first.")
    remove_leftovers(target)
    try:
        folder, lock = hold_folder(
            lambda: Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target)))
        )
    except OSError as error:
        raise type(error)(
            f"The folder {target.parent} cannot be written to ({error.strerror}): give another "
            "path."
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def _said_where(target: Path) -> Iterator[None]:
    """Say of a disk that is full, or fails, what was to be written."""
    try:
        yield
    except OSError as error:
        # Within a folder on its way, a file's own sentence names a place that is gone with it.
        full = error if _is_without_room(error) else error.__cause__
        if not isinstance(full, OSError) or not _is_without_room(full):
            raise
        why = full.strerror or os.strerror(errno.ENOSPC)
        raise OSError(
            f"{target} could not be written ({why}): free some space, or give another path. What "
            "was there before is unchanged."
        ) from full


def _is_without_room(error: OSError) -> bool:
    """Whether a disk is full or fails; NumPy says of one only how much it did not write."""
    is_cut_short = error.errno is None and NUMPY_CUT_SHORT.fullmatch(str(error)) is not None
    return is_cut_short or error.errno in NO_ROOM


def _flush(place: Path) -> None:
    """Have what was written reach the disk before its name does."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
