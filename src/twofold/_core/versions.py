"""The versions of installed packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the version of each package, "absent" where it is not installed."""
    return {name: _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
