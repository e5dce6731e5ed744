"""Checks of outputs: nothing that exists is replaced unless the user says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twofold._core.files import check_folder_for, check_place
from twofold._core.model_card import CARD


def check_new_file(path: Path, overwrite: bool) -> None:
    """Refuse a file that is there already, or cannot be written: before the work."""
    if path.exists() and not path.is_dir() and not overwrite:
        raise FileExistsError(f"{path} already exists: choose another file, or add --overwrite.")
    check_place(path)


def check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a file whose name does not say in which of some formats it is to be."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in one of {', '.join(suffixes)}.")


def check_new_model(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that is there already, or cannot be written: before the work."""
    check_folder_for(folder, CARD)
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise FileExistsError(
            f"{folder} already exists: choose another folder, or add --overwrite."
        )
