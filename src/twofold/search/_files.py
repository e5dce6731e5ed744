"""An index as a folder: `index.json`, `points.npy`, and its ids. Opening one runs nothing from it.

The points are all there is to search: no FAISS file is written or read, since FAISS trusts what it
reads, and a flat index is made from points faster than they are read. Where codes are held in place
of points there is `codes.npy`, and beside it the arrays that codes are decoded with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_folder, remove_leftovers
from twofold._core.numpy_files import map_npy, read_npy
from twofold._core.text_files import LARGEST_JSON, read_json
from twofold._core.versions import package_versions
from twofold.search._coded_points import CodedPoints
from twofold.search._hamming_space import check_items
from twofold.search._ids import as_id_array, as_json, check_ids, from_json
from twofold.search._quantisers import ARRAYS, quantiser_from
from twofold.search._space import Metric

CARD, POINTS, NUMBERS, NAMES = "index.json", "points.npy", "ids.npy", "ids.json"
CODES = "codes.npy"
FORMAT, FORMAT_VERSION, CODED_VERSION = "twofold-index", 1, 2
"""The second is of an index that was told what memory points may take."""
WAY_OUT = "rebuild the index"


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """What is saved of an index: points, or codes of them, and what these are to take."""

    metric: Metric
    ids: Sequence[Hashable]
    points: NDArray[Any] | CodedPoints
    n_bytes: int | None = None
    recall: float | None = None


def save(saved: Saved, folder: str | os.PathLike[str]) -> Path:
    """Write an index to a folder, whole or not at all; return the folder."""
    with new_folder(folder, CARD) as place:
        fill(saved, place)
    return Path(folder)


def fill(saved: Saved, place: Path) -> None:
    """Write the files of an index into a folder."""
    ids = as_id_array(saved.ids)
    _fill_points(saved.points, place)
    if ids.dtype == np.int64:
        np.save(place / NUMBERS, ids, allow_pickle=False)
    else:
        text = json.dumps(as_json(saved.ids), ensure_ascii=False, allow_nan=False)
        _refuse_long(text)
        (place / NAMES).write_text(text + "\n", encoding="utf-8")
    card: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "metric": saved.metric,
        "n_items": len(saved.ids),
        "dim": saved.points.shape[1],
        "ids": NUMBERS if ids.dtype == np.int64 else NAMES,
        "versions": package_versions(("twofold", "numpy")),
    }
    if saved.n_bytes is not None:
        kind = saved.points.quantiser.kind if isinstance(saved.points, CodedPoints) else None
        card |= {
            "format_version": CODED_VERSION,
            "bytes_an_item": saved.n_bytes,
            "code": kind,
            "recall": saved.recall,
        }
    (place / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def _fill_points(points: NDArray[Any] | CodedPoints, place: Path) -> None:
    if not isinstance(points, CodedPoints):
        np.save(place / POINTS, points, allow_pickle=False)
        return
    np.save(place / CODES, points.codes, allow_pickle=False)
    for name, array in points.quantiser.arrays().items():
        np.save(place / f"{name}.npy", array, allow_pickle=False)


def _refuse_long(text: str) -> None:
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    if n_bytes >= LARGEST_JSON:
        raise ValueError(
            f"The ids take {n_bytes:,} bytes as text, and {LARGEST_JSON:,} is the limit: use "
            "whole numbers as ids."
        )


def is_at(folder: Path) -> bool:
    """Whether a folder holds what `save` writes, whole or damaged."""
    return (folder / CARD).is_file() and any((folder / name).is_file() for name in (POINTS, CODES))


def read(folder: Path) -> Saved:
    """Read what `save` wrote, points mapped from their file; say what is wrong with it if not."""
    if not folder.exists():
        remove_leftovers(folder)  # of a save that was killed between two steps
    if not (folder / CARD).is_file():
        raise FileNotFoundError(f"{folder} is not a Twofold index: it has no {CARD}.")
    card = _read_card(folder / CARD)
    try:
        return _opened(folder, card)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{folder} is damaged: {error.filename} is missing.") from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder} is damaged ({error}): {WAY_OUT}.") from error


def _opened(folder: Path, card: dict[str, Any]) -> Saved:
    coded = card.get("code") is not None
    points = _opened_codes(folder, card) if coded else _opened_points(folder, card)
    if card["ids"] == NUMBERS:
        numbers = read_npy(folder / NUMBERS)
        if numbers.dtype != np.int64:
            raise ValueError(f"{NUMBERS} holds {numbers.dtype}")
        ids = check_ids("ids", numbers)
    else:
        ids = check_ids("ids", from_json(read_json(folder / NAMES, WAY_OUT)))
    if len(ids) != len(points):
        raise ValueError(f"it has {len(ids)} ids for {len(points)} points")
    return Saved(card["metric"], ids, points, card.get("bytes_an_item"), card.get("recall"))


def _opened_points(folder: Path, card: dict[str, Any]) -> NDArray[Any]:
    points = map_npy(folder / POINTS)
    kind = np.uint8 if card["metric"] == "hamming" else np.float32
    if points.shape != (card["n_items"], card["dim"]) or points.dtype != kind:
        raise ValueError(f"{POINTS} holds {points.dtype} of shape {points.shape}")
    return check_items(card["metric"], POINTS, points) if points.size else points


def _opened_codes(folder: Path, card: dict[str, Any]) -> CodedPoints:
    kind, codes = card["code"], map_npy(folder / CODES)
    quantiser = quantiser_from(
        kind, {name: read_npy(folder / f"{name}.npy") for name in ARRAYS[kind]}
    )
    shape = (card["n_items"], quantiser.n_bytes)
    if quantiser.dim != card["dim"] or codes.shape != shape or codes.dtype != np.uint8:
        raise ValueError(
            f"{CODES} holds {codes.dtype} of shape {codes.shape}, but {shape[1]} bytes are needed "
            f"for points of {quantiser.dim} numbers"
        )
    return CodedPoints(quantiser, codes)


def _read_card(file: Path) -> dict[str, Any]:
    card = read_json(file, WAY_OUT)
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{file} is not part of an index: it does not say {FORMAT!r}.")
    version = card.get("format_version")
    if version not in (FORMAT_VERSION, CODED_VERSION):
        raise ValueError(
            f"{file} has format version {version!r}, but this Twofold reads {FORMAT_VERSION} and "
            f"{CODED_VERSION}: update Twofold, or {WAY_OUT}."
        )
    wrong = [
        name
        for name, is_right in {
            "metric": card.get("metric") in get_args(Metric),
            "n_items": _is_count(card.get("n_items")),
            "dim": _is_count(card.get("dim")),
            "ids": card.get("ids") in (NUMBERS, NAMES),
            **(_memory_checks(card) if version == CODED_VERSION else {}),
        }.items()
        if not is_right
    ]
    if wrong:
        raise ValueError(
            f"{file} is damaged: its {wrong[0]} is {str(card.get(wrong[0]))[:80]!r}: {WAY_OUT}."
        )
    if version == FORMAT_VERSION:
        for name in ("bytes_an_item", "code", "recall"):
            card.pop(name, None)
    return card


def _memory_checks(card: dict[str, Any]) -> dict[str, bool]:
    recall, n_bytes = card.get("recall"), card.get("bytes_an_item")
    return {
        "bytes_an_item": _is_count(n_bytes) and 0 < n_bytes < 10**9,  # type: ignore[operator]
        "code": card.get("code") in (None, *ARRAYS) and card.get("metric") != "hamming",
        "recall": recall is None or (isinstance(recall, float) and 0 <= recall <= 1),
    }


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
