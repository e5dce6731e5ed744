"""One task per file: a user's files in, files and a result out. The command line calls these.

`fit_files` writes a `PreparedModel`, which takes rows as they stand in files; the other tasks use
it.
"""

from twofold.tasks._embed import EmbedRequest, EmbedResult, embed_file
from twofold.tasks._embed_shards import (
    EmbedShardsRequest,
    EmbedShardsResult,
    embed_shards,
)
from twofold.tasks._evaluate import EvaluateRequest, Evaluation, WrongPair, evaluate_files
from twofold.tasks._export import ExportResult, export_model
from twofold.tasks._fit import Candidate, FitResult, fit_files
from twofold.tasks._fit_input import FitRequest, Input
from twofold.tasks._index import IndexRequest, IndexResult, index_files
from twofold.tasks._items import read_items
from twofold.tasks._kept_index import model_fingerprint, open_index
from twofold.tasks._match import MatchRequest, MatchResult, match_files
from twofold.tasks._places import check_new_file
from twofold.tasks._prepared_model import Decision, PreparedModel
from twofold.tasks._search import SearchRequest, SearchResult, search_files
from twofold.tasks._shards import is_pattern

__all__ = [
    "Candidate",
    "Decision",
    "EmbedRequest",
    "EmbedResult",
    "EmbedShardsRequest",
    "EmbedShardsResult",
    "EvaluateRequest",
    "Evaluation",
    "ExportResult",
    "FitRequest",
    "FitResult",
    "IndexRequest",
    "IndexResult",
    "Input",
    "MatchRequest",
    "MatchResult",
    "PreparedModel",
    "SearchRequest",
    "SearchResult",
    "WrongPair",
    "check_new_file",
    "embed_file",
    "embed_shards",
    "evaluate_files",
    "export_model",
    "fit_files",
    "index_files",
    "is_pattern",
    "match_files",
    "model_fingerprint",
    "open_index",
    "read_items",
    "search_files",
]
