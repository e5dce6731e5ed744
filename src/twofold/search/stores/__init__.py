"""Stores of points: a folder of our own, FAISS files, LanceDB, Qdrant; one Protocol for all.

Ids and columns stand beside points; neighbours are filtered by them.
"""

from twofold.search.stores._card import Card, StoreName
from twofold.search.stores._faiss_file import write_faiss
from twofold.search.stores._folder import FolderStore
from twofold.search.stores._kinds import TEXT, as_kind, joined_kind, kind_of, written_kind
from twofold.search.stores._opening import create_store, is_store, open_store
from twofold.search.stores._protocol import Condition, Hit, VectorStore

__all__ = [
    "TEXT",
    "Card",
    "Condition",
    "FolderStore",
    "Hit",
    "StoreName",
    "VectorStore",
    "as_kind",
    "create_store",
    "is_store",
    "joined_kind",
    "kind_of",
    "open_store",
    "write_faiss",
    "written_kind",
]
