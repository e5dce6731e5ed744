"""Whatever holds columns, as an Arrow table: one type for all that follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from twofold._core.names import nearest_name, shown_names


def as_table(table: Any, names: Collection[str] | None = None) -> Any:
    """Return a pyarrow.Table of at least one column.

    Parameters
    ----------
    table : pyarrow.Table, DataFrame, mapping of str to sequence, or array of shape (n, p)
        An array's columns are called as in `names`, or x0, x1, … if there are not as many.
    names : collection of str, optional
        See above.
    """
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        columns = _columns(table, names)
        arrays = {name: _as_arrow(name, column) for name, column in columns.items()}
        _refuse_unequal({name: len(array) for name, array in arrays.items()})
        table = pa.table(arrays)
    if not table.num_columns:
        raise ValueError("The table has no columns.")
    _refuse_repeated([str(name) for name in table.column_names])
    return table


def pick(table: Any, names: Collection[str]) -> Any:
    """Return a table's columns of these names, in their order; others are left out."""
    there = [str(name) for name in table.column_names]
    missing = [name for name in names if name not in there]
    if missing:
        meant = nearest_name(missing[0], there)
        question = f" Did you mean {meant!r}?" if meant else ""
        raise ValueError(
            f"The table lacks {len(missing)} column(s) that are needed, first {missing[0]!r}."
            f"{question} Its columns are {shown_names(there)}."
        )
    return table.select(list(names))


def _columns(table: Any, names: Collection[str] | None) -> dict[str, Any]:
    """Return columns by name."""
    if isinstance(table, Mapping):
        return {str(name): column for name, column in table.items()}
    if hasattr(table, "columns") and hasattr(table, "__getitem__") and hasattr(table, "iloc"):
        _refuse_repeated([str(name) for name in table.columns])
        return {str(name): table[name] for name in table.columns}
    array = np.asarray(table)
    if array.ndim != 2:
        raise ValueError(
            f"A table must be a pyarrow.Table, a DataFrame, a mapping of columns or an array of "
            f"shape (n, p), got {type(table).__name__} of shape {array.shape}."
        )
    n_columns = array.shape[1]
    called = list(names) if names is not None and len(names) == n_columns else None
    return {
        called[number] if called else f"x{number}": array[:, number] for number in range(n_columns)
    }


def _as_arrow(name: str, column: Any) -> Any:
    """Return a column as an Arrow array: of text, if its values are of several kinds."""
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        pass
    try:
        values = list(column)
    except TypeError:
        raise TypeError(
            f"The column {name!r} must be a sequence of values, got {type(column).__name__}."
        ) from None
    is_missing = [value is None or value != value for value in values]
    texts = [None if missing else str(v) for v, missing in zip(values, is_missing, strict=True)]
    return pa.array(texts, pa.string())


def _refuse_unequal(lengths: dict[str, int]) -> None:
    first = next(iter(lengths), "")
    for name, length in lengths.items():
        if length != lengths[first]:
            raise ValueError(
                f"The table's columns must have the same length: {first!r} has {lengths[first]} "
                f"value(s) and {name!r} has {length}."
            )


def _refuse_repeated(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"The table has {names.count(name)} columns with the name {name!r}: rename or "
                "drop all but one."
            )
