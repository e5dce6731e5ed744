"""Candidates: the few partners of each record that are worth a decision, without all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold.evaluation import Metric
from twofold.matching._columns import read_column
from twofold.matching._neighbours import NOBODY, nearest_records
from twofold.matching._set_similarities import fit_rarity, weigh
from twofold.matching._texts import Texts, cut_texts
from twofold.preparation import as_table
from twofold.search import NeighbourIndex

SEARCHED = ("grams", "words")


def candidate_pairs(
    records: Any,
    right_records: Any = None,
    *,
    k: int = 20,
    points: Any = None,
    right_points: Any = None,
    metric: Metric = "euclidean",
) -> NDArray[np.int64]:
    """Return at most `k` partners of each record, the nearest by letters, words and embedding.

    The nearest by TF-IDF cosine of character 3-grams, by that of words (all columns joined) and by
    `points` are taken in turn until there are `k`.

    Parameters
    ----------
    records, right_records : table
        As for `PairClassifier`; with a single table each pair occurs once, the lower row first.
    k : int
        Number of partners for each record in `records`.
    points, right_points : array_like, optional
        An embedding of the rows of the two tables, shape (n_rows, dim).
    metric : {"euclidean", "cosine", "dot"}
        How these are compared: a learner's `metric_`.

    Returns
    -------
    ndarray of int64, shape (n_candidates, 2)
        Rows, ordered by left row, the most likely partner first.
    """
    k = check_count("k", k)
    left = _joined(as_table(records))
    right = None if right_records is None else _joined(as_table(right_records))
    k = min(k, (left if right is None else right).n_records)  # nobody has more partners
    lists = [_nearest_texts(left, right, kind, k) for kind in SEARCHED]
    if points is not None:
        lists.append(_nearest_points(points, right_points, k, metric))
    rows = _in_turns(lists, k)
    left_rows, places = np.nonzero(rows != NOBODY)
    pairs = np.column_stack([left_rows, rows[left_rows, places]])
    return pairs if right is not None else _once(pairs)


def _joined(table: Any) -> Texts:
    columns = [read_column(name, table[name], "text").texts for name in table.column_names]
    rows = zip(*columns, strict=True)
    return cut_texts(" ".join(value for value in row if value is not None) for row in rows)


def _nearest_texts(left: Texts, right: Texts | None, kind: str, k: int) -> NDArray[np.int64]:
    sets = [getattr(texts, kind) for texts in (left, right) if texts is not None]
    rarity = fit_rarity(*sets)
    weighed = [weigh(each, rarity) for each in sets]
    return nearest_records(weighed[0], weighed[-1], k, one_table=right is None).rows


def _nearest_points(points: Any, right_points: Any, k: int, metric: Metric) -> NDArray[np.int64]:
    is_one_table = right_points is None
    others = points if is_one_table else right_points
    index = NeighbourIndex(metric, approximate=False)
    index.add(range(len(others)), others)
    rows = index.query(points, k + is_one_table).rows.copy()
    if is_one_table:
        rows[rows == np.arange(len(rows))[:, None]] = NOBODY
    return rows


def _in_turns(lists: list[NDArray[np.int64]], k: int) -> NDArray[np.int64]:
    """Return the first `k` of several lists a row, taken in turns, without those taken already."""
    width = max(rows.shape[1] for rows in lists)
    padded = [
        np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=NOBODY) for rows in lists
    ]
    merged = np.stack(padded, axis=2).reshape(len(lists[0]), -1)
    n_taken = np.zeros(len(merged), dtype=np.int64)
    for column in range(merged.shape[1]):
        value = merged[:, column].copy()
        is_taken = (merged[:, :column] == value[:, None]).any(axis=1)
        is_new = (value != NOBODY) & ~is_taken & (n_taken < k)
        merged[:, column] = np.where(is_new, value, NOBODY)
        n_taken += is_new
    return merged


def _once(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of one table with the lower row first, each once, in their order."""
    ordered = np.sort(pairs, axis=1)
    _, first = np.unique(ordered, axis=0, return_index=True)
    return ordered[np.sort(first)]
