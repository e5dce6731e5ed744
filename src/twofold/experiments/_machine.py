"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch")


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
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "absent"
    return facts


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
