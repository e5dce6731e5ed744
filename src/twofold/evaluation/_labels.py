"""Labels of items: one class each, or a row of a 0/1 matrix, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from twofold._core.checks import refuse_masked
from twofold._core.classes import is_matrix, is_unknown
from twofold._core.sparse_checks import check_sparse


def encode_classes(**labels: Any) -> list[NDArray[np.int64]]:
    """Return several class vectors as numbers 0, 1, … of the classes in sorted order.

    Classes are of any one kind: numbers, text, or objects that can be compared. As everywhere in
    Twofold -1, NaN and None say that a class is unknown, and such an item cannot be scored.
    """
    vectors = [_known_classes(name, values) for name, values in labels.items()]
    kinds = {name: _kind(vector) for name, vector in zip(labels, vectors, strict=True)}
    if len(set(kinds.values()) - {""}) > 1:
        each = ", ".join(f"{name} holds {kind}" for name, kind in kinds.items())
        raise TypeError(f"Classes of different kinds are never equal, but {each}.")
    everything = np.concatenate(vectors)
    try:
        codes = np.unique(everything, return_inverse=True)[1]
    except TypeError:
        types = sorted({type(value).__name__ for value in everything})
        raise TypeError(
            f"{' and '.join(labels)} mix values that cannot be compared ({', '.join(types)}). "
            "Give all classes one type, for instance strings."
        ) from None
    ends = np.cumsum([vector.size for vector in vectors])[:-1]
    return np.split(codes.astype(np.int64), ends)


def encode_known_classes(name: str, labels: Any) -> NDArray[np.int64]:
    """Return one class vector as numbers 0, 1, … of the classes in sorted order, -1 if unknown."""
    classes = _class_vector(name, labels)
    unknown = is_unknown(classes)
    codes = np.full(classes.size, -1, dtype=np.int64)
    if not unknown.all():
        (codes[~unknown],) = encode_classes(**{name: classes[~unknown]})
    return codes


def encode_indicator(name: str, labels: Any) -> sparse.csr_array:
    """Return a dense or sparse 0/1 matrix as a sparse one of float32."""
    array = labels if sparse.issparse(labels) else _as_array(name, labels)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be a 0/1 matrix of shape (n_items, n_labels), got shape {array.shape}. "
            "For one class per item use knn_accuracy."
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be a matrix of 0 and 1, got {array.dtype}.")
    if sparse.issparse(array):
        array = check_sparse(name, array)
    matrix = sparse.csr_array(array, copy=True)
    matrix.sum_duplicates()
    if matrix.shape[1] == 0:
        raise ValueError(f"{name} has no columns (shape {matrix.shape}): there is no label.")
    wrong = np.flatnonzero(~((matrix.data == 0) | (matrix.data == 1)))
    if wrong.size:
        row = np.searchsorted(matrix.indptr, wrong[0], side="right") - 1
        raise ValueError(
            f"{name} must hold 0 and 1 only; {wrong.size} value(s) do not, first at row {row}, "
            f"column {matrix.indices[wrong[0]]} ({matrix.data[wrong[0]]})."
        )
    matrix.eliminate_zeros()
    return matrix.astype(np.float32)


def check_same_labels(**matrices: sparse.csr_array) -> None:
    """Refuse indicator matrices whose numbers of labels differ."""
    widths = {name: matrix.shape[1] for name, matrix in matrices.items()}
    if len(set(widths.values())) > 1:
        each = ", ".join(f"{name} has {width} columns" for name, width in widths.items())
        raise ValueError(f"All matrices must have the same label columns, but {each}.")


def check_one_label_each(**lengths: int) -> None:
    """Refuse labels that are not one for each point; points come first, labels second."""
    (points_name, n_points), (labels_name, n_labels) = lengths.items()
    if n_points != n_labels:
        raise ValueError(
            f"Every point needs its label, but {points_name} has {n_points} row(s) and "
            f"{labels_name} has {n_labels}."
        )


def _class_vector(name: str, labels: Any) -> NDArray[Any]:
    """Return classes as an array of one dimension."""
    if is_matrix(labels):
        raise TypeError(
            f"{name} must have one class per item, got a matrix of shape {np.shape(labels)}. For "
            "a 0/1 matrix of several labels per item use knn_jaccard."
        )
    classes = _as_array(name, labels)
    if classes.ndim != 1:
        raise ValueError(f"{name} must have shape (n_items,), got {classes.shape}.")
    return classes


def _known_classes(name: str, labels: Any) -> NDArray[Any]:
    """Return classes as an array of one dimension without an unknown one."""
    classes = _class_vector(name, labels)
    unknown = np.flatnonzero(is_unknown(classes))
    if unknown.size:
        raise ValueError(
            f"{name} has {unknown.size} item(s) of unknown class (-1, NaN or None), first row "
            f"{unknown[0]}. Leave them out; if -1 is meant as a class, rename it."
        )
    return classes


def _as_array(name: str, labels: Any) -> NDArray[Any]:
    """Return labels as an array in which an unknown class can still be told."""
    several = (
        f"{name} has items with several labels each: pass a 0/1 matrix, for instance "
        "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(labels)."
    )
    refuse_masked(name, labels)
    try:
        array = np.asarray(labels)
    except ValueError:
        raise ValueError(several) from None
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        array = np.array(labels, dtype=object)  # NumPy has made text of None, NaN and -1
    if array.dtype.kind == "O" and any(
        isinstance(value, set | frozenset | list | tuple | dict) for value in array.flat
    ):
        raise ValueError(several)
    return array


def _kind(classes: NDArray[Any]) -> str:
    """Return what classes are made of, "" where only a look at each could tell."""
    if not classes.size:
        return ""
    if classes.dtype.kind in "biuf":
        return "numbers"
    if classes.dtype.kind == "O":
        return "text" if all(isinstance(value, str) for value in classes) else ""
    return "text" if classes.dtype.kind == "U" else str(classes.dtype)
