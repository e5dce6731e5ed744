"""Nearest neighbours: points by id in, ids and similarities out; exact, or by FAISS's lists."""

from twofold._core.warnings import SearchWarning
from twofold.search._coded_points import CodedPoints
from twofold.search._finder import Backend
from twofold.search._index import NeighbourIndex
from twofold.search._rerank import Rerank
from twofold.search._results import Neighbours, SimilarPairs
from twofold.search._space import Metric, distance_of
from twofold.search._store import IndexStore, Update, row_digest

__all__ = [
    "Backend",
    "CodedPoints",
    "IndexStore",
    "Metric",
    "NeighbourIndex",
    "Neighbours",
    "Rerank",
    "SearchWarning",
    "SimilarPairs",
    "Update",
    "distance_of",
    "row_digest",
]
