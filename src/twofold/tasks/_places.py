"""Where outputs go: never over something that is there, unless the user says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twofold._core.files import check_place
from twofold._core.model_card import CARD


def check_new_file(path: Path, overwrite: bool) -> None:
    """Refuse a file that is there already, or cannot be written: before the work."""
    if path.exists() and not path.is_dir() and not overwrite:
        raise FileExistsError(f"{path} is there already: name another file, or add --overwrite.")
    check_place(path)


def check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """Refuse a file whose name does not say in which of some formats it is to be."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in one of {', '.join(suffixes)}.")


def check_new_model(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that is there already, or cannot be written: before the work."""
    check_folder_can_be_made(folder)
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise FileExistsError(
            f"{folder} is there already: name another folder, or add --overwrite."
        )


def check_folder_can_be_made(folder: Path) -> None:
    """Refuse a place where a folder cannot be made, or holds other things than a model."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"{target} is a file: name a folder.")
    if target.is_dir() and any(target.iterdir()) and not (target / CARD).is_file():
        raise FileExistsError(
            f"{target} holds other things than a model and is left alone: name another folder."
        )
    check_place(target / CARD if target.is_dir() else target)
