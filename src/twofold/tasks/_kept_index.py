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


def open_index(place: Path, folder: Path, model: PreparedModel) -> VectorStore:
    """Open an index of a model's points; refuse one of another model.

    Parameters
    ----------
    place : path
        What `twofold index` made, `twofold search` keeps, or `NeighbourIndex.save` wrote.
    folder : path
        Of the model.
    model : PreparedModel
        The same, opened.
    """
    fingerprint, learner = model_fingerprint(folder), model.learner
    if is_store(place):
        return open_store(place, model=fingerprint)[0]
    if IndexStore.is_at(place):
        index = IndexStore.open(place, model=fingerprint).index
    else:
        index = NeighbourIndex.open(place)
    if index.metric != learner.metric_ or index.dim not in (0, learner.n_components_):
        raise ValueError(
            f"{place} is of another model: its points have {index.dim} numbers and are compared by "
            f"{index.metric!r}, those of {folder} have {learner.n_components_} and "
            f"{learner.metric_!r}. Rebuild the index."
        )
    dim = learner.n_components_
    card = Card(store="folder", model=fingerprint, metric=index.metric, dim=dim)
    return FolderStore(None, card, index)
