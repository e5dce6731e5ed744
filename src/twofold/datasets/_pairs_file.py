"""A user's own statements about pairs: CSV or Parquet with columns left, right, similar[, weight].

Ids are row numbers or keys of the feature table; here they become row numbers, and the keys are
kept so that an item can be called by its own name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twofold._core.checks import LARGEST_WEIGHT
from twofold._core.keys import check_keys
from twofold.datasets._columns import Columns, as_row_numbers, column_with, read_columns

NAMES = {
    "left": ("left", "ltable_id", "left_id", "id1"),
    "right": ("right", "rtable_id", "right_id", "id2"),
    "similar": ("similar", "label", "match"),
}
"""What the columns are called, here and in the sets of others; the first that is there counts."""


@dataclass(frozen=True, slots=True, eq=False)
class PairsFile:
    """Statements about pairs, as PairRelation takes them, and the ids of the items.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Item numbers, rows of `keys`.
    similar : ndarray of float32, shape (n_pairs,)
        1 for alike, 0 for not alike, a grade in between.
    weight : ndarray of float32, shape (n_pairs,), or None
        How much each statement counts, if the file has weights.
    keys : ndarray of int64 or of str objects, shape (n_items,)
        Id of each item.
    notes : tuple of str
        Anything unusual about the file, one sentence each.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similar: NDArray[np.float32]
    weight: NDArray[np.float32] | None
    keys: NDArray[Any]
    notes: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """Number of items that the ids address."""
        return self.keys.size


def load_pairs(path: str | os.PathLike[str], keys: ArrayLike | None = None) -> PairsFile:
    r"""Read statements about pairs.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .parquet or .pq file with columns left, right, similar and, optionally weight.
    keys : array_like of int or str, shape (n_items,), optional
        The keys of the rows of the feature table; every id must be one of them. Without it, ids
        that are the whole numbers 0 .. n_items - 1 are used as they are, and any others are
        numbered in order of appearance, the left column before the right one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.csv"
    ...     _ = path.write_text("left,right,similar\nann,bob,1\nbob,eve,0\n")
    ...     pairs = load_pairs(path)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.keys.tolist()
    ([0, 1], [1, 2], ['ann', 'bob', 'eve'])
    """
    columns = read_pair_columns(path)
    left, right, names = _numbered(columns, keys)
    similar = read_within(columns, "similar", 1.0)
    weight = read_weight(columns)
    refuse_self_pairs(columns, left, right, names)
    return PairsFile(left, right, similar, weight, names, columns.notes)


def read_pair_columns(path: str | os.PathLike[str]) -> Columns:
    """Read a file of pairs; the columns that are needed are called as we call them."""
    columns = read_columns(path, text=[name for names in NAMES.values() for name in names])
    ours = {columns.one_of(names): name for name, names in NAMES.items()}
    return replace(
        columns, table=columns.table.rename_columns([ours.get(n, n) for n in columns.names])
    )


def _numbered(
    columns: Columns, keys: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return the ids as item numbers, and what the items are called."""
    import pyarrow as pa

    ids = [columns.ids("left"), columns.ids("right")]
    if keys is not None:
        called = check_keys("keys", keys)
        if not called.size:
            raise ValueError("keys is empty: there are no items for pairs to be about.")
        bare = [key.strip() if isinstance(key, str) else key for key in called.tolist()]
        *ids, known = as_row_numbers(*ids, pa.array(check_keys("keys", bare).tolist()))
        left, right = (
            look_up(columns, name, column, known, "the feature table")
            for name, column in zip(("left", "right"), ids, strict=True)
        )
        return left, right, called
    both = pa.concat_arrays(as_row_numbers(*ids))
    coded = both.dictionary_encode()
    names = np.asarray(coded.dictionary.to_numpy(zero_copy_only=False))
    numbers = coded.indices.to_numpy().astype(np.int64)
    if names.dtype.kind == "i" and names.min() == 0 and names.max() == names.size - 1:
        numbers, names = names[numbers], np.arange(names.size)
    n_pairs = columns.table.num_rows
    return numbers[:n_pairs], numbers[n_pairs:], names


def look_up(
    columns: Columns, name: str, ids: Any, known: Any, where: str, table: Any = None
) -> NDArray[np.int64]:
    """Return the row of each id among those that are known; `where` is what they are in.

    `table` has the other columns of the rows: one of them may be what was meant.
    """
    from pyarrow import compute

    places = compute.index_in(ids, value_set=known)
    unknown = np.flatnonzero(np.asarray(compute.is_null(places).to_numpy(zero_copy_only=False)))
    if unknown.size:
        row = int(unknown[0])
        first = ids[row].as_py()
        meant = None if table is None else column_with(first, table)
        hint = "" if meant is None else f" Its column {meant!r} has {first!r}: add --id {meant!r}."
        raise ValueError(
            f"{unknown.size} id(s) in the column {name!r} of {columns.path} are not in {where}, "
            f"first {first!r} at {columns.place(row)}; the ids of its {len(known)} rows go from "
            f"{known[0].as_py()!r} to {known[len(known) - 1].as_py()!r}.{hint}"
        )
    return np.asarray(places.to_numpy(), dtype=np.int64)


def read_weight(columns: Columns) -> NDArray[np.float32] | None:
    """Return how much each statement counts, if the file says so."""
    return read_within(columns, "weight", LARGEST_WEIGHT) if "weight" in columns.names else None


def read_within(columns: Columns, name: str, largest: float) -> NDArray[np.float32]:
    """Return a column of numbers from 0 to `largest`."""
    values = columns.grades(name)
    wrong = np.flatnonzero((values < 0) | (values > largest))
    if wrong.size:
        value = values[wrong[0]]
        meant = (
            "from 0 (not alike) to 1 (alike)"
            if largest == 1
            else f"finite, not negative and at most {largest:g}"
        )
        hint = " For 1 and -1 write 1 and 0." if name == "similar" and value == -1 else ""
        raise ValueError(
            f"The column {name!r} of {columns.path} must be {meant}; {wrong.size} value(s) are "
            f"not, first at {columns.place(int(wrong[0]))} ({value:g}).{hint}"
        )
    return values.astype(np.float32)


def refuse_self_pairs(
    columns: Columns, left: NDArray[np.int64], right: NDArray[np.int64], names: NDArray[Any]
) -> None:
    wrong = np.flatnonzero(left == right)
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"{wrong.size} pair(s) of {columns.path} join an item to itself, first at "
            f"{columns.place(row)} ({names[left[row]]}). Drop them: they say nothing about the "
            "relation."
        )
