"""A user's items with their features, for tasks that are told later what is alike."""

from __future__ import annotations

from collections.abc import Callable

from twofold.datasets import Records, read_tables
from twofold.tasks._fit_checks import check_tables
from twofold.tasks._fit_input import (
    FitRequest,
    Input,
    prepare_input,
    with_separate_columns,
)


def read_items(request: FitRequest, check: Callable[[Records], None]) -> Input:
    """Read the rows of one or two tables or folders, and prepare their features.

    `check` may refuse a table before the work.
    """
    left, right = read_tables(request.data, request.right, id_column=request.id_column)
    for table in (left,) if right is None else (left, right):
        check(table)
    request = with_separate_columns(request, left)
    check_tables(request, left, right)
    return prepare_input(request, left, right, labels=None)
