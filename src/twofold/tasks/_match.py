"""`twofold match`: which rows of two tables, or of one, are the same thing.

Never all pairs: the embedding finds candidates by search; the pair model, or the embedding's own
similarity, decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.files import new_file
from twofold.datasets import Records, read_tables
from twofold.matching import candidate_pairs, group_pairs, one_to_one
from twofold.search import NeighbourIndex
from twofold.tasks._group_names import PreviousGroups, read_groups
from twofold.tasks._phases import Phases, Progress
from twofold.tasks._places import check_new_file, check_suffix
from twofold.tasks._prepared_model import PreparedModel

TABLE_SUFFIXES = (".csv", ".parquet", ".pq")
"""Of files that a table is written to."""
N_CANDIDATES = 20
"""Candidates of a left row that the pair model decides on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRequest:
    """The options of `twofold match`; see the command's help."""

    model: Path
    left: Path
    out: Path
    right: Path | None = None
    id_column: str | None = None
    one_to_one: bool = False
    clusters: bool = False
    previous: Path | None = None
    threshold: float | None = None
    n_candidates: int = N_CANDIDATES
    columns: tuple[str, ...] = ()
    device: str = "auto"
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What was found.

    Attributes
    ----------
    n_items : tuple of int
        Rows of each table.
    n_candidates, n_matches : int
        Numbers of candidate pairs, and of those that are alike.
    n_groups : int or None
        Number of groups of at least two rows; None without grouping.
    by : str
        What decided.
    threshold : float
        Its threshold.
    out : Path
        The file.
    seconds : dict of str to float
        Of each phase.
    """

    n_items: tuple[int, ...]
    n_candidates: int
    n_matches: int
    n_groups: int | None
    by: str
    threshold: float
    out: Path
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Matches:
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    score: NDArray[np.float64]

    def take(self, rows: NDArray[Any]) -> _Matches:
        return _Matches(self.left[rows], self.right[rows], self.score[rows])


def match_files(request: MatchRequest, progress: Progress | None = None) -> MatchResult:
    """Find the pairs of rows that are alike and write them to a file.

    Parameters
    ----------
    request : MatchRequest
        The model and the files.
    progress : callable (what, share), optional
        Called as the work progresses.
    """
    _check_request(request)
    phases = Phases(progress)
    with phases.phase("opening"):
        model = PreparedModel.open(request.model, device=request.device)
    threshold = model.decision.threshold_or(request.threshold, request.model)
    with phases.phase("reading"):
        left, second = read_tables(request.left, request.right, id_column=request.id_column)
        right = left if second is None else second
        request = replace(request, columns=left.separate(request.columns))
        for table in (left, right):
            table.require(request.columns)
            model.check(table)
        previous = None if request.previous is None else read_groups(request.previous, left)
    candidates = _candidates(request, model, left, right, threshold, phases)
    kept = candidates.take(candidates.score >= threshold)
    if request.one_to_one:
        with phases.phase("assigning"):
            kept = kept.take(one_to_one(kept.left, kept.right, kept.score))
    order = np.lexsort((kept.right, kept.left))
    kept = kept.take(order)
    n_groups = None
    with phases.phase("writing"):
        if request.clusters:
            n_groups = _write_groups(request, left, kept, previous)
        else:
            _write_pairs(request, left, right, kept, model.decision.by)
    tables = (left,) if right is left else (left, right)
    return MatchResult(
        n_items=tuple(table.n_items for table in tables),
        n_candidates=candidates.left.size,
        n_matches=kept.left.size,
        n_groups=n_groups,
        by=model.decision.by,
        threshold=threshold,
        out=request.out,
        seconds=phases.seconds,
    )


def _check_request(request: MatchRequest) -> None:
    check_suffix(request.out, TABLE_SUFFIXES)
    if request.clusters and request.right is not None:
        raise ValueError("--clusters groups the rows of one table: leave out the second one.")
    if request.clusters and request.one_to_one:
        raise ValueError("--clusters and --one-to-one exclude each other: use one of them.")
    if request.previous is not None and not request.clusters:
        raise ValueError("--previous is for groups from an earlier run: it needs --clusters.")
    check_new_file(request.out, request.overwrite)


def _candidates(
    request: MatchRequest,
    model: PreparedModel,
    left: Records,
    right: Records,
    threshold: float,
    phases: Phases,
) -> _Matches:
    """Return pairs that may be alike, with what the threshold is compared with."""
    with phases.phase("embedding"):
        points, other_points = model.embed_both(left, right)
    if model.pair_classifier is None:
        with phases.phase("searching"):
            index = NeighbourIndex(model.learner.metric_)
            index.add(np.arange(right.n_items), other_points)
            is_one = right is left
            near = index.pairs_within(threshold) if is_one else index.within(points, threshold)
        return _Matches(near.left, near.right, near.similarity.astype(np.float64))
    with phases.phase("searching"):
        is_one = right is left
        pairs = candidate_pairs(
            left.table,
            None if is_one else right.table,
            k=request.n_candidates,
            points=points,
            right_points=None if is_one else other_points,
            metric=model.learner.metric_,
        )
    with phases.phase("deciding"):
        scores = model.pair_scores(left, right, pairs, (points, other_points))
    return _Matches(pairs[:, 0], pairs[:, 1], scores)


def _write_pairs(
    request: MatchRequest, left: Records, right: Records, kept: _Matches, by: str
) -> None:
    import pyarrow as pa

    score = "probability" if by == "pair model" else "similarity"
    columns = {
        "left": pa.array(left.ids[kept.left]),
        "right": pa.array(right.ids[kept.right]),
        score: pa.array(kept.score),
    }
    for name in request.columns:
        columns[f"left_{name}"] = left.table[name].take(pa.array(kept.left))
        columns[f"right_{name}"] = right.table[name].take(pa.array(kept.right))
    write_table(request.out, pa.table(columns))


def _write_groups(
    request: MatchRequest, left: Records, kept: _Matches, previous: PreviousGroups | None
) -> int:
    """Write the group of every row; return how many groups have two rows or more."""
    import pyarrow as pa

    groups = group_pairs(
        kept.left,
        kept.right,
        kept.score,
        left.n_items,
        -np.inf,  # what is kept reaches the threshold
        previous=None if previous is None else previous.groups,
    )
    names = left.ids[groups] if previous is None else previous.names(groups, left.ids)
    columns = {"id": pa.array(left.ids), "group": pa.array(names)}
    columns |= {name: left.table[name] for name in request.columns}
    write_table(request.out, pa.table(columns))
    return int(np.count_nonzero(np.unique(groups, return_counts=True)[1] > 1))


def write_table(path: Path, table: Any) -> None:
    """Write an Arrow table as CSV or Parquet, by the file's name."""
    from pyarrow import csv, parquet

    with new_file(path) as place:
        if path.suffix.lower() == ".csv":
            csv.write_csv(table, place)
        else:
            parquet.write_table(table, place)
