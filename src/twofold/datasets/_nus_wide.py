"""NUS-WIDE: 269,648 images with 81 concepts; here their labels, from the official ground truth."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.datasets._data_folder import data_folder

Part = Literal["train", "test"]
ARCHIVE = "nus-wide-groundtruth.tar.xz"


@dataclass(frozen=True, slots=True, eq=False)
class NusWideLabels:
    """Labels of one part of NUS-WIDE.

    Attributes
    ----------
    labels : ndarray of uint8, shape (n_items, n_concepts)
        1 where the image shows the concept.
    concepts : tuple of str
        Names of the columns, in alphabetical order.
    """

    labels: NDArray[np.uint8]
    concepts: tuple[str, ...]


def load_nus_wide_labels(
    part: Part = "train", data_dir: str | os.PathLike[str] | None = None
) -> NusWideLabels:
    """Read the labels of NUS-WIDE's official train or test part.

    Parameters
    ----------
    part : {"train", "test"}
        161,789 or 107,859 images.
    data_dir : path, optional
        A folder with ``nus_wide/`` in it, which holds ``nus-wide-groundtruth.tar.xz`` or the
        unpacked ``Groundtruth/TrainTestLabels/Labels_<concept>_{Train,Test}.txt``; by default what
        the variable TWOFOLD_DATA names.
    """
    check_choice("part", part, get_args(Part))
    folder = data_folder(data_dir) / "nus_wide"
    ending = f"_{part.capitalize()}.txt"
    columns = {
        name.removeprefix("Labels_").removesuffix(ending): _read_column(name, text)
        for name, text in _label_files(folder)
        if name.startswith("Labels_") and name.endswith(ending)
    }
    if not columns:
        raise FileNotFoundError(
            f"NUS-WIDE's labels are not in {folder}: put {ARCHIVE} there, or the official "
            f"Groundtruth/TrainTestLabels/Labels_<concept>{ending}."
        )
    concepts = tuple(sorted(columns))
    lengths = {concept: columns[concept].size for concept in concepts}
    if len(set(lengths.values())) > 1:
        shortest = min(concepts, key=lengths.__getitem__)
        raise ValueError(
            f"Labels_{shortest}{ending} in {folder} has {lengths[shortest]} lines where others "
            f"have {max(lengths.values())}: the file is damaged, get it again."
        )
    return NusWideLabels(np.column_stack([columns[concept] for concept in concepts]), concepts)


def _label_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every label file, unpacked or in the archive."""
    unpacked = sorted(folder.rglob("Labels_*.txt"))
    for path in unpacked:
        yield path.name, path.read_bytes()
    archive = folder / ARCHIVE
    if unpacked or not archive.is_file():
        return
    try:
        with tarfile.open(archive) as members:
            for member in members:
                content = members.extractfile(member)
                if content is not None:
                    yield PurePosixPath(member.name).name, content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"{archive} cannot be read ({error}): get it again.") from error


def _read_column(name: str, text: bytes) -> NDArray[np.uint8]:
    """Read a file of lines "0" or "1"."""
    characters = np.frombuffer(text, dtype=np.uint8)
    is_digit = (characters == ord("0")) | (characters == ord("1"))
    wrong = np.flatnonzero(~is_digit & ~np.isin(characters, list(b" \r\n\t")))
    if wrong.size:
        line = text[: wrong[0]].count(b"\n") + 1
        raise ValueError(f"{name} must hold a 0 or 1 a line, but line {line} does not.")
    return np.asarray(characters[is_digit] - ord("0"), dtype=np.uint8)
