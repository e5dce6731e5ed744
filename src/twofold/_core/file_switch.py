"""Two folders change places in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Of Linux's renameat2."""
NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What a system, or a file system, says that has no such step."""


def switch_folders(new: Path, target: Path, aside: Path) -> None:
    """Put a folder in the place of another.

    Parameters
    ----------
    new : Path
        What is to lie at `target`; what was there lies here afterwards, or at `aside`.
    target : Path
        A folder.
    aside : Path
        Where the old folder is moved if two steps are needed; what fails moves it back, and who
        was killed between them is helped out by `remove_leftovers`.
    """
    if exchange(new, target):
        return
    target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        aside.rename(target)
        raise


def exchange(one: Path, other: Path) -> bool:
    """Have two places change what they hold, in one step; say whether that could be done."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    failed = rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    number = ctypes.get_errno()
    if not failed:
        return True
    if number in NOT_THERE:
        return False
    raise OSError(number, os.strerror(number), str(other))
