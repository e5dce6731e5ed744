"""The index of a table's rows, which is kept: rows that are in it are not embedded again."""

from __future__ import annotations

from pathlib import Path

from scipy import sparse

from twofold.datasets import Records
from twofold.search import IndexStore, NeighbourIndex, row_digest
from twofold.tasks._kept_index import model_fingerprint
from twofold.tasks._phases import Phases
from twofold.tasks._prepared_model import PreparedModel

N_EMBEDDED = 2**16
"""Rows that are embedded at a time."""


def table_index(
    place: Path, folder: Path, model: PreparedModel, items: Records, phases: Phases
) -> tuple[NeighbourIndex, int]:
    """Return the index of all rows; those that it has already are not embedded again."""
    fingerprint = model_fingerprint(folder)
    try:
        store = IndexStore.open(place, model=fingerprint)
    except (ValueError, FileNotFoundError):  # none yet, another model's, or damaged
        store = IndexStore(model.learner.metric_, model=fingerprint)
    update = store.update(items.ids.tolist(), row_digests(model, items))
    new = update.to_embed
    for first in range(0, new.size, N_EMBEDDED):
        rows = new[first : first + N_EMBEDDED]
        store.add(model.embed(items.take(rows)))
        phases.tell("indexing", (first + rows.size) / new.size)
    if new.size or update.n_gone:
        store.save(place)
    return store.index, int(new.size)


def row_digests(model: PreparedModel, records: Records) -> list[bytes]:
    """Return a digest of each row: its numbers, its fields, or its image's path, size and time."""
    if records.table is None:
        rows = records.features
        return [row_digest(row) for row in (rows.toarray() if sparse.issparse(rows) else rows)]
    paths = image_files(model, records)
    if paths:
        states = [(path, path.stat()) for path in paths]
        return [row_digest(path, facts.st_size, facts.st_mtime_ns) for path, facts in states]
    columns = [records.table[name].to_pylist() for name in records.column_names]
    return [row_digest(*row) for row in zip(*columns, strict=True)]


def image_files(model: PreparedModel, records: Records) -> tuple[Path, ...]:
    """Return where the pictures of rows lie; nothing where rows are no images in files."""
    column = model.image_column or "image"
    if model.source != "images" or records.has_image_bytes(column):
        return ()
    return tuple(records.image_paths(column))
