"""A user's items with their features, for tasks that are told later what is alike."""

from __future__ import annotations

from twofold.datasets import read_records
from twofold.tasks._fit_checks import check_tables
from twofold.tasks._fit_input import FitRequest, Input, prepare_input


def read_items(request: FitRequest) -> Input:
    """Read the rows of one or two tables or folders, and prepare their features."""
    left = read_records(request.data, id_column=request.id_column)
    right = None
    if request.right is not None:
        right = read_records(request.right, id_column=request.id_column)
    check_tables(request, left, right)
    return prepare_input(request, left, right, labels=None)
