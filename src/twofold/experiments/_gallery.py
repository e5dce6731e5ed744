"""A gallery: some test images and the images nearest to them, as a file of its own.

These are training images or, of kinds never seen, other test images.

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
from twofold.evaluation import Metric, pair_similarity
from twofold.experiments._examples import Examples
from twofold.experiments._kind_scores import spread_evenly
from twofold.experiments._paper import N_NEIGHBOURS
from twofold.experiments._progress import Evaluation
from twofold.experiments._sets import Part

FORMAT, FORMAT_VERSION = "twofold-gallery", 1
N_SHOWN = 12
N_SHOWN_KINDS = 8
"""Of kinds never seen: each stands twice, with our neighbours and with a rival's."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An image near to a test image: its picture, its label, and whether that is alike."""

    image: str
    label: str
    alike: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A test image, as the address of an <img>, its label and its nearest images."""

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
        Half of them the first that come, half those with the most wrong neighbours; of kinds never
        seen the same for every method.
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
    shown = (
        _shown((pictures[0], labels), (pictures[1], fitted_labels), row, nearest[row], label_names)
        for row in choose_shown(wrong)
    )
    return Gallery(data_set, method, seed, tuple(shown))


def gallery_of_kinds(
    data_set: str,
    method: str,
    seed: int,
    part: Part,
    points: NDArray[np.float32],
    metric: Metric,
    label_names: tuple[str, ...],
) -> Gallery | None:
    """Show what is nearest to some images of kinds never seen; None unless items are images.

    The images asked for are spread over the classes, and the same for every method.
    """
    pictures = _as_images(part.features)
    if pictures is None:
        return None
    by_class = np.argsort(part.labels, kind="stable")
    asked = by_class[spread_evenly(len(by_class), N_SHOWN_KINDS)]
    every = pictures, part.labels
    shown = (
        _shown(every, every, row, _nearest_others(points, row, metric), label_names)
        for row in asked
    )
    return Gallery(data_set, method, seed, tuple(shown))


def _nearest_others(points: NDArray[np.float32], row: int, metric: Metric) -> NDArray[np.int64]:
    """Return the nearest points to one of them, nearest first, itself left out."""
    others = np.delete(np.arange(len(points)), row)
    similarity = pair_similarity(points, np.full(len(others), row), others, metric)
    return others[np.argsort(-similarity, kind="stable")[:N_NEIGHBOURS]]


def _shown(
    queries: tuple[NDArray[Any], NDArray[Any]],
    gallery: tuple[NDArray[Any], NDArray[Any]],
    row: int,
    nearest: NDArray[np.int64],
    label_names: tuple[str, ...],
) -> Shown:
    """Return a query, by its row, with its neighbours; both come as images and labels."""
    (images, labels), (others, other_labels) = queries, gallery
    neighbours = (
        Neighbour(
            _address(others[other]),
            label_names[other_labels[other]],
            bool(other_labels[other] == labels[row]),
        )
        for other in nearest
    )
    return Shown(_address(images[row]), label_names[labels[row]], tuple(neighbours))


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
            f"{path} is not a readable gallery ({reason_of(error)}): remove it."
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
