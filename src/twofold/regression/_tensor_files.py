"""Named tensors in one safetensors file; reading it runs nothing, and only finite numbers pass."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

MAY_BE_INFINITE = "limit"
"""The one weight, of an input scaling, that says "no limit" by infinity."""


def write_tensors(
    file: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write tensors of any device to a file, whose mode follows the umask or stays what it is."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    file.touch()
    mode = file.stat().st_mode  # safetensors would make it for its owner alone
    copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    try:
        save_file(copies, file, metadata=metadata)
    except SafetensorError as error:  # its name for a full disk, too
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(file)) from error
    file.chmod(mode)


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Read all tensors of a file, or say why they cannot be used."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(file)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise ValueError(f"{file} cannot be read: {error}.") from error
    for name, tensor in tensors.items():
        if tensor.is_floating_point():
            is_limit = name.rpartition(".")[2] == MAY_BE_INFINITE
            wrong = torch.isnan(tensor) if is_limit else ~torch.isfinite(tensor)
            if wrong.any():
                raise ValueError(
                    f"{file} is damaged: {name} holds {int(wrong.sum())} number(s) that are not "
                    "finite."
                )
    return tensors


def check_other_tensors(folder: Path, known: str) -> None:
    """Look through the tensors of all files of a folder but the one that is read anyway."""
    for file in sorted(folder.glob("*.safetensors")):
        if file.name != known:
            read_tensors(file)
