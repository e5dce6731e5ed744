"""Products with the relation of label vectors, and its largest eigenvalues, against dense ones."""

from __future__ import annotations

import numpy as np
import pytest
import target_oracles as oracle
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from twofold.relations import LabelRelation
from twofold.targets import _label_matrix, _leading_eigenpairs, solve_targets
from twofold.targets._label_matrix import LabelMatrix
from twofold.targets._label_matrix_torch import TorchLabelMatrix
from twofold.targets._leading_eigenpairs import DENSE_SIZE, leading_eigenpairs

NEEDS_CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
GRADES = pytest.mark.parametrize("grade", ["overlap", "jaccard"])


def distinct_vectors(n: int, n_labels: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """About n distinct label vectors, and how often each occurs."""
    rng = np.random.default_rng(seed)
    how_common = rng.uniform(0.02, 0.35, n_labels)
    labels = np.unique((rng.random((2 * n, n_labels)) < how_common).astype(np.float32), axis=0)
    labels = rng.permutation(labels[labels.any(axis=1)])[:n]
    return labels, rng.geometric(0.2, len(labels)).astype(np.float64)


def dense_relation(labels: np.ndarray, counts: np.ndarray, grade: str) -> np.ndarray:
    """diag(w) R diag(w) in float64."""
    shared = labels.astype(np.float64) @ labels.T
    sizes = labels.sum(axis=1, dtype=np.float64)
    relation = (
        (shared > 0).astype(np.float64)
        if grade == "overlap"
        else shared / (sizes[:, None] + sizes - shared)
    )
    return np.sqrt(counts)[:, None] * relation * np.sqrt(counts)


def relation_matrix(labels: np.ndarray, counts: np.ndarray, grade: str) -> LabelMatrix:
    return LabelMatrix(sparse.csr_array(labels), counts, grade)


@GRADES
def test_the_dense_relation_of_these_tests_is_the_oracles(grade):
    labels, counts = distinct_vectors(40, 8, seed=0)
    expected = np.sqrt(counts)[:, None] * oracle.grades(labels, grade) * np.sqrt(counts)
    np.testing.assert_allclose(dense_relation(labels, counts, grade), expected, rtol=1e-12)


@GRADES
@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize("is_dense", [True, False])
def test_the_product_is_that_of_the_dense_matrix(monkeypatch, grade, is_cached, is_dense):
    labels, counts = distinct_vectors(103, 12, seed=1)
    monkeypatch.setattr(_label_matrix, "_dense_is_cheaper", lambda indicator: is_dense)
    monkeypatch.setattr(_label_matrix, "BLOCK_BYTES", 4 * len(labels) * 10)  # ten rows a block
    monkeypatch.setattr(_label_matrix, "MAX_CACHED_BYTES", 2**30 if is_cached else 0)
    matrix = relation_matrix(labels, counts, grade)
    expected = dense_relation(labels, counts, grade)
    other = np.random.default_rng(0).normal(size=(len(labels), 5)).astype(np.float32)
    for _ in range(2):  # a second product sees the same matrix
        np.testing.assert_allclose(matrix @ other, expected @ other, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-5)
    assert matrix.sum_of_squares() == pytest.approx((expected**2).sum(), rel=1e-5)


def test_a_relation_of_one_block_a_row_is_still_whole(monkeypatch):
    labels, counts = distinct_vectors(20, 6, seed=2)
    monkeypatch.setattr(_label_matrix, "BLOCK_BYTES", 1)
    matrix = relation_matrix(labels, counts, "jaccard")
    assert matrix.n == len(labels)
    np.testing.assert_allclose(
        matrix.toarray(), dense_relation(labels, counts, "jaccard"), rtol=1e-5
    )


@GRADES
@pytest.mark.parametrize(("n", "n_wanted"), [(600, 8), (700, 32), (620, 1)])
def test_blocks_find_the_dense_eigenvalues_and_vectors(grade, n, n_wanted):
    labels, counts = distinct_vectors(n, 18, seed=n)
    assert len(labels) > DENSE_SIZE
    expected, directions = np.linalg.eigh(dense_relation(labels, counts, grade))
    expected, directions = expected[::-1], directions[:, ::-1]
    values, vectors = leading_eigenpairs(relation_matrix(labels, counts, grade), n_wanted)
    assert values.shape == (n_wanted,)
    assert vectors.shape == (len(labels), n_wanted)
    np.testing.assert_allclose(values, expected[:n_wanted], rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_wanted), atol=1e-4)
    kept = expected[:n_wanted]
    # Where the last wanted value is nearly the next one, its direction is open.
    assert (kept[-1] - expected[n_wanted]) / kept[0] > 1e-4
    gram = (vectors * values) @ vectors.T
    expected_gram = (directions[:, :n_wanted] * kept) @ directions[:, :n_wanted].T
    assert np.linalg.norm(gram - expected_gram) < 2e-3 * np.linalg.norm(expected_gram)


@GRADES
@DEVICES
def test_the_matrix_of_a_gpu_is_that_of_a_cpu(grade, device):
    labels, counts = distinct_vectors(103, 12, seed=1)
    indicator = sparse.csr_array(labels)
    matrix = TorchLabelMatrix(indicator, counts, grade, device)
    expected = dense_relation(labels, counts, grade)
    assert (matrix.n, matrix.device) == (len(labels), device)
    columns = np.random.default_rng(0).normal(size=(len(labels), 5)).astype(np.float32)
    product = (matrix @ matrix.block(columns)).cpu().numpy()
    np.testing.assert_allclose(product, expected @ columns, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-5)
    twin = LabelMatrix(indicator, counts, grade)
    assert matrix.sum_of_squares() == pytest.approx(twin.sum_of_squares(), rel=1e-5)


