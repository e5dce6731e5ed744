"""Arrays of one's own as a set: checked, and with a digest that tells them from others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.checks import check_choice
from twofold.experiments._paper import PROTOCOLS, Protocol
from twofold.experiments._sets import ExperimentSet, Part
from twofold.experiments._unseen_protocols import UNSEEN_PROTOCOLS
from twofold.regression import NETWORKS, NetworkName, n_rows

LEAST_ITEMS = 20
"""Training items: the tenth that chooses the epoch is to have two or more."""
HASHED_ROWS = 4096
UNSAFE = frozenset('/\\:*?"<>|\0')


@dataclass(frozen=True, slots=True)
class OwnProtocol(Protocol):
    """How arrays of one's own are run.

    Attributes
    ----------
    arrays : str
        A digest of them, so that records of other arrays are not taken for theirs.
    """

    arrays: str = ""


def own_protocol(name: str, data: ExperimentSet, network: NetworkName) -> OwnProtocol:
    """Return how a set of one's own is run: as digits are or, with several labels, as yeast is."""
    known = PROTOCOLS["digits" if data.train.labels.ndim == 1 else "yeast"]
    fields = {field: getattr(known, field) for field in known.__dataclass_fields__}
    check_choice("network", network, NETWORKS)
    own = OwnProtocol(**fields, arrays=digest(data))
    return replace(own, name=name, title=name, network=network)


def own_set(X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> ExperimentSet:
    """Return arrays as a set, or say what is wrong with them."""
    train, test = (_rows(name, X) for name, X in (("X_train", X_train), ("X_test", X_test)))
    if train.shape[1:] != test.shape[1:]:
        raise ValueError(
            f"Items of X_train have the shape {train.shape[1:]} and those of X_test "
            f"{test.shape[1:]}: give both the same features."
        )
    labels, names = _labels(y_train, y_test)
    for name, X, y in (("train", train, labels[0]), ("test", test, labels[1])):
        if n_rows(X) != len(y):
            raise ValueError(
                f"X_{name} has {n_rows(X):,} rows and y_{name} has {len(y):,}: give a label, or "
                "a row of labels, for every item."
            )
    if n_rows(train) < LEAST_ITEMS:
        raise ValueError(
            f"X_train has {n_rows(train)} rows: give at least {LEAST_ITEMS}, since a tenth of "
            "them is only used to select the epoch."
        )
    return ExperimentSet(Part(train, labels[0]), Part(test, labels[1]), names)


def check_name(what: str, name: str) -> str:
    """Return a name that a file can have and that no set or method of ours has."""
    if not name.strip() or name.startswith(".") or UNSAFE & set(name) or not name.isprintable():
        raise ValueError(
            f"{what} {name!r} cannot be part of a file name: use letters, digits, spaces, '-' and "
            "'_'."
        )
    return name


def check_set_name(name: str) -> str:
    """Return a name for a set of one's own."""
    if name in {**PROTOCOLS, **UNSEEN_PROTOCOLS}:
        raise ValueError(
            f"name {name!r} is a data set of `twofold reproduce`, and the records would be mixed: "
            "choose another name."
        )
    return check_name("name", name)


def digest(data: ExperimentSet) -> str:
    """Return what tells a set's arrays from others: BLAKE2 of their shapes, types and bytes."""
    state = hashlib.blake2b(digest_size=16)
    for part in (data.train, data.test):
        for array in (*_arrays(part.features), part.labels):
            state.update(f"{array.shape}{array.dtype.str}".encode())
            for block in _blocks(array):
                state.update(block)
    return state.hexdigest()


def _rows(name: str, X: Any) -> Any:
    """Return features whose rows can be taken by number."""
    if sparse.issparse(X):
        return sparse.csr_array(X)
    rows = X if isinstance(X, np.ndarray) else np.asarray(X)
    if rows.ndim < 2 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must contain numbers, one row per item, got shape {rows.shape} of "
            f"{rows.dtype}: twofold.preparation turns tables and text into numbers."
        )
    return rows


def _labels(y_train: Any, y_test: Any) -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[str, ...]]:
    """Return classes by number, or indicator matrices, and what they are called."""
    train, test = (y.toarray() if sparse.issparse(y) else np.asarray(y) for y in (y_train, y_test))
    if train.ndim != test.ndim or train.ndim not in (1, 2) or train.shape[1:] != test.shape[1:]:
        raise ValueError(
            f"y_train has the shape {train.shape} and y_test {test.shape}: give classes, (n,), or "
            "0/1 indicator matrices with the same columns, (n, n_labels), for both."
        )
    if train.ndim == 2:
        return (train, test), tuple(str(column) for column in range(train.shape[1]))
    for name, y in (("y_train", train), ("y_test", test)):
        unknown = y < 0 if y.dtype.kind == "i" else y != y
        if np.any(unknown):
            raise ValueError(
                f"{int(np.sum(unknown))} item(s) of {name} have no class, first row "
                f"{np.flatnonzero(unknown)[0]}: leave them out, since every item is scored."
            )
    classes, numbers = np.unique(np.concatenate([train, test]), return_inverse=True)
    return (numbers[: len(train)], numbers[len(train) :]), tuple(map(str, classes))


def _arrays(X: Any) -> tuple[NDArray[Any], ...]:
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)


def _blocks(array: NDArray[Any]) -> Iterator[bytes]:
    for first in range(0, len(array), HASHED_ROWS):
        yield np.ascontiguousarray(array[first : first + HASHED_ROWS]).tobytes()
