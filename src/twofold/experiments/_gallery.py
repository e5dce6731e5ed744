"""A gallery: some test images and the training images nearest to them, as a file of its own.

It holds the pictures themselves, which belong to the data set's owners: it stays apart from the
record, which can be given to anyone.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.neighbors import NearestNeighbors

from twofold._core.files import write_text
from twofold._core.reasons import reason_of
from twofold._core.text_files import read_json
from twofold.experiments._examples import Examples
from twofold.experiments._paper import N_NEIGHBOURS
from twofold.experiments._progress import Evaluation

FORMAT, FORMAT_VERSION = "twofold-gallery", 1
N_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A training image near to a test image: its picture, its label, and whether that is alike."""

    image: str
    label: str
    alike: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A test image, as the address of an <img>, its label and its nearest training images."""

    image: str
    label: str
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Some test images of one run.

    Attributes
    ----------
    data_set, method, seed : str, str, int
        Which run.
    items : tuple of Shown
        Half of them the first that come, half those with the most wrong neighbours.
    """

    data_set: str
    method: str
    seed: int
    items: tuple[Shown, ...]


def gallery_of(
    data_set: str,
    method: str,
    seed: int,
    examples: Examples,
    evaluation: Evaluation | None,
    label_names: tuple[str, ...],
) -> Gallery | None:
    """Choose what to show of an evaluated run; None unless the items are images of one class."""
    images, labels = examples.test.features, examples.test.labels
    pictures = _as_images(images), _as_images(examples.fitted.features)
    if evaluation is None or pictures[0] is None or pictures[1] is None or labels.ndim != 1:
        return None
    fitted_labels = examples.fitted.labels
    search = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS, len(fitted_labels)))
    nearest = search.fit(evaluation.fitted_points).kneighbors(
        evaluation.test_points, return_distance=False
    )
    wrong = fitted_labels[nearest] != labels[:, None]
    return Gallery(
        data_set,
        method,
        seed,
        tuple(
            Shown(
                _address(pictures[0][number]),
                label_names[labels[number]],
                tuple(
                    Neighbour(
                        _address(pictures[1][row]),
                        label_names[fitted_labels[row]],
                        bool(fitted_labels[row] == labels[number]),
                    )
                    for row in nearest[number]
                ),
            )
            for number in choose_shown(wrong)
        ),
    )


def write_gallery(folder: Path, gallery: Gallery) -> Path:
    """Write a gallery beside its record, whole or not at all."""
    path = gallery_path(folder, gallery.data_set, gallery.method, gallery.seed)
    fields = asdict(gallery)
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "set": fields.pop("data_set")}
    return write_text(path, json.dumps(head | fields) + "\n")


def read_gallery(path: Path) -> Gallery:
    """Read a gallery, or say what is wrong with the file."""
    try:
        content: dict[str, Any] = read_json(path)
        if content.get("format") != FORMAT or content.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"it does not say {FORMAT!r}, version {FORMAT_VERSION}")
        items = tuple(
            Shown(
                item["image"],
                item["label"],
                tuple(Neighbour(**neighbour) for neighbour in item["neighbours"]),
            )
            for item in content["items"]
        )
        return Gallery(content["set"], content["method"], content["seed"], items)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is no gallery that can be read ({reason_of(error)}): remove it."
        ) from error


def gallery_path(folder: Path, data_set: str, method: str, seed: int) -> Path:
    """Return where the gallery of a run lies."""
    return folder / data_set / f"{method}-seed{seed}.gallery.json"


def choose_shown(wrong: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return which test items to show: half of them the first that come, then the hardest.

    `wrong`, shape (n_test, n_neighbours), says which neighbours are not alike.
    """
    hardest = np.argsort(-wrong.sum(axis=1), kind="stable")[: N_SHOWN // 2]
    others = np.setdiff1d(np.arange(len(wrong)), hardest)[: N_SHOWN - hardest.size]
    return np.concatenate([others, hardest])


def _as_images(features: Any) -> NDArray[Any] | None:
    """Return bytes of shape (n, channels, height, width); digits' rows are images as well."""
    if isinstance(features, np.ndarray) and features.ndim == 4:
        return features
    if isinstance(features, np.ndarray) and features.ndim == 2 and features.shape[1] == 64:
        return np.asarray(np.rint(255 - features * (255 / 16)), dtype=np.uint8).reshape(-1, 1, 8, 8)
    return None


def _address(image: NDArray[np.uint8]) -> str:
    """Return an image as data that an <img> takes."""
    is_grey = image.shape[0] == 1
    picture = Image.fromarray(image[0] if is_grey else image.transpose(1, 2, 0))
    kind = "png" if is_grey else "jpeg"
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
