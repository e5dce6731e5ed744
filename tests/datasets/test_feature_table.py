"""A user's own features: what is read, and what is said of a file that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from twofold.datasets import load_table

MATRIX = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0]])


def text_file(folder: Path, text: str, name: str = "features.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def saved(folder: Path, name: str, array: object) -> Path:
    np.save(folder / name, array)
    return folder / name


# What is read


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
def test_a_matrix_of_numpy_is_read_as_float32(tmp_path, dtype):
    table = load_table(saved(tmp_path, "x.npy", MATRIX.astype(dtype)))
    assert table.features.dtype == np.float32
    np.testing.assert_array_equal(table.features, MATRIX.astype(dtype).astype(np.float32))
    assert table.keys.tolist() == [0, 1]
    assert table.n_items == 2


def test_one_array_in_an_archive_is_read(tmp_path):
    np.savez(tmp_path / "x.npz", anything=MATRIX)
    np.testing.assert_array_equal(load_table(tmp_path / "x.npz").features, MATRIX)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
def test_a_sparse_matrix_stays_sparse(tmp_path, kind):
    sparse.save_npz(tmp_path / "x.npz", kind(MATRIX))
    table = load_table(tmp_path / "x.npz")
    assert table.features.format == "csr"
    assert table.features.dtype == np.float32
    np.testing.assert_array_equal(table.features.toarray(), MATRIX)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a,b,c\n1,0,2.5\n0,3,0\n", [0, 1]),
        ("a,id,b,c\n1,x,0,2.5\n0,y,3,0\n", ["x", "y"]),
        ("id,a,b,c\n30,1,0,2.5\n10,0,3,0\n", [30, 10]),
        ("id,a,b,c\n030,1,0,2.5\n10,0,3,0\n", ["030", "10"]),
        ("name,a,b,c\nx,1,0,2.5\ny,0,3,0\n", ["x", "y"]),
    ],
)
def test_the_key_is_the_id_or_a_first_column_of_text(tmp_path, text, keys):
    table = load_table(text_file(tmp_path, text))
    np.testing.assert_array_equal(table.features, MATRIX.astype(np.float32))
    assert table.keys.tolist() == keys


def test_a_key_can_be_named(tmp_path):
    path = text_file(tmp_path, "a,sku,b\n1,007,2\n3,008,4\n")
    table = load_table(path, key="sku")
    assert table.keys.tolist() == ["007", "008"]
    np.testing.assert_array_equal(table.features, [[1, 2], [3, 4]])


def test_parquet_is_read_with_its_key(tmp_path):
    columns = {"id": pa.array(["x", "y"]).dictionary_encode(), "a": [1, 2], "b": [True, False]}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    table = load_table(tmp_path / "x.parquet")
    assert table.keys.tolist() == ["x", "y"]
    np.testing.assert_array_equal(table.features, [[1, 1], [2, 0]])


# What is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id,a\nx,1\ny,two\n",
            r"The column 'a' .* numbers; the first that is not a number is at line 3 \('two'\)",
        ),
        ("id,a\nx,1\ny,\n", r"The column 'a' .* 1 are missing or not finite, first at line 3"),
        (
            "id,a\nx,1\nx,2\n",
            r"'id' .* be different in every row; first repeated at line 3 \('x'\)",
        ),
        ("id,a\nx,1\n,2\n", r"'id' .* empty at 1 place\(s\), first at line 3"),
        ("id\nx\ny\n", r"no column of features besides 'id'"),
        ("id,a\n", r"a heading but no row"),
    ],
)
def test_a_wrong_text_is_refused_with_the_place(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_table(text_file(tmp_path, text))


def test_a_key_that_is_no_column_is_named_beside_those_there_are(tmp_path):
    with pytest.raises(ValueError, match="no column 'sku': its columns are a, b"):
        load_table(text_file(tmp_path, "a,b\n1,2\n"), key="sku")


def test_a_key_of_a_matrix_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"key='id' names a column, but .*x\.npy has none"):
        load_table(saved(tmp_path, "x.npy", MATRIX), key="id")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"\(n_items, n_features\) numbers, got \(3,\)"),
        (np.zeros((0, 3)), r"got \(0, 3\)"),
        (np.array([["a"]]), "must hold numbers, got <U1"),
        (np.array([[1.0, 2.0], [np.nan, 1.0]]), "1 are not, first in row 1"),
    ],
)
def test_a_wrong_array_is_refused(tmp_path, array, message):
    with pytest.raises(ValueError, match=message):
        load_table(saved(tmp_path, "x.npy", array))


def test_a_sparse_value_that_is_not_finite_is_named_by_its_row(tmp_path):
    matrix = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, np.inf]]))
    sparse.save_npz(tmp_path / "x.npz", matrix)
    with pytest.raises(ValueError, match="1 are not, first in row 2"):
        load_table(tmp_path / "x.npz")


def test_several_arrays_in_an_archive_are_refused_by_their_names(tmp_path):
    np.savez(tmp_path / "x.npz", one=MATRIX, two=MATRIX)
    with pytest.raises(ValueError, match=r"holds 2 arrays \(one, two\): save only the features"):
        load_table(tmp_path / "x.npz")


def test_pickled_objects_are_never_loaded(tmp_path):
    path = saved(tmp_path, "x.npy", np.array([["a", None]], dtype=object))
    with pytest.raises(ValueError, match=r"cannot be read .*pickle"):
        load_table(path)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.parquet"])
def test_a_damaged_file_is_said_to_be(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04 no such thing")
    with pytest.raises(ValueError, match="cannot be read"):
        load_table(tmp_path / name)


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'.txt': it must be one of .npy, .npz, .csv"):
        load_table(text_file(tmp_path, "1 2", "x.txt"))
