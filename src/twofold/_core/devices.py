"""The device is decided once, here, from the user's word."""

from __future__ import annotations

import re
from typing import Any


def resolve_device(device: Any) -> str:
    """Return the name of the device that "auto", "cpu", "cuda" or "cuda:N" stands for.

    "auto" takes a CUDA device where there is one.
    """
    name = str(device)
    if name == "cpu":
        return name
    if name != "auto" and not re.fullmatch(r"cuda(:\d+)?", name):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {device!r}.")
    # torch takes a second to import: only when the answer depends on it.
    import torch

    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if n_devices else "cpu"
    number = int(name.partition(":")[2] or 0)
    if number >= n_devices:
        raise ValueError(
            f"device={name!r} is not available: torch {torch.__version__} sees {n_devices} "
            "CUDA device(s). Use device='auto' or 'cpu'."
        )
    return name
