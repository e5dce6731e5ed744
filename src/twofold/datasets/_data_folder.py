"""Where the data sets lie: a folder the user names."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TWOFOLD_DATA"


def named_folder(data_dir: str | os.PathLike[str] | None) -> Path:
    """Return `data_dir`, or else the folder that the variable TWOFOLD_DATA names, there or not."""
    named = data_dir if data_dir is not None else os.environ.get(VARIABLE)
    if not named:
        raise FileNotFoundError(
            f"There is no data folder: pass data_dir, or set {VARIABLE} to the folder of the data "
            "sets."
        )
    return Path(named)


def data_folder(data_dir: str | os.PathLike[str] | None) -> Path:
    """Return `data_dir`, or else the folder that the variable TWOFOLD_DATA names."""
    folder = named_folder(data_dir)
    if not folder.is_dir():
        raise FileNotFoundError(f"The data folder {folder} does not exist.")
    return folder
