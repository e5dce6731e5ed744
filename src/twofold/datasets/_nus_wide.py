"""NUS-WIDE: 269,648 images with 81 concepts; here their labels, from the official ground truth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_choice
from twofold.datasets._archives import archive_files
from twofold.datasets._data_folder import data_folder
from twofold.datasets._image_set import Part

ARCHIVE = "nus-wide-groundtruth.tar.xz"
LABELS_FOLDER = "Groundtruth/TrainTestLabels"


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
        unpacked ``Groundtruth/TrainTestLabels/Labels_<concept>_{Train,Test}.txt``; by default the
        one in the variable TWOFOLD_DATA.
    """
    check_choice("part", part, get_args(Part))
    folder = data_folder(data_dir) / "nus_wide"
    ending = f"_{part.capitalize()}.txt"
    columns = {
        name.removeprefix("Labels_").removesuffix(ending): _read_column(name, text)
        for name, text in _label_files(folder, ending)
    }
    if not columns:
        raise FileNotFoundError(
            f"NUS-WIDE's labels are not in {folder}: put {ARCHIVE} there, or the official "
            f"{LABELS_FOLDER}/Labels_<concept>{ending}."
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


def _label_files(folder: Path, ending: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every label file of a part, unpacked or in the archive."""
    pattern = f"Labels_*{ending}"
    # The places by name: to search all of the folder is to list 269,648 images.
    for place in (folder / LABELS_FOLDER, folder / "TrainTestLabels", folder):
        unpacked = sorted(place.glob(pattern))
        if unpacked:
            yield from ((path.name, path.read_bytes()) for path in unpacked)
            return
    archive = folder / ARCHIVE
    if archive.is_file():
        for path, content in archive_files(archive, lambda path: path.match(pattern)):
            yield path.name, content


def _read_column(name: str, text: bytes) -> NDArray[np.uint8]:
    """Read a file of lines "0" or "1"."""
    characters = np.frombuffer(text, dtype=np.uint8)
    is_digit = (characters == ord("0")) | (characters == ord("1"))
    wrong = np.flatnonzero(~is_digit & ~np.isin(characters, list(b" \r\n\t")))
    if wrong.size:
        line = text[: wrong[0]].count(b"\n") + 1
        raise ValueError(f"{name} must have a 0 or 1 in every line, but line {line} does not.")
    return np.asarray(characters[is_digit] - ord("0"), dtype=np.uint8)
