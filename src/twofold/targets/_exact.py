"""Exact targets for labels: every pair is known, so that nothing has to be sampled.

Items with equal label vectors share a target, so that the relation is solved on the distinct ones,
each weighted by how many items have it.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from twofold._core.devices import resolve_device
from twofold._core.frozen import freeze
from twofold._core.warnings import TargetWarning, warn_user
from twofold.relations import LabelRelation
from twofold.targets._label_matrix import matrix_on
from twofold.targets._leading_eigenpairs import leading_eigenpairs
from twofold.targets._losses import ContrastiveLoss, DotLoss, PairLoss, TripletLoss
from twofold.targets._simplex import simplex_vertices
from twofold.targets._solution import TargetSolution


def why_not_exact(
    relation: LabelRelation, loss: PairLoss | TripletLoss, dim: int, is_free: bool
) -> str | None:
    """Say why labels have no exact targets under `loss`, None if they have.

    `is_free` says that neither init nor prior was given.
    """
    if not is_free:
        return "an exact solution cannot use init or prior"
    if isinstance(loss, DotLoss):
        return None
    if not relation.is_partition:
        return "the contrastive loss has an exact solution for classes only, one per item"
    n_classes = relation.n_occurring
    if dim < n_classes - 1:
        return (
            f"a regular simplex of {n_classes} classes needs n_components of at least "
            f"{n_classes - 1}, got {dim}"
        )
    return None


def leaves_classes_out(relation: LabelRelation, loss: PairLoss | TripletLoss, dim: int) -> bool:
    """Whether the exact solution has no direction for some classes, and leaves them at 0."""
    return isinstance(loss, DotLoss) and relation.is_partition and dim < relation.n_occurring


def solve_exactly(
    relation: LabelRelation, loss: PairLoss | TripletLoss, dim: int, began: float, device: str
) -> TargetSolution:
    """Return the targets that minimise `loss` over all pairs of known items.

    `device` is where eigenvectors are found; what has a formula is the CPU's.
    """
    used = "cpu"
    if isinstance(loss, ContrastiveLoss):
        table, which, least = _simplex(relation, dim, loss.margin)
    elif relation.is_partition:
        table, which, least = _largest_classes(relation, dim)
    else:
        table, which, least, used = _leading_directions(relation, dim, device)
    return TargetSolution(
        table=freeze(table.astype(np.float32)),
        which=which,
        loss=least,
        history=np.array([least]),
        n_epochs=0,
        converged=True,
        seconds=time.perf_counter() - began,
        method="exact",
        device=used,
    )


Placement = tuple[NDArray[np.float64], NDArray[np.int64], float]
"""The targets that items share, which one each has (-1 for none), and the loss."""


def _simplex(relation: LabelRelation, dim: int, margin: float) -> Placement:
    """Place classes at the corners of a regular simplex with sides of `margin`: no loss at all."""
    codes, sizes = occurring_classes(relation)
    corners = np.zeros((sizes.size, dim))
    # A hair more than the margin, so that rounding leaves no pair inside it.
    corners[:, : sizes.size - 1] = simplex_vertices(sizes.size) * (margin * (1 + 1e-6))
    return corners, codes, 0.0


def _largest_classes(relation: LabelRelation, dim: int) -> Placement:
    """Give each class a direction of its own, the largest first, as far as `dim` goes.

    This is the eigensolution: for classes diag(w) R diag(w) is diagonal, with the classes' sizes.
    """
    codes, sizes = occurring_classes(relation)
    largest = np.argsort(-sizes, kind="stable")
    directions = np.zeros((sizes.size, dim))
    placed = largest[:dim]
    directions[placed, np.arange(placed.size)] = 1
    left_out = largest[dim:]
    if left_out.size:
        warn_user(
            f"n_components={dim} is less than the {sizes.size} classes: the {left_out.size} "
            f"smallest classes share the target 0. Raise n_components to {sizes.size}, or use the "
            "contrastive loss.",
            TargetWarning,
        )
    n_known = int(sizes.sum())
    missed = float((sizes[left_out] * (sizes[left_out] - 1.0)).sum())
    return directions, codes, 0.5 * missed / (n_known * (n_known - 1))


def occurring_classes(
    relation: LabelRelation,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the classes that occur; return each item's (-1 if unknown) and their sizes."""
    codes = relation.class_codes()
    sizes = np.bincount(codes[relation.known], minlength=relation.n_labels)
    if sizes.all():
        return codes, sizes
    number = np.cumsum(sizes > 0) - 1
    codes[relation.known] = number[codes[relation.known]]
    return codes, sizes[sizes > 0]


def _leading_directions(
    relation: LabelRelation, dim: int, device: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], float, str]:
    """Factor the relation on distinct label vectors: t = V √Λ / w, w² = how many items have it.

    The loss left, ½ Σ (y − t·t')², is what the eigenvalues leave of ‖diag(w) R diag(w)‖²; the
    pairs of an item with itself are in the sum that is minimised, but not in the loss returned.
    The last that is returned is the device that was used.
    """
    patterns = relation.patterns()
    labelled = np.flatnonzero(np.diff(patterns.indicator.indptr) > 0)
    counts = patterns.counts[labelled].astype(np.float64)
    indicator = patterns.indicator[labelled]
    matrix = matrix_on(resolve_device(device), indicator, counts, relation.grade)
    values, vectors = leading_eigenpairs(matrix, min(dim, labelled.size))
    positive = values > 0
    directions = np.zeros((patterns.counts.size, dim))
    placed = vectors[:, positive] * np.sqrt(values[positive] / counts[:, None])
    directions[labelled, : placed.shape[1]] = placed * _fixed_signs(placed)

    with_self = matrix.sum_of_squares() - float((values[positive] ** 2).sum())
    with_itself = float((counts * (1 - (placed**2).sum(axis=1)) ** 2).sum())
    n_known = int(patterns.counts.sum())
    loss = 0.5 * max(0.0, with_self - with_itself) / (n_known * (n_known - 1))
    return directions, patterns.of_item, loss, matrix.device


def _fixed_signs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sign of each column's largest entry, which an eigenvector leaves open."""
    largest = np.abs(columns).argmax(axis=0)
    return np.asarray(np.sign(columns[largest, np.arange(columns.shape[1])]))
