"""Limits of what a few bytes, or one number, may ask of a computer's memory."""

from __future__ import annotations

import os
from pathlib import Path

SMALLEST_LIMIT = 2**28
"""A packed file may always unpack to so many bytes,"""
LARGEST_RATIO = 100
"""and to so many times its own size. A bomb of zeros has a thousand: more, deflate cannot."""
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
SURELY_THERE = 2**24
"""Bytes that need no look at the system's files: feedback asks a thousand times a fit."""


def unpacked_limit(path: Path) -> int:
    """Return the most bytes that a packed file may unpack to."""
    return max(SMALLEST_LIMIT, LARGEST_RATIO * path.stat().st_size)


def refuse_bomb(path: Path, n_bytes: int, way_out: str) -> None:
    """Refuse a packed file that says it holds more than it may; nothing has been unpacked yet."""
    limit = unpacked_limit(path)
    if n_bytes > limit:
        raise ValueError(
            f"{path} is compressed by a factor of {n_bytes / max(1, path.stat().st_size):,.0f}: "
            f"{n_bytes:,} bytes in {path.stat().st_size:,}, and {limit:,} is the limit. "
            f"{way_out}"
        )


def refuse_beyond_memory(what: str, n_bytes: int, way_out: str) -> None:
    """Refuse what would not fit into this computer's memory, before it is tried."""
    if n_bytes <= SURELY_THERE:
        return
    available = memory_bytes()
    if n_bytes > available:
        raise ValueError(
            f"{what} take {n_bytes / 1e9:,.1f} GB, and this computer has {available / 1e9:,.1f}. "
            f"{way_out}"
        )


def memory_bytes() -> int:
    """Return how much memory this process may have."""
    try:
        own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no such question on this system
        own = 2**40
    own = min(own, _process_limit())
    try:
        return min(own, int(CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no limit, or none that can be read
        return own


def _process_limit() -> int:
    """Return what `ulimit -v` says."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return 2**62
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 2**62 if limit == resource.RLIM_INFINITY else limit
