"""Groups that were found before, so that they keep their names when rows are added or removed.

A group is called by the id of the row that was its first. That row may be gone; the name stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twofold.datasets import Records, read_records

COLUMN = "group"


@dataclass(frozen=True, slots=True, eq=False)
class PreviousGroups:
    """The groups that rows had before.

    Attributes
    ----------
    groups : ndarray of int64, shape (n_items,)
        The group of each row, by number: a row of the table that its name is the id of, or a
        number beyond them; -1 for rows that are new.
    beyond : tuple of str
        Names of groups whose number is beyond the rows.
    """

    groups: NDArray[np.int64]
    beyond: tuple[Any, ...]

    def names(self, groups: NDArray[np.int64], ids: NDArray[Any]) -> NDArray[Any]:
        """Return what groups are called."""
        every = np.array([*ids.tolist(), *self.beyond], dtype=object)
        called = every[groups]
        return called.astype(np.int64) if ids.dtype.kind == "i" and not self.beyond else called


def read_groups(path: Path, records: Records) -> PreviousGroups:
    """Read a file that `twofold match --clusters` wrote, for a table that may have changed."""
    before = read_records(path, id_column="id")
    before.require([COLUMN])
    names = dict(zip(map(str, before.ids), before.table[COLUMN].to_pylist(), strict=True))
    row_of = {str(name): row for row, name in enumerate(records.ids)}
    beyond: dict[str, int] = {}
    groups = np.full(records.n_items, -1, dtype=np.int64)
    for row, one in enumerate(records.ids):
        name = names.get(str(one))
        if name is not None:
            text = str(name)
            place = row_of.get(text)
            groups[row] = (
                beyond.setdefault(text, records.n_items + len(beyond)) if place is None else place
            )
    return PreviousGroups(groups, tuple(beyond))
