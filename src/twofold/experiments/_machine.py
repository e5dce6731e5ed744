"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from twofold import __version__
from twofold._core.versions import package_versions

COMMIT = "TWOFOLD_COMMIT"
"""The variable that names the state of the code where it lies without its history."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "pytorch-metric-learning")


def describe_machine() -> dict[str, str]:
    """Return the machine and versions that stand beside every figure."""
    facts = {
        "processor": _processor(),
        "cores": str(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "system": platform.system(),
        "python": platform.python_version(),
    }
    gpu = _gpu()
    if gpu:
        facts["gpu"] = gpu
    return facts | package_versions(PACKAGES)


def describe_circumstances(device: str) -> dict[str, Any]:
    """Return what every record says of when, with what and where it was measured."""
    return {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "device": device,
    }


@cache
def describe_commit() -> str:
    """Return the commit that is measured, with a plus if the package was changed since.

    It is looked up once: what is loaded stays as it is, whatever is committed meanwhile.
    """
    named = os.environ.get(COMMIT)
    if named:
        return named
    package = Path(__file__).parents[1]
    try:
        head = _git(package, "rev-parse", "--short", "HEAD")
        changed = _git(package, "status", "--porcelain", "--", ":/src", ":/benchmarks")
        return head + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return f"version {__version__}"


def _git(folder: Path, *arguments: str) -> str:
    answer = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def _gpu() -> str | None:
    # torch takes a second to import, and a description of a machine is wanted rarely.
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
