"""Targets from a sample of the label vectors, beside those of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from twofold._core.warnings import TargetWarning
from twofold.evaluation import pair_auroc
from twofold.relations import LabelRelation
from twofold.targets import _label_matrix, _nystrom, solve_targets

GRADES = pytest.mark.parametrize("grade", ["overlap", "jaccard"])


def sparse_relation(grade: str, n_items: int = 1500, n_labels: int = 40) -> LabelRelation:
    """Items of three groups of labels, one to three labels each."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n_items)
    n_each = rng.integers(1, 4, size=n_items)
    rows = np.repeat(np.arange(n_items), n_each)
    columns = group[rows] * (n_labels // 3) + rng.integers(n_labels // 3, size=rows.size)
    labels = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n_items, n_labels))
    labels.data[:] = 1
    return LabelRelation(labels, grade)


def auroc(relation: LabelRelation, points: np.ndarray) -> float:
    """How well inner products order all pairs of the first items."""
    left, right = np.triu_indices(400, 1)
    alike = relation.pairs(left, right).similar > 0
    return pair_auroc(alike, (points[left] * points[right]).sum(axis=1))


def products(relation: LabelRelation, **options) -> np.ndarray:
    points = solve_targets(relation, 8, loss="dot", random_state=0, **options).points
    return points @ points.T


@GRADES
def test_a_sample_of_everything_is_the_exact_solution(grade):
    relation = sparse_relation(grade)
    found = products(relation, method="nystrom")
    np.testing.assert_allclose(found, products(relation, method="exact"), atol=2e-3)


@GRADES
def test_a_sample_comes_near_and_says_so(grade, monkeypatch):
    monkeypatch.setattr(_nystrom, "N_SAMPLED", 500)
    relation = sparse_relation(grade)
    with pytest.warns(TargetWarning, match=r"too large .* sample of \d+ of them\. With method="):
        solution = solve_targets(relation, 3, loss="dot", method="nystrom", random_state=0)
    exact = solve_targets(relation, 3, loss="dot", method="exact")
    assert solution.method == "nystrom"
    assert solution.loss == pytest.approx(exact.loss, rel=0.15)
    assert auroc(relation, solution.points) > auroc(relation, exact.points) - 0.03


def test_auto_samples_what_is_too_large_to_be_factored(monkeypatch):
    relation = sparse_relation("overlap")
    assert solve_targets(relation, 4, loss="dot").method == "exact"
    monkeypatch.setattr(_nystrom, "MOST_WORK", 1000)
    assert solve_targets(relation, 4, loss="dot").method == "nystrom"
    assert solve_targets(relation, 4, loss="dot", method="exact").method == "exact"


def test_classes_are_never_sampled(monkeypatch):
    monkeypatch.setattr(_nystrom, "MOST_WORK", 1)
    assert solve_targets(LabelRelation([0, 1, 0, 1]), 2, loss="dot").method == "exact"
    with pytest.raises(ValueError, match="for the dot product, and for several labels per item"):
        solve_targets(LabelRelation([0, 1, 0, 1]), 2, loss="dot", method="nystrom")


@GRADES
def test_sparse_blocks_multiply_as_dense_ones_do(grade, monkeypatch):
    patterns = sparse_relation(grade).patterns()
    counts, other = patterns.counts.astype(np.float64), np.random.default_rng(1)
    vectors = other.standard_normal((counts.size, 5)).astype(np.float32)
    results = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(_label_matrix, "SPARSE_SHARE", share)
        monkeypatch.setattr(_label_matrix, "BLOCK_BYTES", 2**12)
        matrix = _label_matrix.LabelMatrix(patterns.indicator, counts, grade)
        results.append(
            (
                matrix @ vectors,
                matrix.sum_of_squares(),
                matrix.toarray(),
                matrix.extend(patterns.indicator[:50], vectors.astype(np.float64)),
            )
        )
    for dense, of_sparse in zip(*results, strict=True):
        np.testing.assert_allclose(of_sparse, dense, rtol=1e-4, atol=1e-4)
