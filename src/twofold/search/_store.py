"""`IndexStore`: an index that is kept, so that only rows that are new or changed are embedded.

A row is known by its id and a digest of its content, the whole by the digest of the model that
embedded it. Rows that are gone are taken out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.files import check_folder_for, new_folder
from twofold._core.numpy_files import read_npy
from twofold._core.text_files import read_json
from twofold.search import _files
from twofold.search._finder import Backend
from twofold.search._ids import check_ids
from twofold.search._index import NeighbourIndex
from twofold.search._space import Metric

STORE, DIGESTS = "store.json", "digests.npy"
FORMAT, FORMAT_VERSION = "twofold-index-store", 1
DIGEST_BYTES = 16
"""Of BLAKE2: two different rows of a billion share one with a chance of 10⁻²¹."""


def row_digest(*fields: Any) -> bytes:
    """Return 16 bytes that stand for the content of one row: text, numbers, bytes or arrays."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for field in fields:
        content = _as_bytes(field)
        digest.update(f"{type(field).__name__} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()


def _as_bytes(field: Any) -> bytes:
    if isinstance(field, bytes):
        return field
    if isinstance(field, np.ndarray):
        return f"{field.dtype.str} {field.shape} ".encode() + np.ascontiguousarray(field).tobytes()
    return str(field).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """What has to be done to bring an index up to date.

    Attributes
    ----------
    to_embed : ndarray of int64
        Rows of the table that are new, or changed.
    n_new, n_changed, n_kept, n_gone : int
        Rows that were not there, are there with other content, are there as they were, and items
        of the index that are no rows any more.
    """

    to_embed: NDArray[np.int64]
    n_new: int
    n_changed: int
    n_kept: int
    n_gone: int


class IndexStore:
    """An index that is kept beside a digest of each row, for tables that change.

    Parameters
    ----------
    metric : {"cosine", "euclidean", "dot"}
        How points are compared.
    model : str
        Fingerprint of the model that makes the points: an index of another model is begun anew.
    backend, approximate, memory
        See `NeighbourIndex`.

    Examples
    --------
    >>> store = IndexStore("euclidean", model="v1")
    >>> digests = [row_digest("red"), row_digest("blue")]
    >>> update = store.update(["a", "b"], digests)
    >>> update.to_embed.tolist()
    [0, 1]
    >>> store.add([[0.0], [1.0]])
    >>> store.update(["a", "b"], digests).to_embed.tolist()
    []
    """

    def __init__(
        self,
        metric: Metric,
        *,
        model: str,
        backend: Backend = "auto",
        approximate: bool | Literal["auto"] = "auto",
        memory: str | None = None,
    ) -> None:
        self.model = model
        self.index = NeighbourIndex(metric, backend=backend, approximate=approximate, memory=memory)
        self._digests: dict[Hashable, bytes] = {}
        self._awaited: list[tuple[Hashable, bytes]] = []

    def update(self, ids: Iterable[Hashable], digests: Sequence[bytes]) -> Update:
        """Compare a table with the index: take out what is gone, say which rows to embed.

        Parameters
        ----------
        ids : sequence, n_rows of them
            Ids of the rows, all different.
        digests : sequence of bytes, n_rows of them
            What `row_digest` says of their content.

        Returns
        -------
        Update
            Hand the points of its rows to `add`, in their order, at once or in parts.
        """
        names = check_ids("ids", ids)
        if len(names) != len(digests):
            raise ValueError(
                f"There are {len(names)} ids for {len(digests)} digests: there must be one per row."
            )
        wrong = next((n for n, one in enumerate(digests) if not _is_digest(one)), None)
        if wrong is not None:
            raise TypeError(f"digests must be what row_digest returns, first wrong at row {wrong}.")
        table = dict(zip(names, digests, strict=True))
        gone = [one for one in self._digests if one not in table]
        changed = {one for one, known in self._digests.items() if table.get(one, known) != known}
        self._remove(gone)
        rows = [n for n, one in enumerate(names) if one in changed or one not in self._digests]
        self._awaited = [(names[n], digests[n]) for n in rows]
        return Update(
            np.array(rows, dtype=np.int64),
            n_new=len(rows) - len(changed),
            n_changed=len(changed),
            n_kept=len(names) - len(rows),
            n_gone=len(gone),
        )

    def _remove(self, names: list[Hashable]) -> None:
        self.index.remove(names)
        for one in names:
            del self._digests[one]

    def add(self, points: ArrayLike) -> None:
        """Take in the points of the next rows that `update` asked for."""
        n_points = len(np.asarray(points))
        if n_points > len(self._awaited):
            raise ValueError(
                f"{n_points} points came for {len(self._awaited)} rows that had to be embedded: "
                "call update first, and embed the rows that it lists."
            )
        arrived = self._awaited[:n_points]
        self.index.add([one for one, _ in arrived], points, replace=True)
        self._digests.update(arrived)
        self._awaited = self._awaited[n_points:]

    @staticmethod
    def check_place(folder: str | os.PathLike[str]) -> None:
        """Refuse a folder that `save` could not make, before the work; one of its own is taken."""
        if not (Path(folder) / STORE).is_file():
            check_folder_for(folder, STORE)

    @staticmethod
    def is_at(folder: str | os.PathLike[str]) -> bool:
        """Whether a folder holds what `save` writes."""
        return (Path(folder) / STORE).is_file()

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write index and digests to a folder, whole or not at all."""
        ids = self.index.ids.tolist()
        digests = b"".join(self._digests[one] for one in ids)
        table = np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_BYTES)
        card = {"format": FORMAT, "format_version": FORMAT_VERSION, "model": self.model}
        saved = self.index.to_files()
        with new_folder(folder, STORE) as place:
            _files.fill(saved, place)
            np.save(place / DIGESTS, table, allow_pickle=False)
            (place / STORE).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        return Path(folder)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        model: str,
        backend: Backend = "auto",
        approximate: bool | Literal["auto"] = "auto",
    ) -> IndexStore:
        """Open what `save` wrote; refuse an index of another model than the one named."""
        place = Path(folder)
        index = NeighbourIndex.open(place, backend=backend, approximate=approximate)
        card = _read_card(place)
        if card["model"] != model:
            raise ValueError(
                f"{place} holds points of another model ({card['model'][:16]!r}, not "
                f"{model[:16]!r}): rebuild the index."
            )
        table = read_npy(place / DIGESTS)
        if table.dtype != np.uint8 or table.shape != (index.n_items, DIGEST_BYTES):
            raise ValueError(
                f"{place} is damaged ({DIGESTS} holds {table.dtype} of shape {table.shape}): "
                "rebuild the index."
            )
        store = cls(index.metric, model=model)
        store.index = index
        store._digests = dict(zip(index.ids.tolist(), map(bytes, table), strict=True))
        return store


def _is_digest(one: Any) -> bool:
    return isinstance(one, bytes) and len(one) == DIGEST_BYTES


def _read_card(place: Path) -> dict[str, Any]:
    file = place / STORE
    if not file.is_file():
        raise FileNotFoundError(f"{place} is not a stored index: it has no {STORE}.")
    card = read_json(file, _files.WAY_OUT)
    is_ours = isinstance(card, dict) and card.get("format") == FORMAT
    if not is_ours or card.get("format_version") != FORMAT_VERSION:
        raise ValueError(f"{file} does not say {FORMAT!r}, version {FORMAT_VERSION}.")
    if not isinstance(card.get("model"), str):
        raise ValueError(f"{file} is damaged: it does not say which model made it.")
    return dict(card)
