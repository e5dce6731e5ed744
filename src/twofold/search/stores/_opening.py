"""A store by its name: made for a model, or opened for the model that made its points."""

from __future__ import annotations

from pathlib import Path

from twofold._core.files import check_folder_for
from twofold.search._coded_points import parse_memory
from twofold.search._quantisers import require_coder
from twofold.search.stores._card import CARD, Card
from twofold.search.stores._faiss_file import check_factory, require_faiss
from twofold.search.stores._folder import FolderStore
from twofold.search.stores._lance import LanceStore, require_lance
from twofold.search.stores._protocol import ID, VECTOR, VectorStore
from twofold.search.stores._qdrant import QdrantStore, require_qdrant

BITLESS = {"lance": "LanceDB, as Twofold uses it,", "qdrant": "Qdrant"}
"""Stores that do not compare codes by the bits in which they differ."""


def is_store(folder: Path) -> bool:
    """Whether a folder stands for a store."""
    return (folder / CARD).is_file()


def create_store(folder: Path, card: Card) -> VectorStore:
    """Create a store; its folder must be empty or not exist."""
    own = next((name for name in card.columns if name in (ID, VECTOR)), None)
    if own is not None:
        raise ValueError(f"The column {own!r} is used by the index itself: rename yours.")
    if card.url is not None and card.store != "qdrant":
        raise ValueError(f"--url is for a Qdrant server, but --store is {card.store}.")
    if card.factory is not None and card.store != "faiss":
        raise ValueError(f"--factory is for FAISS, but --store is {card.store}.")
    if card.memory is not None:
        _check_memory(card)
    if card.metric == "hamming" and card.store in BITLESS:
        raise ValueError(
            f"{BITLESS[card.store]} compares numbers, but this model gives codes of bits: use "
            "--store folder, or --store faiss for a file that FAISS opens."
        )
    {"faiss": require_faiss, "lance": require_lance, "qdrant": require_qdrant}.get(
        card.store, lambda: None
    )()
    if card.factory is not None:
        check_factory(card.factory, card.metric, card.dim)
    check_folder_for(folder, CARD)
    if card.store in ("folder", "faiss"):
        return FolderStore(folder, card)
    folder.mkdir(parents=True, exist_ok=True)
    store: VectorStore = (LanceStore if card.store == "lance" else QdrantStore)(folder, card)
    card.write(folder)
    return store


def _check_memory(card: Card) -> None:
    """Refuse what cannot be packed as it is asked for, before the work."""
    if card.store != "folder":
        raise ValueError(
            f"--memory compresses points in Twofold's own folder, but --store is {card.store}"
            + (": say --factory OPQ16,PQ16, for instance." if card.store == "faiss" else ".")
        )
    if card.metric == "hamming":
        raise ValueError("--memory compresses points, but this model gives codes of bits already.")
    n_bytes = parse_memory(card.memory)
    assert n_bytes is not None
    require_coder(card.dim, n_bytes)


def open_store(folder: Path, *, model: str | None = None) -> tuple[VectorStore, Card]:
    """Open a store and its card; refuse one of another model than the given one.

    Parameters
    ----------
    folder : path
        A folder made by `twofold index`.
    model : str, optional
        Fingerprint of the model.
    """
    card = Card.read(folder)
    if model is not None and card.model != model:
        raise ValueError(
            f"{folder} holds points of another model ({card.model[:16]!r}, not {model[:16]!r}): "
            "use the model that made them, or another index."
        )
    if card.store in ("folder", "faiss"):
        return FolderStore.open(folder, card), card
    return (LanceStore if card.store == "lance" else QdrantStore)(folder, card), card
