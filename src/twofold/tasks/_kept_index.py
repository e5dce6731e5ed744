"""Opens an existing index, for the model that made it and for no other."""

from __future__ import annotations

import hashlib
from pathlib import Path

from twofold._core.model_card import CARD
from twofold.search import IndexStore, NeighbourIndex
from twofold.search.stores import Card, FolderStore, VectorStore, is_store, open_store
from twofold.tasks._prepared_card import PREPARED
from twofold.tasks._prepared_model import PreparedModel


def model_fingerprint(folder: Path) -> str:
    """Return what changes when a model does: its descriptions name the digests of all files."""
    digest = hashlib.sha256()
    for name in (CARD, PREPARED):
        file = folder / name
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()


def is_index(place: Path) -> bool:
    """Whether a folder is an index that `open_index` opens, and no folder of images."""
    return is_store(place) or IndexStore.is_at(place) or NeighbourIndex.is_at(place)


def open_index(place: Path, folder: Path, model: PreparedModel) -> VectorStore:
    """Open an index of a model's points; refuse one of another model or metric.

    Parameters
    ----------
    place : path
        What `twofold index` made, `twofold search` keeps, or `NeighbourIndex.save` wrote.
    folder : path
        Of the model.
    model : PreparedModel
        The same, opened.
    """
    fingerprint, dim = model_fingerprint(folder), model.learner.n_components_
    if is_store(place):
        card = Card.read(place)
        if card.model == fingerprint:  # of any other, `open_store` says so
            _refuse_other_points(place, card.metric, card.dim, folder, model)
        return open_store(place, model=fingerprint)[0]
    if IndexStore.is_at(place):
        index = IndexStore.open(place, model=fingerprint).index
    else:
        index = NeighbourIndex.open(place)
    n_held = dim if index.metric != "hamming" else -(-dim // 8)  # codes are packed into bytes
    held = dim if index.dim in (0, n_held) else index.dim
    _refuse_other_points(place, index.metric, held, folder, model)
    card = Card(store="folder", model=fingerprint, metric=index.metric, dim=dim)
    return FolderStore(None, card, index)


def _refuse_other_points(
    place: Path, metric: str, dim: int, folder: Path, model: PreparedModel
) -> None:
    """Refuse points of another size, or that are compared otherwise, than a model's."""
    learner = model.learner
    if dim != learner.n_components_:
        raise ValueError(
            f"{place} is of another model: its points have {dim} numbers, but those of {folder} "
            f"have {learner.n_components_}. Rebuild the index with this model."
        )
    if metric != learner.metric_:
        raise ValueError(
            f"{place} is of another metric: it compares points by {metric!r}, but {folder} by "
            f"{learner.metric_!r}. Rebuild the index with this model."
        )
