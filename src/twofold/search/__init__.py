"""Nearest neighbours: points by id in, ids and similarities out; exact, or by FAISS's lists."""

from twofold.search._index import NeighbourIndex
from twofold.search._results import Neighbours, SimilarPairs

__all__ = ["NeighbourIndex", "Neighbours", "SimilarPairs"]