@GRADES
@DEVICES
def test_blocks_of_torch_find_what_blocks_of_numpy_find(grade, device):
    labels, counts = distinct_vectors(600, 18, seed=600)
    assert len(labels) > DENSE_SIZE
    matrix = TorchLabelMatrix(sparse.csr_array(labels), counts, grade, device)
    values, vectors = leading_eigenpairs(matrix, 8)
    expected, directions = leading_eigenpairs(relation_matrix(labels, counts, grade), 8)
    assert (values.dtype, vectors.dtype) == (np.float64, np.float64)
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-4)
    gram, expected_gram = ((v * w) @ v.T for v, w in ((vectors, values), (directions, expected)))
    assert np.linalg.norm(gram - expected_gram) < 2e-3 * np.linalg.norm(expected_gram)


@DEVICES
def test_targets_of_several_labels_say_where_they_were_found(device):
    labels, _ = distinct_vectors(600, 18, seed=600)
    relation = LabelRelation(labels, "jaccard")
    solution = solve_targets(relation, 6, loss="dot", device=device)
    assert solution.device.split(":")[0] == device
    expected = solve_targets(relation, 6, loss="dot", device="cpu")
    np.testing.assert_allclose(
        solution.points @ solution.points.T, expected.points @ expected.points.T, atol=5e-3
    )
    assert solution.loss == pytest.approx(expected.loss, rel=1e-3)


def test_the_same_matrix_gives_the_same_eigenvalues_and_space():
    labels, counts = distinct_vectors(600, 16, seed=6)
    (values, vectors), (again, others) = (
        leading_eigenpairs(relation_matrix(labels, counts, "overlap"), 8) for _ in range(2)
    )
    np.testing.assert_allclose(again, values, rtol=1e-5)
    np.testing.assert_allclose(np.abs((others * vectors).sum(axis=0)), 1, atol=1e-3)


@GRADES
def test_all_eigenvalues_may_be_wanted_of_a_small_matrix(grade):
    labels, counts = distinct_vectors(30, 8, seed=7)
    values, vectors = leading_eigenpairs(relation_matrix(labels, counts, grade), 30)
    expected = dense_relation(labels, counts, grade)
    np.testing.assert_allclose((vectors * values) @ vectors.T, expected, atol=1e-4)
    assert (np.diff(values) <= 0).all()


@GRADES
def test_targets_of_many_label_vectors_are_the_dense_solutions(grade):
    labels, counts = distinct_vectors(600, 16, seed=8)
    items = np.repeat(np.arange(len(labels)), counts.astype(int))
    solution = solve_targets(LabelRelation(labels[items], grade), 12, loss="dot")
    values, vectors = np.linalg.eigh(dense_relation(labels, counts, grade))
    kept = values[::-1][:12]
    assert kept[-1] > 0
    expected = vectors[:, ::-1][:, :12] * np.sqrt(kept / counts[:, None])
    first = np.searchsorted(items, np.arange(len(labels)))
    points = solution.points[first].astype(np.float64)
    np.testing.assert_allclose(points @ points.T, expected @ expected.T, atol=0.02)
    # The loss by matrices, over i ≠ j: the oracle's double loop is too slow for this many.
    roots = np.sqrt(counts)
    weights = np.outer(counts, counts) - np.diag(counts)
    errors = dense_relation(labels, counts, grade) / np.outer(roots, roots) - points @ points.T
    n_items = counts.sum()
    expected_loss = 0.5 * (weights * errors**2).sum() / (n_items * (n_items - 1))
    assert solution.loss == pytest.approx(expected_loss, rel=1e-3)


def test_restarts_find_what_one_short_run_does_not(monkeypatch):
    labels, counts = distinct_vectors(600, 18, seed=9)
    matrix = relation_matrix(labels, counts, "jaccard")
    expected = np.linalg.eigvalsh(dense_relation(labels, counts, "jaccard"))[::-1][:20]
    monkeypatch.setattr(_leading_eigenpairs, "MAX_BLOCKS", 2)
    np.testing.assert_allclose(leading_eigenpairs(matrix, 20)[0], expected, rtol=1e-3)
    monkeypatch.setattr(_leading_eigenpairs, "MAX_RESTARTS", 1)
    with pytest.warns(ConvergenceWarning, match="only accurate to .* after 1 restarts"):
        leading_eigenpairs(matrix, 20)


def test_few_label_vectors_of_low_rank_have_zero_columns_after_it():
    # Every item has its group's label and one of its own: 40 label vectors, rank 5.
    labels = np.hstack([np.eye(5)[np.arange(40) % 5], np.eye(40)])
    points = solve_targets(LabelRelation(labels), 16, loss="dot").points
    assert points[:, :5].any(axis=0).all()
    assert not points[:, 5:].any()


def test_many_label_vectors_of_low_rank_have_zero_columns_after_it():
    # Every item has its group's label and one of its own: 700 label vectors, rank 5.
    labels = sparse.hstack([np.eye(5)[np.arange(700) % 5], sparse.eye_array(700)], format="csr")
    points = solve_targets(LabelRelation(labels), 16, loss="dot").points
    np.testing.assert_allclose(
        points @ points.T, np.kron(np.ones((140, 140)), np.eye(5)), atol=1e-3
    )
    np.testing.assert_allclose(points[:, 5:], 0, atol=1e-5)
