"""Features by number: held, mapped, sparse or a Dataset, the batches are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch.utils.data import Dataset

from twofold.regression import (
    NetworkEmbedder,
    as_numbers,
    is_memory_mapped,
    item_shape,
    n_rows,
    open_features,
)
from twofold.regression import _features as features_module
from twofold.regression._features import HeldFeatures, ReadFeatures, item_batches

NEEDS_CUDA = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]

VALUES = (np.random.default_rng(0).integers(-3, 3, size=(30, 4)) * 1.5).astype(np.float32)


class Items(Dataset):
    def __init__(self, array, form) -> None:
        self.array, self.form = array, form

    def __len__(self):
        return len(self.array)

    def __getitem__(self, number):
        row = self.array[number]
        return {
            "tensor": torch.tensor(row),
            "array": row,
            "tuple": (torch.tensor(row), 7),
            "list": [torch.tensor(row), "a label"],
            "double": torch.tensor(row).double(),
        }[self.form]


def mapped(array: np.ndarray, folder) -> np.ndarray:
    np.save(folder / "X.npy", array)
    return np.load(folder / "X.npy", mmap_mode="r")


FORMS = {
    "array": lambda folder: VALUES,
    "float64": lambda folder: VALUES.astype(np.float64),
    "fortran": lambda folder: np.asfortranarray(VALUES),
    "reversed": lambda folder: VALUES[::-1][::-1],
    "read_only": lambda folder: np.broadcast_to(VALUES, VALUES.shape),
    "mapped": lambda folder: mapped(VALUES, folder),
    "mapped_view": lambda folder: mapped(np.vstack([VALUES, VALUES]), folder)[30:],
    "mapped_float64": lambda folder: mapped(VALUES.astype(np.float64), folder),
    "csr": lambda folder: sparse.csr_array(VALUES),
    "csr_matrix": lambda folder: sparse.csr_matrix(VALUES),
    "csc": lambda folder: sparse.csc_array(VALUES),
    **{
        f"dataset_of_{form}": lambda folder, form=form: Items(VALUES, form)
        for form in ("tensor", "array", "tuple", "list", "double")
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_give_the_same_batches(form, tmp_path):
    X = FORMS[form](tmp_path)
    features = open_features(X, "cpu")
    assert features.n_items == n_rows(X) == 30
    assert item_shape(X) == (4,)
    items = torch.tensor([3, 0, 29, 3])
    batch = features.rows(items.to(features.index_device))
    assert batch.dtype == torch.float32
    np.testing.assert_array_equal(batch.numpy(), VALUES[[3, 0, 29, 3]])


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
@pytest.mark.parametrize("form", FORMS)
def test_all_items_come_in_order_in_batches(form, device, tmp_path):
    batches = list(item_batches(FORMS[form](tmp_path), device, 8))
    assert [len(batch) for batch in batches] == [8, 8, 8, 6]
    assert {(batch.device.type, batch.dtype) for batch in batches} == {(device, torch.float32)}
    np.testing.assert_array_equal(torch.cat(batches).cpu(), VALUES)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_batches_of_bytes_are_bytes(size, device, tmp_path):
    images = np.arange(48, dtype=np.uint8).reshape(3, 1, 4, 4)
    for X in (images, images[::-1][::-1], mapped(images, tmp_path), Items(images, "tensor")):
        batches = list(item_batches(X, device, size))
        assert max(len(batch) for batch in batches) == min(size, 3)
        found = torch.cat(batches).cpu()
        assert found.dtype == torch.uint8
        np.testing.assert_array_equal(found, images)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
def test_a_gpu_embeds_a_file_in_parts_as_a_cpu_does(monkeypatch, tmp_path):
    monkeypatch.setattr("twofold._core.streams.PART_BYTES", 4 * 4 * 7)
    network = torch.nn.Linear(4, 2)
    expected = NetworkEmbedder(network, (4,), "cpu").predict(VALUES)
    embedder = NetworkEmbedder(network.cuda(), (4,), "cuda")
    for form in ("array", "mapped", "mapped_float64", "csr", "dataset_of_tuple"):
        points = embedder.predict(FORMS[form](tmp_path))
        np.testing.assert_allclose(points, expected, rtol=1e-4, atol=1e-4)


def test_bytes_stay_bytes(tmp_path):
    images = np.arange(48, dtype=np.uint8).reshape(3, 1, 4, 4)
    for X in (images, mapped(images, tmp_path), Items(images, "tensor")):
        batch = open_features(X, "cpu").rows(torch.tensor([2, 1]))
        assert batch.dtype == torch.uint8
        np.testing.assert_array_equal(batch.numpy(), images[[2, 1]])
        assert item_shape(X) == (1, 4, 4)


def test_a_large_sparse_matrix_is_read_batch_by_batch(monkeypatch):
    monkeypatch.setattr(features_module, "DENSE_BYTES", 100)
    features = open_features(sparse.csr_array(VALUES), "cpu")
    assert isinstance(features, ReadFeatures)
    np.testing.assert_array_equal(features.rows(torch.tensor([5, 2])).numpy(), VALUES[[5, 2]])


def test_a_small_sparse_matrix_is_held():
    assert isinstance(open_features(sparse.csr_array(VALUES), "cpu"), HeldFeatures)


def test_an_array_in_memory_is_not_copied():
    features = open_features(VALUES, "cpu")
    assert features.tensor.data_ptr() == VALUES.ctypes.data


@pytest.mark.parametrize("form", ["mapped", "mapped_view"])
def test_memory_mapped_arrays_are_known_by_their_base(form, tmp_path):
    X = FORMS[form](tmp_path)
    assert is_memory_mapped(X)
    assert is_memory_mapped(np.asarray(X))
    assert isinstance(open_features(X, "cpu"), ReadFeatures)
    assert not is_memory_mapped(VALUES)
    assert not is_memory_mapped([[1.0]])


class Counted(np.memmap):
    """A memory-mapped array that notes how many rows are read at a time."""

    reads: list[int] = []  # noqa: RUF012

    def __getitem__(self, key):
        rows = super().__getitem__(key)
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            Counted.reads.append(len(rows))
        return rows

    def __array__(self, *args, **kwargs):
        Counted.reads.append(len(self))
        return super().__array__(*args, **kwargs)


def test_a_memory_mapped_array_is_never_read_as_a_whole(tmp_path):
    X = Counted(tmp_path / "X.bin", dtype=np.float32, mode="w+", shape=(500, 4))
    X[:] = np.random.default_rng(0).normal(size=(500, 4))
    Counted.reads.clear()
    features = open_features(X, "cpu")
    assert not Counted.reads
    features.rows(torch.arange(20))
    assert Counted.reads == [20]


def test_a_file_larger_than_memory_is_trained_on_and_embedded_in_part(tmp_path):
    """A hole of 2^41 bytes in a file reads as zeros: loading it would fail at once."""
    n_rows = 2**35
    X = np.memmap(tmp_path / "hole.bin", dtype=np.float32, mode="w+", shape=(n_rows, 16))
    features = open_features(X, "cpu")
    assert features.n_items == n_rows
    assert not features.rows(torch.tensor([0, n_rows // 2, n_rows - 1])).any()


def test_prediction_reads_parts_of_bounded_size(monkeypatch):
    sizes = []

    class Watched(HeldFeatures):
        def rows(self, items):
            sizes.append(len(items))
            return super().rows(items)

    network = torch.nn.Linear(4, 2)
    monkeypatch.setattr("twofold.regression._network_embedder.PREDICTION_BYTES", 4 * 4 * 7)
    monkeypatch.setattr(
        "twofold.regression._features.open_features",
        lambda X, _: Watched(torch.from_numpy(X)),
    )
    points = NetworkEmbedder(network, (4,), "cpu").predict(VALUES)
    assert sizes == [7, 7, 7, 7, 2]
    with torch.no_grad():
        np.testing.assert_allclose(points, network(torch.from_numpy(VALUES)).numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "given",
    [
        VALUES,
        VALUES.tolist(),
        VALUES.astype(int),
        pd.DataFrame(VALUES, columns=list("abcd")),
        sparse.coo_matrix(VALUES),
        sparse.csc_array(VALUES),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_a_regressor_takes_becomes_numbers(given):
    numbers = as_numbers(given)
    expected = given.toarray() if sparse.issparse(given) else np.asarray(given)
    assert item_shape(numbers) == (4,)
    dense = numbers.toarray() if sparse.issparse(numbers) else numbers
    np.testing.assert_array_equal(dense, expected)
    assert n_rows(open_features(numbers, "cpu").rows(torch.arange(30))) == 30


@pytest.mark.parametrize(
    "given",
    [
        np.where(VALUES > 0, np.nan, VALUES),
        np.where(VALUES > 0, np.inf, VALUES),
        pd.DataFrame({"a": ["red", "blue"], "b": [1, 2]}),
        [["red", 1], ["blue", 2]],
        VALUES[0],
    ],
    ids=["nan", "infinity", "frame", "lists", "one dimension"],
)
def test_what_is_no_table_of_finite_numbers_is_refused_with_the_way_out(given):
    with pytest.raises(ValueError, match=r"(?s)must be finite numbers: .* Set feedback=0 to"):
        as_numbers(given)
