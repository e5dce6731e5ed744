"""The version of Twofold, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable

__version__ = "0.1.0"


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the version of each package, "absent" where it is not installed."""
    return {name: _version(name) for name in names}


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # as slow as all of `twofold`

    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
