"""What a fit is given: the request, and the rows of one or two tables with their features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from twofold.datasets import Records
from twofold.preparation import DecodedImages, ImagePreparation, TablePreparation
from twofold.tasks._prepared_card import Source
from twofold.tasks._prepared_model import Preparation

FEWEST_IDS = 20
"""Of fewer rows, it says little that none has the value of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """The options of `twofold fit`; see the command's help."""

    data: Path
    out: Path
    right: Path | None = None
    labels: str | None = None
    pairs: Path | None = None
    valid: Path | None = None
    triplets: Path | None = None
    id_column: str | None = None
    text: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    image: str | None = None
    image_size: int | None = None
    text_model: Path | None = None
    n_components: int | None = None
    metric: Literal["auto", "seen", "unseen"] = "auto"
    max_epochs: int | None = None
    device: str = "auto"
    seed: int = 0
    overwrite: bool = False


def with_separate_columns(request: FitRequest, left: Records) -> FitRequest:
    """Return the request with the columns of a table one by one, where commas join them."""
    return replace(
        request, text=left.separate(request.text), columns=left.separate(request.columns)
    )


@dataclass(slots=True)
class Input:
    """Rows of one or two tables, one after the other, and their features.

    `readable` says which rows those are, where images cannot be read and are left out.
    """

    left: Records
    right: Records | None
    source: Source
    preparation: Preparation | None
    features: Any
    notes: list[str] = field(default_factory=list)
    readable: NDArray[np.int64] | None = None

    @property
    def tables(self) -> tuple[Records, ...]:
        return (self.left,) if self.right is None else (self.left, self.right)

    def by_table(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return pairs of rows that are numbered through as pairs of rows of the two tables."""
        offset = 0 if self.right is None else self.left.n_items
        return np.asarray(pairs - np.array([0, offset]))


def prepare_input(
    request: FitRequest, left: Records, right: Records | None, labels: str | None
) -> Input:
    """Return the features of all rows, and how they were made."""
    notes = [note for table in (left, right) if table is not None for note in table.notes]
    if left.features is not None:
        features = _stacked([left.features] if right is None else [left.features, right.features])
        return Input(left, right, "features", None, features, notes)
    if request.image is not None or left.path.is_dir():
        return _prepare_images(request, left, right, notes)
    kinds = dict.fromkeys(request.text, "text")
    columns = request.columns or tuple(
        name for name in left.table.column_names if name not in (labels, request.image)
    )
    if not columns:
        raise ValueError(
            f"{left.path} has no column besides {labels!r} and its ids: there is nothing to learn "
            "from."
        )
    notes += _unnamed_ids(request, left)
    preparation = TablePreparation(kinds, columns=columns, text_model=request.text_model)
    preparation.fit(left.table, right=None if right is None else right.table)
    tables = [left.table] if right is None else [left.table, right.table]
    features = _stacked([preparation.transform(table) for table in tables])
    return Input(left, right, "table", preparation, features, notes)


def _unnamed_ids(request: FitRequest, left: Records) -> list[str]:
    """Say of columns that look like ids that they are learned from."""
    if request.columns or left.id_column is not None or left.n_items < FEWEST_IDS:
        return []
    return [
        f"No value of {name!r} comes twice. If it only names the rows, add --id {name!r}, so that "
        "nothing is learned from it."
        for name in left.column_names
        if name not in (request.labels, *request.text) and _looks_like_ids(left.table[name])
    ][:1]


def _looks_like_ids(column: Any) -> bool:
    """Whether every row has its own value: a word, or the next whole number."""
    import pyarrow as pa
    from pyarrow import compute

    is_whole = pa.types.is_integer(column.type)
    if not is_whole and not (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ):
        return False
    if column.null_count or compute.count_distinct(column).as_py() < len(column):
        return False
    if is_whole:
        bounds = compute.min_max(column).as_py()
        return bool(bounds["max"] - bounds["min"] == len(column) - 1)
    return not compute.any(compute.match_substring_regex(column, r"\s")).as_py()


def _prepare_images(
    request: FitRequest, left: Records, right: Records | None, notes: list[str]
) -> Input:
    column = request.image or "image"
    paths = [table.image_paths(column) for table in (left, right) if table is not None]
    size: Any = "auto" if request.image_size is None else request.image_size
    preparation = ImagePreparation(size=size)
    try:
        preparation.fit([path for some in paths for path in some])
    except ValueError as error:
        raise ValueError(f"The column {column!r} of {left.path}: {error}") from error
    decoded = [preparation.decode(some) for some in paths]
    features = _stacked([one.images for one in decoded])
    given = Input(left, right, "images", preparation, features, notes)
    if any(one.unreadable for one in decoded):
        _leave_out(given, decoded, paths)
    return given


def _leave_out(given: Input, decoded: list[DecodedImages], paths: list[list[Path]]) -> None:
    """Leave rows out whose images cannot be read, and note how many."""
    wrong = [
        (path[row], why)
        for one, path in zip(decoded, paths, strict=True)
        for row, why in one.unreadable.items()
    ]
    given.notes.append(
        f"{len(wrong)} image(s) cannot be read and are skipped, first {wrong[0][0]} "
        f"({wrong[0][1]})."
    )
    first = given.left.n_items
    given.left = given.left.take(decoded[0].rows)
    given.readable = decoded[0].rows
    if given.right is not None:
        given.right = given.right.take(decoded[1].rows)
        given.readable = np.concatenate([decoded[0].rows, first + decoded[1].rows])


def _stacked(parts: list[Any]) -> Any:
    """Return the rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    from scipy import sparse

    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)
