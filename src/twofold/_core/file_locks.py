"""Locks on folders that a process is working in; the system releases them when it ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where leftovers are left
    fcntl = None  # type: ignore[assignment]


HAS_LOCKS = fcntl is not None


def hold_folder(make: Callable[[], Path]) -> tuple[Path, int | None]:
    """Make a folder and lock it; return it with what is to be closed, if it could be locked."""
    while True:
        folder = make()
        lock = lock_folder(folder)
        if folder.is_dir():  # else one came between the two, and took it for a leftover
            return folder, lock
        if lock is not None:
            os.close(lock)


def is_left_behind(folder: Path) -> bool:
    """Whether the maker of a folder is gone."""
    lock = lock_folder(folder)
    if lock is None:
        return False
    os.close(lock)
    return True


def lock_folder(folder: Path) -> int | None:
    """Return a handle that holds a folder's lock, None where another holds it, or are no locks.

    Closing the handle lets go of it, and so does the end of the process.
    """
    if fcntl is None:
        return None
    handle = None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return handle
    except OSError:
        if handle is not None:
            os.close(handle)
        return None
