"""The device is decided once, here, from the user's word."""

from __future__ import annotations

import re
from typing import Any

from twofold._core.processes import process_place


def resolve_device(device: Any) -> str:
    """Return the name of the device that "auto", "cpu", "cuda" or "cuda:N" stands for.

    "auto" takes a CUDA device where there is one. Of processes that train together each takes the
    one of its number.
    """
    name = str(device)
    if name == "cpu":
        return name
    if name != "auto" and not re.fullmatch(r"cuda(:\d+)?", name):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {device!r}.")
    # torch takes a second to import: only when the answer depends on it.
    import torch

    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto" and not n_devices:
        return "cpu"
    number = int(name.partition(":")[2] or 0)
    if number >= n_devices:
        raise ValueError(
            f"device={name!r} is not available: torch {torch.__version__} sees {n_devices} "
            "CUDA device(s). Use device='auto' or 'cpu'."
        )
    if process_place().n_here > 1:
        return _own_device(name, n_devices)
    return "cuda" if name == "auto" else name


def _own_device(name: str, n_devices: int) -> str:
    """Return the CUDA device of this process, of those on its machine that train together."""
    place = process_place()
    if ":" in name:
        raise ValueError(
            f"device={name!r} is one device, but torchrun started {place.n_here} processes on this "
            "machine, and each needs its own: use device='cuda'."
        )
    if place.n_here > n_devices:
        raise ValueError(
            f"torchrun started {place.n_here} processes on this machine, where torch sees "
            f"{n_devices} CUDA device(s). Start it with --nproc-per-node {n_devices}, or use "
            "device='cpu'."
        )
    return f"cuda:{place.local_rank}"


def said_of_idle_devices(device: str) -> str | None:
    """Return how to use the other CUDA devices, if a process on one leaves some idle."""
    if device == "cpu" or process_place().n_processes > 1:
        return None
    import torch

    n_devices = torch.cuda.device_count()
    if n_devices < 2:
        return None
    return (
        f"one of {n_devices} CUDA devices is used; for all of them start the script by torchrun "
        f"--nproc-per-node {n_devices}, with device='cuda'"
    )
